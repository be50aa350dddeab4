package simulate

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
)

// connector gives a node connections to the database that all nodes share. The database is SQLite; what a client sees of it
// is made to look like a server at the other end of a network: answers get lost, locks are waited for for lockLimit only, a
// transaction whose client is silent is rolled back after idleLimit, and after a conflict the transaction is gone while the
// connection goes on, statement by statement, as MySQL's does.
type connector struct {
	inner driver.Connector
	link  *link
}

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.link.pass(ctx); err != nil {
		return nil, err
	}
	f := c.link.draw()
	if f.away {
		_ = c.link.sleep(ctx, f.latency)
		return nil, errRefused
	}
	if f.hole {
		if err := c.link.vanish(ctx); err != nil {
			return nil, err
		}
	}
	inner, err := c.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{link: c.link, inner: inner.(innerConn)}, nil
}

func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

type innerConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
}

// conn is one connection of a node.
type conn struct {
	link  *link
	inner innerConn

	broken bool // used by the client only

	mu     sync.Mutex // held while the server works on a transaction: never for long, and never while time passes
	tx     driver.Tx  // the transaction as the server has it; nil when there is none
	lost   bool       // the server has rolled it back and closed the connection
	silent *time.Timer
}

var (
	_ driver.Validator         = (*conn)(nil)
	_ driver.SessionResetter   = (*conn)(nil)
	_ driver.NamedValueChecker = (*conn)(nil)
)

func (c *conn) IsValid() bool { return !c.broken }

func (c *conn) ResetSession(context.Context) error {
	if c.broken {
		return driver.ErrBadConn
	}
	return nil
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error { return c.inner.CheckNamedValue(v) }

// carry sends one statement through the network, has the server do it, and brings the answer back.
func (c *conn) carry(ctx context.Context, do func(context.Context) error) error {
	if c.broken {
		return driver.ErrBadConn
	}
	l := c.link
	if err := l.pass(ctx); err != nil {
		return c.breaks(err)
	}
	f := l.draw()
	if err := l.sleep(ctx, f.latency); err != nil {
		return c.breaks(err)
	}
	switch {
	case f.away, f.cutBefore:
		l.w.count("connection cut before a statement")
		return c.breaks(mysql.ErrInvalidConn)
	case f.conflict:
		l.w.count("conflict")
		c.rollback()
		return &mysql.MySQLError{Number: 1213, Message: "Deadlock found when trying to get lock; try restarting transaction"}
	case f.hole && !f.behind:
		l.w.count("packet vanished")
		return c.breaks(l.vanish(ctx))
	}
	if f.stall > 0 && !f.behind {
		l.w.count("statement stalled")
		if err := l.sleep(ctx, f.stall); err != nil {
			return c.breaks(err)
		}
	}
	if err := l.pass(ctx); err != nil { // frozen before the packet left
		return c.breaks(err)
	}
	if c.ended() {
		return c.breaks(mysql.ErrInvalidConn)
	}
	if err := do(ctx); err != nil {
		return err
	}
	if f.stall > 0 && f.behind {
		l.w.count("statement stalled")
		if err := l.sleep(ctx, f.stall); err != nil {
			return c.breaks(err)
		}
	}
	switch {
	case f.cutAfter:
		l.w.count("connection cut after a statement")
		return c.breaks(mysql.ErrInvalidConn)
	case f.hole:
		l.w.count("packet vanished")
		return c.breaks(l.vanish(ctx))
	}
	if err := l.pass(ctx); err != nil { // frozen before the answer was read
		return c.breaks(err)
	}
	return nil
}

// breaks ends the connection; the server rolls back what was open on it.
func (c *conn) breaks(err error) error {
	c.broken = true
	c.rollback()
	return err
}

// ended reports whether the server has given the connection up.
func (c *conn) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// rollback ends the transaction at the server.
func (c *conn) rollback() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undo()
}

func (c *conn) undo() {
	if c.tx != nil {
		_ = c.tx.Rollback()
		c.close()
	}
}

// close notes that there is no transaction any more.
func (c *conn) close() {
	c.tx = nil
	if c.silent != nil {
		c.silent.Stop()
	}
	c.link.mu.Lock()
	delete(c.link.open, c)
	c.link.mu.Unlock()
}

// expire is the server that loses its patience.
func (c *conn) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tx != nil {
		c.link.w.count("silent transaction ended by the server")
		c.lost = true
		c.undo()
	}
}

// work does a statement at the server. In a transaction nothing waits: the lock is held.
func (c *conn) work(ctx context.Context, do func(context.Context) error) error {
	c.mu.Lock()
	if c.tx != nil {
		defer c.mu.Unlock()
		c.silent.Stop()
		err := do(context.WithoutCancel(ctx))
		c.silent.Reset(idleLimit)
		return err
	}
	lost := c.lost
	c.mu.Unlock()
	if lost {
		return mysql.ErrInvalidConn
	}
	return c.locked(ctx, do)
}

func (c *conn) locked(ctx context.Context, do func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	err := do(wait)
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		c.link.w.count("lock wait timed out")
		return &mysql.MySQLError{Number: 1205, Message: "Lock wait timeout exceeded; try restarting transaction"}
	}
	return err
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	query, ok := c.link.w.mutated(query)
	if !ok {
		return driver.RowsAffected(0), nil
	}
	err = c.carry(ctx, func(ctx context.Context) error {
		return c.work(ctx, func(ctx context.Context) error {
			res, err = c.inner.ExecContext(ctx, query, args)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, ok := c.link.w.mutated(query)
	if !ok {
		return &rows{}, nil
	}
	var found *rows
	err := c.carry(ctx, func(ctx context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lost {
			return mysql.ErrInvalidConn
		}
		if c.tx != nil {
			c.silent.Reset(idleLimit)
		}
		inner, err := c.inner.QueryContext(context.WithoutCancel(ctx), query, args)
		if err == nil {
			found, err = readAll(inner)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// rows are all rows of a result. They are read at the server, so that nothing of it is in use while the client looks at them.
type rows struct {
	columns []string
	values  [][]driver.Value
}

func readAll(inner driver.Rows) (*rows, error) {
	defer inner.Close()
	r := &rows{columns: inner.Columns()}
	for {
		row := make([]driver.Value, len(r.columns))
		if err := inner.Next(row); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return nil, err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = bytes.Clone(b)
			}
		}
		r.values = append(r.values, row)
	}
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(dest, r.values[0])
	r.values = r.values[1:]
	return nil
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	err := c.carry(ctx, func(ctx context.Context) error {
		return c.locked(ctx, func(wait context.Context) error {
			tx, err := c.inner.BeginTx(wait, opts)
			if err != nil {
				return err
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.tx, c.lost = tx, false
			c.silent = time.AfterFunc(idleLimit, c.expire)
			c.link.mu.Lock()
			dead := c.link.dead
			c.link.open[c] = struct{}{}
			c.link.mu.Unlock()
			if dead {
				c.undo()
				return errGone
			}
			return nil
		})
	})
	if err != nil {
		c.rollback()
		return nil, err
	}
	return &tx{c, ctx}, nil
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

func (c *conn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("simulate: nothing here prepares statements")
}

func (c *conn) Close() error {
	c.broken = true
	c.rollback()
	return c.inner.Close()
}

// tx is a transaction as its client sees it.
type tx struct {
	c   *conn
	ctx context.Context
}

// Commit commits at the server, if there is still something to commit: after a conflict MySQL says yes to that too. It is given
// up when the driver would give it up, and the server may have done it then.
func (t *tx) Commit() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), db.CommitTime(t.ctx))
	defer cancel()
	return t.c.carry(ctx, func(context.Context) error {
		c := t.c
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.tx == nil {
			return nil
		}
		if _, ok := c.link.w.mutated("COMMIT"); !ok {
			c.undo()
			return nil
		}
		err := c.tx.Commit()
		c.close()
		return err
	})
}

// Rollback needs no answer: whatever goes wrong with it ends the connection, and with it the transaction.
func (t *tx) Rollback() error {
	t.c.rollback()
	return nil
}
