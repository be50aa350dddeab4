package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"time"
)

// OpenShared opens an embedded database through a connector of [sqlite.NewConnector], or one around it, that several pools
// of this process use at the same time: the simulation's cluster. The connector is closed by who made it; it must not
// implement io.Closer.
func OpenShared(ctx context.Context, connector driver.Connector, cfg Config) (*Pool, error) {
	pool := &Pool{
		DB: sql.OpenDB(connector), dialect: SQLite, shared: true, zone: cmp.Or(cfg.Zone, time.Local),
		logger: cmp.Or(cfg.Logger, slog.Default()), searching: make(chan struct{}, searches), fewJobs: fewJobs, newestFirst: newestFirst, describe: "shared",
	}
	pool.calendars.pool = pool
	pool.SetMaxOpenConns(cmp.Or(cfg.MaxConns, sqliteConns))
	pool.SetMaxIdleConns(cmp.Or(cfg.MaxConns, sqliteConns))
	if err := pool.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&pool.product); err != nil {
		pool.DB.Close()
		return nil, fmt.Errorf("open shared database: %w", err)
	}
	pool.product = "SQLite " + pool.product
	return pool, nil
}

// Alone reports whether this process is the only one that has the database open, so that whoever else is in its tables is gone.
func (p *Pool) Alone() bool { return p.dialect == SQLite && !p.shared }
