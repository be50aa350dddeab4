package db

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

func (p *Pool) adopt(ctx context.Context, target *sql.DB, provider *goose.Provider, store database.Store) error {
	return nil
}

func (p *Pool) verify(ctx context.Context, target *sql.DB) error { return nil }
