package db_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestAServerWithoutRoomIsAway: what it cannot write now for want of disk or memory is not wrong, as a value is that is too long.
func TestAServerWithoutRoomIsAway(t *testing.T) {
	t.Parallel()
	for number, away := range map[uint16]bool{
		3: true, 1021: true, 1026: true, 1037: true, 1041: true, 1114: true, 1180: true, 1534: true, 1598: true, 1878: true,
		1062: false, 1264: false, 1406: false, 1205: false, 1213: false,
	} {
		err := fmt.Errorf("insert: %w", &mysql.MySQLError{Number: number, Message: "The table is full"})
		if db.IsUnavailable(err) != away {
			t.Errorf("%v: away is %v", err, !away)
		}
	}
}

// TestWhatADriversErrorStandsFor is found by its number, wrapped or not.
func TestWhatADriversErrorStandsFor(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(error) bool{
		"duplicate":   func(err error) bool { return errors.Is(db.Error(err), db.ErrDuplicate) },
		"unsupported": func(err error) bool { return errors.Is(db.Error(err), db.ErrUnsupported) },
		"transient":   db.IsTransient,
		"locked":      db.IsLocked,
	}
	for number, want := range map[uint16]string{
		1062: "duplicate", 1586: "duplicate", 1064: "unsupported", 1235: "unsupported", 1213: "transient", 1205: "transient locked", 3572: "transient locked", 1146: "",
	} {
		err := fmt.Errorf("step: %w", &mysql.MySQLError{Number: number})
		got := ""
		for _, kind := range []string{"duplicate", "unsupported", "transient", "locked"} {
			if kinds[kind](err) {
				got += kind + " "
			}
		}
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%d is %q, want %q", number, got, want)
		}
		if again := db.Error(db.Error(err)); again.Error() != err.Error() {
			t.Errorf("%d says %q", number, again)
		}
	}
}

// TestWhyADatabaseWritesNothing, where it says so.
func TestWhyADatabaseWritesNothing(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint16]db.Refusal{1021: db.RefusalFull, 1114: db.RefusalFull, 1290: db.RefusalReadOnly, 1836: db.RefusalReadOnly, 1213: "", 1053: ""} {
		if got := db.RefusalOf(fmt.Errorf("step: %w", &mysql.MySQLError{Number: number})); got != want {
			t.Errorf("%d: %q, want %q", number, got, want)
		}
	}
	pool := dbtest.New(t, db.SQLite)
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	try := func(pragma, undo string) error {
		if _, err := conn.ExecContext(t.Context(), pragma); err != nil {
			t.Fatal(err)
		}
		_, err := conn.ExecContext(t.Context(), "CREATE TABLE more AS SELECT randomblob(1000000) AS x")
		if _, err := conn.ExecContext(t.Context(), undo); err != nil {
			t.Fatal(err)
		}
		return err
	}
	if err := try("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000000"); db.RefusalOf(err) != db.RefusalFull {
		t.Errorf("without room: %v", err)
	}
	if err := try("PRAGMA query_only = ON", "PRAGMA query_only = OFF"); db.RefusalOf(err) != db.RefusalReadOnly {
		t.Errorf("read-only: %v", err)
	}
	if got := db.RefusalOf(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// TestWhatALostConnectionIs, and what only somebody's patience was.
func TestWhatALostConnectionIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		away bool
	}{
		{driver.ErrBadConn, true}, {mysql.ErrInvalidConn, true}, {io.EOF, true}, {io.ErrUnexpectedEOF, true}, {&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{nil, false}, {context.Canceled, false}, {context.DeadlineExceeded, false}, {&net.OpError{Op: "read", Err: context.DeadlineExceeded}, false},
		{fmt.Errorf("%w: %w", context.Canceled, driver.ErrBadConn), false}, {errors.New("wrong"), false},
	} {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("step: %w", err)
		}
		if got := db.IsUnavailable(err); got != tt.away {
			t.Errorf("%v: away is %v", err, got)
		}
	}
}
