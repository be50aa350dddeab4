package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/punctual-job/punctual/db/sqlite"
)

// What callers branch on. [Error] makes them out of a driver's errors.
var (
	// ErrNotFound means that the row asked for is not there.
	ErrNotFound = errors.New("not found")
	// ErrDuplicate means that a unique key has this value already.
	ErrDuplicate = errors.New("duplicate")
	// ErrUnconfirmed means that nobody knows whether a transaction was committed: what the database answered to the commit did not come.
	ErrUnconfirmed = errors.New("the commit was not confirmed")
	// ErrUnsupported means that this version of the database does not know the statement.
	ErrUnsupported = errors.New("not known to this version of the database")
)

// classified is a driver's error with the sentinel it stands for; its text stays the driver's.
type classified struct {
	kind error
	err  error
}

func (e *classified) Error() string        { return e.err.Error() }
func (e *classified) Unwrap() error        { return e.err }
func (e *classified) Is(target error) bool { return target == e.kind }

// Error translates a driver's error, wrapped or not, so that errors.Is finds [ErrNotFound] and [ErrDuplicate].
// It is the only place that knows the numbers of both databases.
func Error(err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrDuplicate) {
		return err
	}
	if errors.Is(err, sql.ErrNoRows) {
		return &classified{ErrNotFound, err}
	}
	switch n, s := codes(err); {
	case n == 1062, n == 1586,
		s == sqlite3.SQLITE_CONSTRAINT_UNIQUE, s == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, s == sqlite3.SQLITE_CONSTRAINT_ROWID:
		return &classified{ErrDuplicate, err}
	case n == 1064, n == 1235:
		return &classified{ErrUnsupported, err}
	}
	return err
}

// codes returns MySQL's error number and SQLite's extended result code, 0 for what it is not.
func codes(err error) (mysqlNumber uint16, sqliteCode int) {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		mysqlNumber = e.Number
	}
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		sqliteCode = e.Code()
	}
	return mysqlNumber, sqliteCode
}

// isDamaged reports whether an embedded database cannot be read, or is none.
func isDamaged(err error) bool {
	_, s := codes(err)
	return s&0xff == sqlite3.SQLITE_CORRUPT || s&0xff == sqlite3.SQLITE_NOTADB
}

// transientNumbers are errors after which the same transaction may well succeed, and which all say that it was rolled back, or
// is going to be by [Pool.Tx].
var transientNumbers = map[uint16]bool{
	1020: true, // row changed since it was read (MariaDB's snapshot isolation)
	1180: true, // error during COMMIT: Galera's certification lost
	1205: true, // lock wait timeout
	1213: true, // deadlock, or Galera's write conflict
	1412: true, // the table was changed since the transaction began, by new partitions
	1614: true, // XA branch rolled back by a deadlock
	3101: true, // group replication rolled the commit back
	3572: true, // NOWAIT found a lock
	8002: true, // TiDB: conflict of a pessimistic lock
	8022: true, // TiDB: commit must be retried
	8028: true, // TiDB: the schema changed meanwhile
	9007: true, // TiDB: write conflict
}

// IsTransient reports whether the database rolled back for a reason that passes, so that trying again makes sense.
func IsTransient(err error) bool {
	if err == nil {
		return false
	}
	n, s := codes(err)
	return errors.Is(err, errDistanceChanged) || transientNumbers[n] || s&0xff == sqlite3.SQLITE_BUSY || s&0xff == sqlite3.SQLITE_LOCKED
}

// IsLocked reports whether a statement gave up waiting for a row that another transaction has locked. Only the statement
// was undone; [Pool.Tx] undoes the rest.
func IsLocked(err error) bool {
	n, _ := codes(err)
	return n == 1205 || n == 3572
}

// unavailableNumbers are a server's ways to say that it cannot serve now.
var unavailableNumbers = map[uint16]bool{
	3:    true, // cannot write a file: the disk is full
	1021: true, // disk full
	1026: true, // cannot write a file
	1037: true, // out of memory
	1040: true, // too many connections
	1041: true, // out of memory
	1042: true, // cannot get host name
	1043: true, // bad handshake
	1047: true, // Galera node not ready
	1053: true, // shutdown in progress
	1114: true, // a table's file cannot grow: the disk is full
	1129: true, // host blocked
	1152: true, // aborted connection
	1158: true, // read error
	1159: true, // read timeout
	1160: true, // write error
	1161: true, // write timeout
	1180: true, // cannot commit
	1203: true, // user has too many connections
	1226: true, // user exceeded a resource
	1290: true, // server is read-only, for example in a fail-over
	1534: true, // cannot write its binary log
	1598: true, // the same
	1792: true, // read-only transaction
	1836: true, // read-only mode
	1878: true, // cannot write a temporary file
	1927: true, // connection was killed
	3100: true, // group replication: not in the group
	4031: true, // disconnected for inactivity
	9001: true, // TiDB: no placement driver
	9002: true, // TiDB: storage timeout
	9005: true, // TiDB: region unavailable
}

// IsUnavailable reports whether the database is away or refuses to work, as opposed to refusing this one statement.
// The right answer is to wait and to say so.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sqlite.ErrStuck) || isLostConn(err) {
		return true
	}
	n, s := codes(err)
	if unavailableNumbers[n] {
		return true
	}
	switch s & 0xff {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// Refusal is why a database that answers writes nothing, as far as what it answers with tells.
type Refusal string

// The refusals that somebody can do something about at once.
const (
	RefusalFull     Refusal = "full"      // there is no room left on its disk
	RefusalReadOnly Refusal = "read_only" // it, or the file system of its file, is read-only
)

// RefusalOf is why the database refused to write; "" where that is not known, or it did not.
func RefusalOf(err error) Refusal {
	switch n, s := codes(err); {
	case n == 3, n == 1021, n == 1026, n == 1114, n == 1878, s&0xff == sqlite3.SQLITE_FULL:
		return RefusalFull
	case n == 1290, n == 1792, n == 1836, s&0xff == sqlite3.SQLITE_READONLY:
		return RefusalReadOnly
	}
	return ""
}

// isLostConn reports whether the connection to a server broke or was never made.
func isLostConn(err error) bool {
	if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return true
	}
	// context.DeadlineExceeded is a net.Error too, and says nothing about the server.
	_, ok := errors.AsType[net.Error](err)
	return ok && !errors.Is(err, context.DeadlineExceeded)
}
