package dbtest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db"
)

// sqliteTemplate is a migrated file's bytes: copying them is a twentieth of migrating.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "punctual-dbtest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := migrate(db.Config{DataDir: dir, Unsafe: true}); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "punctual.db"))
})

func migratedFile(tb testing.TB) string {
	tb.Helper()
	content, err := sqliteTemplate()
	if err != nil {
		tb.Fatalf("make SQLite template: %v", err)
	}
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "punctual.db"), content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func migrate(cfg db.Config) error {
	ctx := context.Background()
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	pool, err := db.Open(ctx, cfg)
	if err != nil {
		return err
	}
	err = pool.Migrate(ctx)
	if closing := pool.Close(); err == nil {
		err = closing
	}
	return err
}

func migratedDatabase(tb testing.TB) string {
	tb.Helper()
	dsn := MariaDB(tb)
	if err := migrate(db.Config{URL: dsn}); err != nil {
		tb.Fatalf("migrate test database: %v", err)
	}
	return dsn
}
