package dbtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db"
)

// Watched has what a pool sent to its database since [Watch].
type Watched struct {
	pool *sql.DB

	mu      sync.Mutex
	done    [][]string
	before  map[string]func()
	refused []string // statements that are not to reach the database, by their names
	with    error
	breaks  *breaking
}

// Fault is how a statement fails that [Watched.Break] picks.
type Fault struct {
	With  error // what is said in place of an answer
	Done  bool  // it was carried out nevertheless
	Stays bool  // all that follows fails too, and is not carried out
}

// breaking is what Break asked for.
type breaking struct {
	whose func(context.Context) bool
	left  int // statements until the one that fails
	fault Fault
	name  string // of the one that failed
}

// Break has the n-th statement fail of those whose context is picked; nil picks all. BEGIN and COMMIT count, ROLLBACK does not.
func (w *Watched) Break(n int, whose func(context.Context) bool, fault Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaks = &breaking{whose: whose, left: n, fault: fault}
}

// Broken ends that, and names the statement that failed; "" when there were fewer.
func (w *Watched) Broken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.breaks == nil {
		return ""
	}
	name := w.breaks.name
	w.breaks = nil
	return name
}

// fault is what is to become of a statement; nil when it goes on as ever.
func (w *Watched) fault(ctx context.Context, name string) *Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.breaks
	if b == nil || b.whose != nil && !b.whose(ctx) {
		return nil
	}
	b.left--
	switch {
	case b.left == 0:
		b.name = name
		return &b.fault
	case b.left < 0 && b.fault.Stays:
		return &Fault{With: b.fault.With}
	}
	return nil
}

// Watch has a pool note what it sends, so that a test can count it: how long a round trip takes hangs on the machine, how many there are
// does not. It is called before the pool is used.
func Watch(tb testing.TB, pool *db.Pool) *Watched {
	tb.Helper()
	w := &Watched{pool: pool.DB}
	watched := sql.OpenDB(w)
	watched.SetMaxOpenConns(w.pool.Stats().MaxOpenConnections)
	pool.DB = watched
	tb.Cleanup(func() {
		pool.DB = w.pool
		_ = watched.Close()
	})
	return w
}

// Transactions are those that were committed and have a statement of this name, in their order. A transaction is the names of its statements
// with BEGIN and COMMIT, or one statement outside of any. The name is that of the query, or the verb and the table.
func (w *Watched) Transactions(name string) (list [][]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.done {
		if slices.Contains(t, name) {
			list = append(list, t)
		}
	}
	return list
}

// Before has something done before each statement of a name, as somebody else would do it meanwhile.
func (w *Watched) Before(name string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = map[string]func(){name: do}
}

// Refuse has the next statements of a name, so many, fail as if the database had.
func (w *Watched) Refuse(name string, times int, with error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused, w.with = slices.Repeat([]string{name}, times), with
}

// Refused reports whether all of them have come.
func (w *Watched) Refused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.refused) == 0
}

// Connect implements [driver.Connector] with a connection of the pool.
func (w *Watched) Connect(ctx context.Context) (driver.Conn, error) {
	lent, err := w.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &watchedConn{w: w, lent: lent}
	err = lent.Raw(func(raw any) error {
		var ok bool
		if c.wholeConn, ok = raw.(wholeConn); !ok {
			return fmt.Errorf("the connection cannot do all that is needed: %T", raw)
		}
		return nil
	})
	if err != nil {
		_ = lent.Close()
		return nil, err
	}
	return c, nil
}

// Driver implements [driver.Connector].
func (w *Watched) Driver() driver.Driver { return w.pool.Driver() }

func (w *Watched) note(statements []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, statements)
}

type wholeConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
}

type watchedConn struct {
	wholeConn
	w    *Watched
	lent *sql.Conn
	tx   []string        // nil outside of one
	ctx  context.Context // of the transaction
}

func nameOf(query string) string {
	words := strings.Fields(query)
	name := words[0]
	switch {
	case strings.HasPrefix(query, "-- name: "):
		name = words[2]
	case name == "UPDATE" || name == "SELECT":
		name = strings.Join(words[:2], " ")
	case name == "INSERT":
		name += " " + words[slices.Index(words, "INTO")+1]
	}
	return name
}

func (c *watchedConn) note(query string) error {
	name := nameOf(query)
	c.w.mu.Lock()
	before := c.w.before[name]
	refused := len(c.w.refused) > 0 && c.w.refused[0] == name
	if refused {
		c.w.refused = c.w.refused[1:]
	}
	c.w.mu.Unlock()
	if before != nil {
		before()
	}
	if refused {
		return c.w.with
	}
	if c.tx != nil {
		c.tx = append(c.tx, name)
		return nil
	}
	c.w.note([]string{name})
	return nil
}

func (c *watchedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.note(query); err != nil {
		return nil, err
	}
	fault := c.w.fault(ctx, nameOf(query))
	if fault == nil {
		return c.wholeConn.ExecContext(ctx, query, args)
	}
	if fault.Done {
		if _, err := c.wholeConn.ExecContext(ctx, query, args); err != nil {
			return nil, err
		}
	}
	return nil, fault.With
}

func (c *watchedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.note(query); err != nil {
		return nil, err
	}
	fault := c.w.fault(ctx, nameOf(query))
	if fault == nil {
		return c.wholeConn.QueryContext(ctx, query, args)
	}
	return nil, fault.With
}

func (c *watchedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if fault := c.w.fault(ctx, "BEGIN"); fault != nil {
		return nil, fault.With
	}
	tx, err := c.wholeConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.tx, c.ctx = []string{"BEGIN"}, ctx
	return &watchedTx{tx, c}, nil
}

func (c *watchedConn) Close() error { return c.lent.Close() }

type watchedTx struct {
	driver.Tx
	c *watchedConn
}

func (t *watchedTx) Commit() error {
	done := append(t.c.tx, "COMMIT")
	t.c.tx = nil
	if fault := t.c.w.fault(t.c.ctx, "COMMIT"); fault != nil {
		if !fault.Done {
			_ = t.Tx.Rollback()
		} else if err := t.Tx.Commit(); err != nil {
			return err
		}
		return fault.With
	}
	err := t.Tx.Commit()
	if err == nil {
		t.c.w.note(done)
	}
	return err
}

func (t *watchedTx) Rollback() error {
	t.c.tx = nil
	return t.Tx.Rollback()
}
