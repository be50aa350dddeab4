package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// What every session of the pool is held to, so that a program which stops between two statements, or whose network does,
// holds up nobody for longer. A machine that is busy comes nowhere near these times.
const (
	// lockWait is how long a statement waits for a row that another transaction has locked, in seconds. The error is
	// transient, and it is the caller's to try again: see [Pool.Tx].
	lockWait = 2
	// idleTx is after how many seconds without a statement the server ends a transaction that has written. MariaDB can;
	// for the others there is [Pool.EndSessions].
	idleTx = 2
	// idleReadTx is the same for a transaction that has not written, which can still have locked rows.
	idleReadTx = 3
	// How long a COMMIT and a ROLLBACK may take: a transaction's context may be over, and what it did must still be ended.
	commitLimit   = 10 * time.Second
	commitAtLeast = time.Second
	rollbackLimit = 2 * time.Second
	// checkLimit is how long a connection may take to prove that it still leads anywhere.
	checkLimit = time.Second
)

// rules are the settings of a session on this product, each by itself since no server knows all of them.
func rules(version string) []string {
	rules := []string{"innodb_lock_wait_timeout = " + strconv.Itoa(lockWait)}
	switch {
	case strings.Contains(version, "MariaDB"):
		rules = append(rules, "idle_write_transaction_timeout = "+strconv.Itoa(idleTx)+", idle_transaction_timeout = "+strconv.Itoa(idleReadTx))
	case strings.Contains(version, "TiDB"):
		rules = append(rules, "tidb_idle_transaction_timeout = "+strconv.Itoa(idleTx))
	default:
		// MySQL 9 would read open runs by the meeting of their index with the primary key, and sort them all for the first page.
		rules = append(rules, "optimizer_switch = 'index_merge_intersection=off'")
	}
	return rules
}

// mysqlConn is what the driver's connections can do, so that a session that wraps one can do it too.
type mysqlConn interface {
	driver.Conn
	driver.Pinger
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// session is a connection of a pool to a MySQL server. It ends its transactions in bounded time, and is not used again when
// there is reason to believe that its server is away or cannot write.
type session struct {
	mysqlConn
	host   *host
	made   int64 // host.lost when it was made
	proved int64 // host.failed when it was last known to lead somewhere
	id     int64 // on its server
	idStep int64 // see [Pool.Numbered]
	server string
	all    *sessions // nil: nobody keeps a list
	kept   *kept
	broken bool // an error has been seen after which it is not used again
}

// see takes note of an error of the server or the network.
func (s *session) see(err error) error {
	if err == nil || s.broken || errors.Is(err, context.Canceled) {
		return err
	}
	switch n, _ := codes(err); {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, driver.ErrBadConn), isLostConn(err):
		// The server may have gone, or only this connection: the others are asked before they are used.
		s.broken = true
		s.host.failed.Add(1)
	case cannotServe[n]:
		s.broken = true
		s.host.lost.Add(1)
	}
	return err
}

// cannotServe are the answers of a server whose connections are worth nothing now, while another server's may be.
var cannotServe = map[uint16]bool{
	1047: true, // Galera node not ready
	1053: true, // shutdown in progress
	1290: true, // read-only
	1836: true, // read-only
	3100: true, // group replication: not in the group
}

func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := s.exec(ctx, query, args)
	return res, s.see(err)
}

func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.query(ctx, query, args)
	if n, _ := codes(err); n == noSuchIndex {
		rows, err = s.query(ctx, withoutHints(query), args)
	}
	return rows, s.see(err)
}

func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := s.mysqlConn.PrepareContext(ctx, query)
	return stmt, s.see(err)
}

func (s *session) Ping(ctx context.Context) error { return s.see(s.mysqlConn.Ping(ctx)) }

// ResetSession says whether the connection can be used once more. It costs nothing while all is well.
func (s *session) ResetSession(ctx context.Context) error {
	if s.broken || s.host.lost.Load() != s.made {
		return driver.ErrBadConn
	}
	if err := s.mysqlConn.ResetSession(ctx); err != nil {
		return err
	}
	failed := s.host.failed.Load()
	if failed == s.proved {
		return nil
	}
	check, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	if err := s.mysqlConn.Ping(check); err != nil {
		s.broken = true
		if ctx.Err() == nil && check.Err() != nil { // no answer at all: the others need not wait for theirs
			s.host.lost.CompareAndSwap(s.made, s.made+1)
		}
		return driver.ErrBadConn
	}
	s.proved = failed
	return nil
}

func (s *session) IsValid() bool { return !s.broken && s.mysqlConn.IsValid() }

func (s *session) Close() error {
	if s.all != nil {
		s.all.remove(s)
	}
	return s.mysqlConn.Close()
}

func (s *session) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	_, err := s.mysqlConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, s.see(err)
	}
	return &transaction{s, ctx}, nil
}

// transaction ends within the time its context leaves, where the driver's own would wait for a network that is gone.
type transaction struct {
	s   *session
	ctx context.Context
}

// Commit is not cut short because nobody waits for it any more, only because its time is over: a commit that was cut
// short is one of unknown fate.
func (t *transaction) Commit() error { return t.end("COMMIT", CommitTime(t.ctx)) }

// CommitTime is how long the commit of a transaction that was begun with ctx may take.
func CommitTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return commitLimit
	}
	return min(commitLimit, max(time.Until(deadline), commitAtLeast))
}

// Rollback undoes the transaction. Where that cannot be, the connection is given up, and the server undoes it.
func (t *transaction) Rollback() error { return t.end("ROLLBACK", rollbackLimit) }

func (t *transaction) end(statement string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), limit)
	defer cancel()
	_, err := t.s.ExecContext(ctx, statement, nil)
	return err
}

// sessions are the sessions that a pool has open.
type sessions struct {
	mu      sync.Mutex
	open    map[*session]struct{}
	idStep  int64         // of all that have been opened; 0: of none yet, -1: they differ
	changed chan struct{} // capacity 1: there is one more than there was
}

func newSessions() *sessions {
	return &sessions{open: make(map[*session]struct{}), changed: make(chan struct{}, 1)}
}

func (all *sessions) add(s *session) {
	all.mu.Lock()
	all.open[s] = struct{}{}
	if all.idStep == 0 {
		all.idStep = s.idStep
	} else if all.idStep != s.idStep {
		all.idStep = -1
	}
	all.mu.Unlock()
	select {
	case all.changed <- struct{}{}:
	default:
	}
}

// distance is the idStep of whichever session; not above 0 where they differ.
func (all *sessions) distance() int64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.idStep
}

func (all *sessions) remove(s *session) {
	all.mu.Lock()
	delete(all.open, s)
	all.mu.Unlock()
}

// maxSessions is how many bytes the list of an admin's sessions has at most.
const maxSessions = 4000

// String lists them by server: "a1b2c3d:17,18,22 99aabbcc:4". Of a pool with many hundreds it leaves some out.
func (all *sessions) String() string {
	all.mu.Lock()
	byServer := make(map[string][]int64, 1)
	for s := range all.open {
		byServer[s.server] = append(byServer[s.server], s.id)
	}
	all.mu.Unlock()
	var b strings.Builder
	for _, server := range slices.Sorted(maps.Keys(byServer)) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(server)
		separator := byte(':')
		for _, id := range slices.Sorted(slices.Values(byServer[server])) {
			if b.Len() > maxSessions-40 { // this one and the next server's name
				break
			}
			b.WriteByte(separator)
			b.WriteString(strconv.FormatInt(id, 10))
			separator = ','
		}
	}
	return b.String()
}

// sessionsOf reads from such a list the sessions of one server.
func sessionsOf(list, server string) []int64 {
	var ids []int64
	for part := range strings.FieldsSeq(list) {
		name, numbers, _ := strings.Cut(part, ":")
		if name != server {
			continue
		}
		ids = append(ids, ReadIDs(numbers)...)
	}
	return ids
}

// Sessions names the sessions that this pool has open, for [Pool.EndSessions] of another program. "" on SQLite.
func (p *Pool) Sessions() string {
	if p.sessions == nil {
		return ""
	}
	return p.sessions.String()
}

// SessionsChanged is sent a value when there is a session that there was not before; nil on SQLite.
func (p *Pool) SessionsChanged() <-chan struct{} {
	if p.sessions == nil {
		return nil
	}
	return p.sessions.changed
}

// EndSessions ends the sessions that another pool named in its [Pool.Sessions] and that have waited for a statement for two
// seconds or more: what they have locked is free then. It returns how many there were. An account may see and end its own
// sessions without any privilege. Sessions of other servers than the one that answers here are left alone, as they hold
// no locks on it.
//
// A number may mean another session by now, after the server was started anew. Such a session is one of the same account
// that does nothing, and whoever has it connects again.
func (p *Pool) EndSessions(ctx context.Context, list string) (ended int, err error) {
	if p.sessions == nil || list == "" {
		return 0, nil
	}
	conn, err := p.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var server, account, database string
	var own []int64 // this pool's own are never meant
	err = conn.Raw(func(c any) error {
		server = c.(*session).server
		own = sessionsOf(p.Sessions(), server)
		return nil
	})
	if err != nil {
		return 0, err
	}
	meant := slices.DeleteFunc(sessionsOf(list, server), func(id int64) bool { return slices.Contains(own, id) })
	if len(meant) == 0 {
		return 0, nil
	}
	if err := conn.QueryRowContext(ctx, "SELECT USER(), DATABASE()").Scan(&account, &database); err != nil {
		return 0, err
	}
	if at := strings.LastIndexByte(account, '@'); at >= 0 {
		account = account[:at]
	}
	rows, err := conn.QueryContext(ctx, "SHOW PROCESSLIST")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	var idle []int64
	for rows.Next() {
		var id, seconds int64
		var user, command string
		var at sql.NullString
		into := make([]any, len(columns)) // Id, User, Host, db, Command, Time, and more
		for i := range into {
			into[i] = new(any)
		}
		into[0], into[1], into[3], into[4], into[5] = &id, &user, &at, &command, &number{&seconds}
		if err := rows.Scan(into...); err != nil {
			return 0, err
		}
		// A database that was restored beside the one it was copied from knows the sessions of the admins there.
		if user == account && strings.EqualFold(at.String, database) && command == "Sleep" && seconds >= idleTx && slices.Contains(meant, id) {
			idle = append(idle, id)
		}
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	for _, id := range idle {
		_, err := conn.ExecContext(ctx, "KILL CONNECTION "+strconv.FormatInt(id, 10))
		switch n, _ := codes(err); {
		case n == 1094: // it has gone by itself
		case err != nil:
			return ended, err
		default:
			ended++
		}
	}
	return ended, nil
}

// number scans a column that may be NULL, as 0.
type number struct{ to *int64 }

// Scan implements [sql.Scanner].
func (n *number) Scan(v any) (err error) {
	switch v := v.(type) {
	case int64:
		*n.to = v
	case []byte:
		*n.to, err = strconv.ParseInt(string(v), 10, 64)
	}
	return err
}

// serverName is a short name for a server, by what it says of itself.
func serverName(self string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(self))
	return strconv.FormatUint(uint64(h.Sum32()), 16)
}

// hold makes the session keep to the rules. A server that does not know one of them goes without it.
func hold(ctx context.Context, conn mysqlConn, version string) error {
	for _, rule := range rules(version) {
		_, err := conn.ExecContext(ctx, "SET SESSION "+rule, nil)
		if _, refused := errors.AsType[*mysql.MySQLError](err); err != nil && !refused {
			return err
		}
	}
	return nil
}
