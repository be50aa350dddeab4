package sqlite

import (
	"container/list"
	"context"
	"database/sql/driver"
	"hash/maphash"
	"slices"
)

// rawConn is what modernc's connection can do and this package uses.
type rawConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Validator
}

// rawStmt is the same for its statements.
type rawStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// How much a session remembers, in bytes of text; the compiled form is some ten times as big. A long statement is
// remembered when it comes a second time: batches come in hundreds of sizes, which are not worth it, but under load they are
// all of the largest size, and then compiling is a quarter of the work (28,000 runs/s without, 36,000 with).
const (
	maxText  = 256 << 10
	longText = 4 << 10
	maxSeen  = 64
)

// session is one SQLite connection with its prepared statements. Whoever holds it uses it alone.
type session struct {
	raw   rawConn
	stmts map[string]*list.Element // of *cachedStmt
	order list.List                // most recently used first
	bytes int                      // of their texts

	seen     [maxSeen]uint64 // hashes of the last long statements, in a ring
	nextSeen int
}

var seed = maphash.MakeSeed()

// worth reports whether a statement that is not remembered should be.
func (s *session) worth(text string) bool {
	if len(text) <= longText {
		return true
	}
	if len(text) > maxText {
		return false
	}
	h := maphash.String(seed, text)
	if slices.Contains(s.seen[:], h) {
		return true
	}
	s.seen[s.nextSeen] = h
	s.nextSeen = (s.nextSeen + 1) % maxSeen
	return false
}

// cachedStmt is out of the cache's hands while busy: a second use at the same time (a query inside the loop over the
// rows of the same query, in one transaction) gets a statement of its own.
type cachedStmt struct {
	text string
	stmt rawStmt
	busy bool
}

// prepare returns a compiled statement and the function that gives it back.
func (s *session) prepare(ctx context.Context, text string) (rawStmt, func(), error) {
	el := s.stmts[text]
	if el != nil {
		c := el.Value.(*cachedStmt)
		if !c.busy {
			c.busy = true
			s.order.MoveToFront(el)
			return c.stmt, func() { c.busy = false }, nil
		}
	}
	prepared, err := s.raw.PrepareContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	stmt := prepared.(rawStmt)
	if el != nil || !s.worth(text) {
		return stmt, func() { stmt.Close() }, nil
	}
	c := &cachedStmt{text: text, stmt: stmt, busy: true}
	if s.stmts == nil {
		s.stmts = make(map[string]*list.Element)
	}
	s.stmts[text] = s.order.PushFront(c)
	s.bytes += len(text)
	s.evict()
	return stmt, func() { c.busy = false }, nil
}

// evict drops the least recently used statements that nobody reads from.
func (s *session) evict() {
	for el := s.order.Back(); el != nil && s.bytes > maxText; {
		c, prev := el.Value.(*cachedStmt), el.Prev()
		if !c.busy {
			s.order.Remove(el)
			delete(s.stmts, c.text)
			s.bytes -= len(c.text)
			c.stmt.Close()
		}
		el = prev
	}
}

func (s *session) close() error {
	for el := s.order.Front(); el != nil; el = el.Next() {
		el.Value.(*cachedStmt).stmt.Close()
	}
	s.order.Init()
	s.bytes = 0
	clear(s.stmts)
	return s.raw.Close()
}
