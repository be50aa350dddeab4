package db_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestTogether has several transactions be one.
func TestTogether(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx, q := t.Context(), db.New()
		set := func(ctx context.Context, value string) error {
			return pool.Tx(ctx, func(tx *sql.Tx) error { return q.SetSetting(ctx, tx, db.SetSettingParams{Name: "x", Value: value}) })
		}
		value := func(ctx context.Context) (v string) {
			t.Helper()
			err := pool.QueryRowContext(ctx, "SELECT value FROM punctual_setting WHERE name = 'x'").Scan(&v)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				t.Fatal(err)
			}
			return v
		}
		told, no := 0, errors.New("no")
		tell := func(ctx context.Context) {
			if told++; pool.Joined(ctx) || value(ctx) == "" {
				t.Error("told before it was so")
			}
		}
		err := pool.Together(ctx, func(ctx context.Context) error {
			if err := set(ctx, "1"); err != nil {
				return err
			}
			pool.AfterCommit(ctx, tell)
			if got := value(ctx); got != "1" {
				t.Errorf("within it reads %q", got)
			}
			return no
		})
		if !errors.Is(err, no) || value(ctx) != "" || told != 0 {
			t.Errorf("after a failure: %v, %q, told %d times", err, value(ctx), told)
		}
		tries := 0
		err = pool.Together(ctx, func(ctx context.Context) error {
			tries++
			if err := set(ctx, "2"); err != nil {
				return err
			}
			if pool.AfterCommit(ctx, tell); tries < 3 {
				return db.ErrMoved
			}
			return pool.Together(ctx, func(ctx context.Context) error { return set(ctx, "3") })
		})
		if err != nil || tries != 3 || value(ctx) != "3" || told != 1 {
			t.Errorf("%v after %d tries: %q, told %d times", err, tries, value(ctx), told)
		}
		if pool.AfterCommit(ctx, tell); told != 2 {
			t.Error("without a transaction nobody is told")
		}
		other := dbtest.New(t, pool.Dialect())
		if err := pool.Together(ctx, func(ctx context.Context) error {
			if other.Joined(ctx) || !pool.Joined(ctx) {
				t.Error("another database is part of it")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

// TestTogetherSeesWhatOthersCommit is what a job that an engine claims meanwhile needs: reading it again helps.
func TestTogetherSeesWhatOthersCommit(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	q := db.New()
	err := pool.Together(t.Context(), func(ctx context.Context) error {
		if _, err := q.ListSettings(ctx, pool, 10); err != nil {
			return err
		}
		if err := q.SetSetting(t.Context(), pool, db.SetSettingParams{Name: "x", Value: "1"}); err != nil { // by another connection
			return err
		}
		var v string
		return pool.QueryRowContext(ctx, "SELECT value FROM punctual_setting WHERE name = 'x'").Scan(&v)
	})
	if err != nil {
		t.Error(err)
	}
}
