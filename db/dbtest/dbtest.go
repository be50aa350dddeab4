package dbtest

import (
	"cmp"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

// Zone is the zone of the pools that tests get: not UTC, so that a forgotten conversion shows.
var Zone = time.FixedZone("UTC+8", 8*60*60)

// Run runs the test on each dialect, as the subtests "sqlite" and "mariadb", each with a clean migrated database. The second is named so
// on every server: see the package.
func Run(t *testing.T, test func(t *testing.T, pool *db.Pool)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, New(t, db.SQLite))
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		test(t, New(t, db.MySQL))
	})
}

// New returns a clean migrated database of one dialect, gone when the test ends.
func New(tb testing.TB, dialect db.Dialect) *db.Pool {
	tb.Helper()
	if dialect == db.SQLite {
		return Open(tb, db.Config{DataDir: Folder(tb), Unsafe: true})
	}
	return Open(tb, db.Config{URL: Migrated(tb)})
}

// Open opens a database with the zone and the silence of tests, and closes it when the test ends.
func Open(tb testing.TB, cfg db.Config) *db.Pool {
	tb.Helper()
	cfg.Zone = cmp.Or(cfg.Zone, Zone)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	pool, err := db.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := pool.Close(); err != nil {
			tb.Errorf("close database: %v", err)
		}
	})
	return pool
}
