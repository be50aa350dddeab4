package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"

	modernc "modernc.org/sqlite"
)

// Copy writes what the file at from holds at one moment into the file at to, which must be empty or not there. Others may read and
// change the file meanwhile, and are not held up.
func Copy(ctx context.Context, from, to string) error {
	return Plain(ctx, from, nil, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "VACUUM INTO ?", to)
		return err
	})
}

// Plain opens the file at path, which must be there, without the pools and the rewriting of a [Connector], and closes it again.
// Options are those of a SQLite URI, such as immutable=1 for a file that nobody changes.
func Plain(ctx context.Context, path string, options url.Values, use func(*sql.Conn) error) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("resolve database path: %w", err)
	}
	q := url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)"}}
	maps.Copy(q, options)
	base, err := modernc.NewConnector((&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: q.Encode()}).String())
	if err != nil {
		return err
	}
	pool := sql.OpenDB(base)
	conn, err := pool.Conn(ctx)
	if err == nil {
		err = errors.Join(use(conn), conn.Close())
	}
	return errors.Join(err, pool.Close())
}
