package sqlite

import (
	"container/list"
	"context"
	"database/sql/driver"
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

// How much a session remembers. A batch statement comes in hundreds of sizes and its compiled form is some
// ten times its text, so long statements are compiled anew: that is a small part of what they cost anyway.
const (
	maxCachedText  = 4 << 10 // bytes of one statement
	maxCachedStmts = 128
)

// session is one SQLite connection with its prepared statements. Whoever holds it uses it alone.
type session struct {
	raw   rawConn
	stmts map[string]*list.Element // of *cachedStmt
	order list.List                // most recently used first
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
	if el != nil || len(text) > maxCachedText {
		return stmt, func() { stmt.Close() }, nil
	}
	c := &cachedStmt{text: text, stmt: stmt, busy: true}
	if s.stmts == nil {
		s.stmts = make(map[string]*list.Element)
	}
	s.stmts[text] = s.order.PushFront(c)
	s.evict()
	return stmt, func() { c.busy = false }, nil
}

// evict drops the least recently used statements that nobody reads from.
func (s *session) evict() {
	for el := s.order.Back(); el != nil && s.order.Len() > maxCachedStmts; {
		c, prev := el.Value.(*cachedStmt), el.Prev()
		if !c.busy {
			s.order.Remove(el)
			delete(s.stmts, c.text)
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
	clear(s.stmts)
	return s.raw.Close()
}
