package db

import (
	"container/list"
	"context"
	"database/sql/driver"
	"strings"
)

// Where a statement is about few rows, reading it costs a server as much as doing it. So a session has its server keep, prepared, those that
// come again and again.
const (
	keepFrom = 3            // times that a statement has come
	keptMost = 32           // of a session: a server has room for 16,382 of all who use it
	keptText = 8 << 10      // bytes of a statement, at most: longer ones are batches, which come in hundreds of sizes
	keptAll  = 4 * keptText // bytes of all of them: MariaDB takes some 200 of memory for each of a batch
	counted  = 64           // statements, of which a session knows how often they have come
)

// kept are the statements that a session has had its server prepare, and how often others have come. nil keeps none, as on a node of a Galera
// cluster: a transaction that was undone for another node's change hears of it from its next command, but there are commands of prepared
// statements that have no answer. And what is a transaction by itself the node tries again (wsrep_retry_autocommit) where it came as text.
type kept struct {
	from     int                      // keepFrom, but in tests
	known    map[string]*list.Element // of *statement
	order    list.List                // most recently used first
	prepared int
	bytes    int // of the prepared ones
}

type statement struct {
	text     string
	came     int
	never    bool              // it is sent as text
	prepared preparedStatement // nil: it is not
}

// preparedStatement is what the driver's statements can do.
type preparedStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// newKept gives what a session keeps on a server of this version. TiDB keeps how it did a statement too, for values that are another
// time's; the others think anew each time.
func newKept(version string, from int) *kept {
	if strings.Contains(version, "TiDB") {
		return nil
	}
	return &kept{from: from, known: make(map[string]*list.Element)}
}

// preparable reports whether a statement may be prepared. One with a query inside of a query may not: servers have had faults in what they
// keep of those from one execution to the next.
func preparable(text string) bool {
	if strings.Count(text, "SELECT") > 1 {
		return false
	}
	switch verb, _, _ := strings.Cut(text, " "); verb {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "--": // with which the name of a query begins
		return true
	}
	return false
}

// get gives the prepared statement of a text, or nil if it is to be sent as text.
func (k *kept) get(ctx context.Context, conn driver.ConnPrepareContext, text string) (preparedStatement, error) {
	if k == nil || len(text) > keptText {
		return nil, nil
	}
	s := k.seen(text)
	if s.came++; s.prepared != nil || s.never || s.came < k.from {
		return s.prepared, nil
	}
	prepared, err := conn.PrepareContext(ctx, text)
	if refusesToPrepare(err) {
		s.never = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.prepared = prepared.(preparedStatement)
	k.prepared++
	for k.bytes += len(text); k.prepared > keptMost || k.bytes > keptAll; {
		k.giveBack()
	}
	return s.prepared, nil
}

// refusesToPrepare reports whether a server has said that it does not prepare a statement: it is none that can be, there is no room for more, or
// a proxy knows no such command, in words of its own. As text it has the answer that it deserves. What may be about the transaction, or about the
// server as a whole, is no refusal: a transaction that was undone must hear of it.
func refusesToPrepare(err error) bool {
	n, _ := codes(err)
	return n != 0 && !IsTransient(err) && (n == 1047 || !IsUnavailable(err)) // 1047: no such command, beside Galera's
}

// seen gives what is known of a text, which is now the one that was used last.
func (k *kept) seen(text string) *statement {
	el := k.known[text]
	if el != nil {
		k.order.MoveToFront(el)
		return el.Value.(*statement)
	}
	s := &statement{text: text, never: !preparable(text)}
	k.known[text] = k.order.PushFront(s)
	if k.order.Len() > counted {
		k.forget(k.order.Back())
	}
	return s
}

// giveBack has the server forget the statement that was not used for longest.
func (k *kept) giveBack() {
	el := k.order.Back()
	for el.Value.(*statement).prepared == nil {
		el = el.Prev()
	}
	k.forget(el)
}

func (k *kept) forget(el *list.Element) {
	s := el.Value.(*statement)
	if s.prepared != nil {
		_ = s.prepared.Close() // to which there is no answer
		k.prepared--
		k.bytes -= len(s.text)
	}
	k.order.Remove(el)
	delete(k.known, s.text)
}

// gone reports whether the server said that it has a prepared statement no more, or cannot use it as it is: it has done nothing then.
func (k *kept) gone(text string, err error) bool {
	n, _ := codes(err)
	if n != 1243 && n != 1615 {
		return false
	}
	k.forget(k.known[text])
	return true
}

// exec has a statement executed as it was prepared, or as text.
func (s *session) exec(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	prepared, err := s.kept.get(ctx, s.mysqlConn, text)
	if err != nil {
		return nil, err
	}
	if prepared != nil {
		res, err := prepared.ExecContext(ctx, args)
		if !s.kept.gone(text, err) {
			return res, err
		}
	}
	return s.mysqlConn.ExecContext(ctx, text, args)
}

// query is exec for rows.
func (s *session) query(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	prepared, err := s.kept.get(ctx, s.mysqlConn, text)
	if err != nil {
		return nil, err
	}
	if prepared != nil {
		rows, err := prepared.QueryContext(ctx, args)
		if !s.kept.gone(text, err) {
			return rows, err
		}
	}
	return s.mysqlConn.QueryContext(ctx, text, args)
}
