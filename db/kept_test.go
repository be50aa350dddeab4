package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// answering is a connection whose server does with a prepared statement as the test says.
type answering struct {
	mysqlConn
	prepare, execute error
	sent             []string
}

func (a *answering) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	a.sent = append(a.sent, "prepare "+text)
	return answeringStatement{a: a, text: text}, a.prepare
}

func (a *answering) ExecContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Result, error) {
	a.sent = append(a.sent, text)
	return driver.ResultNoRows, nil
}

func (a *answering) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	a.sent = append(a.sent, text)
	return nil, nil
}

type answeringStatement struct {
	driver.Stmt
	a    *answering
	text string
}

func (s answeringStatement) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	s.a.sent = append(s.a.sent, "execute "+s.text)
	return driver.ResultNoRows, s.a.execute
}

func (s answeringStatement) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	s.a.sent = append(s.a.sent, "execute "+s.text)
	return nil, s.a.execute
}

func (s answeringStatement) Close() error {
	s.a.sent = append(s.a.sent, "close "+s.text)
	return nil
}

// TestWhatAServerSaysOfAPreparedStatement: where it cannot be had, or was not executed, the text is sent; any other answer is the statement's.
func TestWhatAServerSaysOfAPreparedStatement(t *testing.T) {
	t.Parallel()
	const text = "UPDATE t SET a = 1"
	lost := errors.New("the network is gone")
	for name, c := range map[string]struct {
		prepare, execute, err error
		sent                  []string // after two times
	}{
		"it is kept":                  {nil, nil, nil, []string{"prepare " + text, "execute " + text, "execute " + text}},
		"there is no room for it":     {&mysql.MySQLError{Number: 1461}, nil, nil, []string{"prepare " + text, text, text}},
		"it cannot be prepared":       {&mysql.MySQLError{Number: 1295}, nil, nil, []string{"prepare " + text, text, text}},
		"a proxy knows no such thing": {&mysql.MySQLError{Number: 1047}, nil, nil, []string{"prepare " + text, text, text}},
		"a server that is read-only":  {&mysql.MySQLError{Number: 1290}, nil, &mysql.MySQLError{Number: 1290}, []string{"prepare " + text, "prepare " + text}},
		"the transaction is undone":   {&mysql.MySQLError{Number: 1213}, nil, &mysql.MySQLError{Number: 1213}, []string{"prepare " + text, "prepare " + text}},
		"the network went with it":    {lost, nil, lost, []string{"prepare " + text, "prepare " + text}},
		"it has been forgotten":       {nil, &mysql.MySQLError{Number: 1243}, nil, []string{"prepare " + text, "execute " + text, "close " + text, text, "prepare " + text, "execute " + text, "close " + text, text}},
		"it must be prepared anew":    {nil, &mysql.MySQLError{Number: 1615}, nil, []string{"prepare " + text, "execute " + text, "close " + text, text, "prepare " + text, "execute " + text, "close " + text, text}},
		"what it does is not allowed": {nil, &mysql.MySQLError{Number: 1062}, &mysql.MySQLError{Number: 1062}, []string{"prepare " + text, "execute " + text, "execute " + text}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, do := range map[string]func(*session) error{
				"exec":  func(s *session) error { _, err := s.ExecContext(t.Context(), text, nil); return err },
				"query": func(s *session) error { _, err := s.QueryContext(t.Context(), text, nil); return err },
			} {
				conn := &answering{prepare: c.prepare, execute: c.execute}
				s := &session{mysqlConn: conn, host: new(host), kept: newKept("8.4.0", 1)}
				for range 2 {
					if err := do(s); fmt.Sprint(err) != fmt.Sprint(c.err) {
						t.Errorf("%s: %v, want %v", what, err, c.err)
					}
				}
				if !slices.Equal(conn.sent, c.sent) {
					t.Errorf("%s: the server got %q, want %q", what, conn.sent, c.sent)
				}
			}
		})
	}
}

// TestWhatASessionKeeps: what came lately and comes again, no more than its share, and nothing on a server that thinks of a statement once.
func TestWhatASessionKeeps(t *testing.T) {
	t.Parallel()
	conn := new(answering)
	s := &session{mysqlConn: conn, host: new(host), kept: newKept("11.4.2-MariaDB", keepFrom)}
	send := func(s *session, text string) (prepared bool) {
		t.Helper()
		conn.sent = nil
		if _, err := s.ExecContext(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
		return conn.sent[len(conn.sent)-1] != text
	}
	text := func(i int) string { return fmt.Sprintf("UPDATE t SET a = 1 WHERE id = %d", i) }
	for i := range 3 * keptMost {
		for came := range keepFrom {
			if got := send(s, text(i)); got != (came == keepFrom-1) {
				t.Fatalf("statement %d is prepared when it comes for the %d. time: %t", i, came+1, got)
			}
		}
		if s.kept.prepared != min(i+1, keptMost) {
			t.Fatalf("%d are prepared after %d", s.kept.prepared, i+1)
		}
	}
	if !send(s, text(2*keptMost)) || send(s, text(2*keptMost-1)) {
		t.Error("others are kept than those that were used last")
	}
	for i := range 2 * keptMost { // batches
		for range keepFrom {
			send(s, text(i)+" -- "+strings.Repeat("?", keptText/2))
		}
		if s.kept.bytes > keptAll || i > keptAll/keptText && s.kept.bytes < keptAll/2 {
			t.Fatalf("%d bytes are prepared after %d batches", s.kept.bytes, i+1)
		}
	}
	for i := range 10 * counted {
		send(s, fmt.Sprintf("DELETE FROM t WHERE id = %d", i))
	}
	if n := len(s.kept.known); n != counted || s.kept.order.Len() != n || s.kept.prepared+s.kept.bytes != 0 {
		t.Errorf("it counts %d statements, of which it keeps %d; want %d and none that came long ago", n, s.kept.prepared, counted)
	}
	for _, never := range []string{
		"SELECT 1 FROM t WHERE id IN (SELECT id FROM u)", "SET SESSION a = 1", "KILL CONNECTION 1", "COMMIT",
		"INSERT INTO t VALUES (" + string(slices.Repeat([]byte{'1'}, keptText)) + ")",
	} {
		for range 2 * keepFrom {
			if send(s, never) {
				t.Errorf("%.50s is prepared", never)
			}
		}
	}
	tidb := &session{mysqlConn: conn, host: new(host), kept: newKept("8.0.11-TiDB-v8.5.0", keepFrom)}
	for range 2 * keepFrom {
		if send(tidb, text(1)) {
			t.Error("TiDB is to keep a statement")
		}
	}
}

// TestWhatASessionUsesAgainStays, however much else comes, and so does all for which there is room to the byte.
func TestWhatASessionUsesAgainStays(t *testing.T) {
	t.Parallel()
	conn := new(answering)
	begin := func() func(text string) []string {
		s := &session{mysqlConn: conn, host: new(host), kept: newKept("8.4.0", 1)}
		return func(text string) []string {
			t.Helper()
			conn.sent = nil
			if _, err := s.ExecContext(t.Context(), text, nil); err != nil {
				t.Fatal(err)
			}
			return conn.sent
		}
	}
	const again = "SELECT a FROM t"
	send := begin()
	if got := send(again); !slices.Equal(got, []string{"prepare " + again, "execute " + again}) {
		t.Errorf("at first the server gets %q", got)
	}
	for i := range 3 * keptMost {
		send(fmt.Sprintf("DELETE FROM t WHERE id = %d", i))
		if got := send(again); !slices.Equal(got, []string{"execute " + again}) {
			t.Fatalf("after %d others the server gets %.80q", i+1, got)
		}
	}
	long := func(i, size int) string {
		return fmt.Sprintf("UPDATE t SET a = %d -- ", i) + strings.Repeat("?", size-22)
	}
	send = begin()
	for i := range keptAll/keptText + 1 {
		text := long(i, keptText)
		got := slices.DeleteFunc(slices.Clone(send(text)), func(sent string) bool { return sent == "prepare "+text || sent == "execute "+text })
		if first := long(0, keptText); len(text) != keptText || i < keptAll/keptText && len(got) != 0 || i == keptAll/keptText && !slices.Equal(got, []string{"close " + first}) {
			t.Errorf("statement %d of %d bytes: the server gets %.80q as well", i, len(text), got)
		}
	}
	if text := long(1, keptText+1); !slices.Equal(send(text), []string{text}) {
		t.Error("a longer one is prepared")
	}
}
