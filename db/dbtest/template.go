package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

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

// Folder returns a data directory with a clean migrated embedded database, for programs that open it themselves.
func Folder(tb testing.TB) string {
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

// mariaDBTemplate are the statements that copy a migrated database of the shared server into the one that is connected:
// half of the time of migrating.
var mariaDBTemplate = sync.OnceValues(func() (string, error) {
	s, err := shared()
	if err != nil {
		return "", err
	}
	name := s.prefix + "template"
	ctx := context.Background()
	if err := s.create(ctx, name); err != nil {
		return "", err
	}
	if err := migrate(db.Config{URL: s.DSN(name)}); err != nil {
		return "", err
	}
	pool, err := sql.Open("mysql", s.DSN(name))
	if err != nil {
		return "", err
	}
	defer pool.Close()
	tables, err := tablesOf(ctx, pool)
	if err != nil {
		return "", err
	}
	var copying strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&copying, "CREATE TABLE `%[2]s` LIKE %[1]s.`%[2]s`;", name, table)
		var rows int
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM `"+table+"`").Scan(&rows); err != nil {
			return "", err
		}
		if rows > 0 {
			fmt.Fprintf(&copying, "INSERT INTO `%[2]s` SELECT * FROM %[1]s.`%[2]s`;", name, table)
		}
	}
	return copying.String(), nil
})

// tablesOf are the tables of a database, which has nothing else: LIKE copies neither views nor triggers.
func tablesOf(ctx context.Context, pool *sql.DB) ([]string, error) {
	rows, err := pool.QueryContext(ctx, "SHOW FULL TABLES")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var table, kind string
		if err := rows.Scan(&table, &kind); err != nil {
			return nil, err
		}
		if kind != "BASE TABLE" {
			return nil, fmt.Errorf("%s is a %s, which is not copied", table, kind)
		}
		tables = append(tables, table)
	}
	return tables, rows.Err()
}

// Migrated returns the DSN of a clean migrated database on the binary's shared server, dropped when the test ends.
func Migrated(tb testing.TB) string {
	tb.Helper()
	dsn := MariaDB(tb)
	copying, err := mariaDBTemplate()
	if err != nil {
		tb.Fatalf("make MariaDB template: %v", err)
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.MultiStatements = true
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	defer pool.Close()
	if _, err := pool.ExecContext(tb.Context(), copying); err != nil {
		tb.Fatalf("copy MariaDB template: %v", err)
	}
	return dsn
}

var ownFiles sync.Mutex

// MigratedInFiles is Migrated with tables in files of their own, as partitions must be. Some servers of tests keep all in one file, which
// is faster, so those that ask for this run one after the other.
func MigratedInFiles(tb testing.TB) string {
	tb.Helper()
	s, err := shared()
	check(tb, err)
	server, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = server.Close() })
	ownFiles.Lock()
	tb.Cleanup(ownFiles.Unlock)
	var files bool
	if err := server.QueryRowContext(tb.Context(), "SELECT @@innodb_file_per_table").Scan(&files); err != nil {
		tb.Fatal(err)
	}
	if files {
		return Migrated(tb)
	}
	if _, err := server.ExecContext(tb.Context(), "SET GLOBAL innodb_file_per_table = ON"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := server.ExecContext(context.WithoutCancel(tb.Context()), "SET GLOBAL innodb_file_per_table = OFF"); err != nil {
			tb.Error(err)
		}
	})
	url := MariaDB(tb)
	if err := migrate(db.Config{URL: url}); err != nil {
		tb.Fatal(err)
	}
	return url
}
