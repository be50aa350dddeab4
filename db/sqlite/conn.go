package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	errReadOnlyTx = errors.New("sqlite: write in a read-only transaction")
	errTxLost     = errors.New("sqlite: an earlier error has rolled this transaction back")
)

// conn is what database/sql holds: a ticket that borrows a session from a pool while it works.
// database/sql never uses it from two goroutines at once.
type conn struct {
	connector *Connector
	tx        *tx
}

var (
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
)

// Ping opens a session if there is none, so that a file that cannot be used is noticed.
func (c *conn) Ping(ctx context.Context) error {
	s, err := c.connector.readers.acquire(ctx)
	if err != nil {
		return err
	}
	c.connector.readers.release(s, false)
	return nil
}

// BeginTx takes the writer pool, or a reader for a read-only transaction. SQLite is serializable always, so the level is ignored.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.tx != nil {
		return nil, errors.New("sqlite: transaction within a transaction")
	}
	pool := c.connector.writer
	if opts.ReadOnly {
		pool = c.connector.readers
	}
	s, err := pool.acquire(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := s.raw.BeginTx(ctx, driver.TxOptions{ReadOnly: opts.ReadOnly})
	if err != nil {
		pool.release(s, true)
		return nil, err
	}
	c.tx = &tx{conn: c, pool: pool, session: s, inner: inner, readOnly: opts.ReadOnly}
	return c.tx, nil
}

// Begin implements [driver.Conn]; database/sql calls BeginTx.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// ExecContext runs a statement on the transaction's session, or alone in the writer pool.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	p, err := c.connector.plans.get(query)
	if err != nil {
		return nil, err
	}
	if c.tx != nil {
		if err := c.tx.admit(p); err != nil {
			return nil, err
		}
		res, err := exec(ctx, c.tx.session, p, args)
		c.tx.note(err)
		return res, err
	}
	s, err := c.connector.writer.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.connector.writer.release(s, false)
	return exec(ctx, s, p, args)
}

func exec(ctx context.Context, s *session, p *plan, args []driver.NamedValue) (driver.Result, error) {
	stmt, done, err := s.prepare(ctx, p.text)
	if err != nil {
		return nil, err
	}
	defer done()
	res, err := stmt.ExecContext(ctx, args)
	if err != nil {
		return nil, err
	}
	return newResult(p, res)
}

// QueryContext runs a query on the transaction's session, or on a reader of its own until the rows are closed.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	p, err := c.connector.plans.get(query)
	if err != nil {
		return nil, err
	}
	if c.tx != nil {
		if err := c.tx.admit(p); err != nil {
			return nil, err
		}
		t := c.tx
		return queryRows(ctx, t.session, p, args, t.note)
	}
	pool := c.connector.readers
	if p.kind != kindRead {
		pool = c.connector.writer
	}
	s, err := pool.acquire(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := queryRows(ctx, s, p, args, func(error) {})
	if err != nil {
		pool.release(s, false)
		return nil, err
	}
	rows.release = func() { pool.release(s, false) }
	return rows, nil
}

// PrepareContext keeps the text only: the session compiles and remembers it.
func (c *conn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	if _, err := c.connector.plans.get(query); err != nil {
		return nil, err
	}
	return &stmt{conn: c, query: query}, nil
}

// Prepare implements [driver.Conn].
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// Close gives back what an abandoned transaction still holds.
func (c *conn) Close() error {
	if c.tx != nil {
		return c.tx.Rollback()
	}
	return nil
}

// stmt is a statement prepared through database/sql.
type stmt struct {
	conn  *conn
	query string
}

func (s *stmt) Close() error  { return nil }
func (s *stmt) NumInput() int { return -1 }

func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.query, args)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.query, args)
}

// tx is a transaction on a borrowed session.
type tx struct {
	conn     *conn
	pool     *sessionPool
	session  *session
	inner    driver.Tx
	readOnly bool
	lost     error // why SQLite has rolled back already, or nil
}

// admit refuses what must not run. Some errors make SQLite roll the whole transaction back, and whatever came next on the same
// connection would then commit by itself, statement by statement.
func (t *tx) admit(p *plan) error {
	if t.lost != nil {
		return fmt.Errorf("%w: %w", errTxLost, t.lost)
	}
	if t.readOnly && p.kind != kindRead {
		return errReadOnlyTx
	}
	return nil
}

// note remembers an error after which the transaction may be gone (see "Response To Errors Within A Transaction" in SQLite's manual).
func (t *tx) note(err error) {
	if err == nil || t.lost != nil {
		return
	}
	var se *modernc.Error
	if !errors.As(err, &se) {
		// Not SQLite's: the context ended, and the interrupted statement took the transaction with it.
		t.lost = err
		return
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY,
		sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ABORT:
		t.lost = err
	}
}

func (t *tx) Commit() error {
	if t.lost != nil {
		err := fmt.Errorf("%w: %w", errTxLost, t.lost)
		t.end(t.inner.Rollback() != nil)
		return err
	}
	err := t.inner.Commit()
	t.end(err != nil)
	return err
}

func (t *tx) Rollback() error {
	err := t.inner.Rollback()
	// A session whose rollback failed is closed, and that rolls back for certain.
	t.end(err != nil)
	if t.lost != nil {
		return nil
	}
	return err
}

func (t *tx) end(broken bool) {
	t.conn.tx = nil
	t.pool.release(t.session, broken)
}
