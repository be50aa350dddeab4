package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"database/sql/driver"
	"log/slog"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// Dialect says which database a [Pool] talks to. Queries do not need to know; migrations and messages do.
type Dialect string

// The databases Punctual runs on. MySQL stands for MariaDB and its other kin too.
const (
	MySQL  Dialect = "mysql"
	SQLite Dialect = "sqlite"
)

// Pool is an open database. It is an [sql.DB], so generated queries take it as it is.
type Pool struct {
	*sql.DB
	dialect     Dialect
	shared      bool // several pools of this process have the file; see OpenShared
	zone        *time.Location
	logger      *slog.Logger
	describe    string     // where the database is, without secrets and, on MySQL, without the server
	connector   *connector // nil on SQLite
	sessions    *sessions  // nil on SQLite
	product     string     // name and version of the database, as it said when it was opened
	distance    distance
	built       atomic.Int64   // see deferred.go
	fewJobs     int64          // up to where jobs of some groups are sorted without an index; see [SortJobs]
	newestFirst int64          // how many of the newest jobs are looked at first; see [SearchJobs]
	deferAbove  int64          // from how many runs on indexes are built after the start
	paramChars  atomic.Int64   // how long the parameter of a run may be; 0: as long as a job's
	beside      atomic.Bool    // XXL-JOB admins work on it too; see beside.go
	jobCron     atomic.Bool    // xxl_job_info has the column of XXL-JOB 2.2; see jobcron.go
	galera      bool           // the server changes it by itself when a node joins or leaves
	searching   chan struct{}  // one for each search under way; see sideBySide
	calendars   Calendars      // see calendars.go
	admin       func() *sql.DB // opens connections without time limits, for migrations
	release     func() error   // gives the data directory back
}

// Dialect returns which database this is.
func (p *Pool) Dialect() Dialect { return p.dialect }

// Zone returns the installation's zone, in which DATETIME columns are to be read.
func (p *Pool) Zone() *time.Location { return p.zone }

// String says where the database is, without its password. Of several servers it names the one that serves.
func (p *Pool) String() string {
	if p.connector == nil {
		return p.describe
	}
	text := p.describe + " at " + p.connector.address()
	if n := len(p.connector.hosts); n > 1 {
		text += fmt.Sprintf(" (one of %d)", n)
	}
	return text
}

// Product is the name and the version of the database, such as "MariaDB 11.4.2".
func (p *Pool) Product() string { return p.product }

// errDistanceChanged means that nobody can say which ids an INSERT made. The transaction is tried again.
var errDistanceChanged = errors.New("the distance between ids has just been changed")

// distance is that between the ids of the rows of one INSERT, as it was seen last.
type distance struct {
	mu      sync.Mutex
	now     int64
	changes int // how often it was seen to have changed
}

// seen is how often it had changed before an INSERT.
func (d *distance) seen() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// see notes what it is after the INSERT, and reports whether it was that all the time, by what anybody of this process has seen since.
func (d *distance) see(now int64, seen int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now != now {
		d.now, d.changes = now, d.changes+1
	}
	return d.changes == seen
}

// Numbered has an INSERT of rows made, which gives the id of the first of them, and gives all their ids.
//
// The others are apart from it by a distance that is a setting of the session: 1 except on clusters whose nodes share out the ids. A session
// says it when it is opened, and it is asked for no more as long as all of the pool said the same. Galera sets it anew for every statement, to
// the number of nodes that are there: it must be asked for each time there, and where anybody has seen another one since before the INSERT, it
// may have been either, and the error is transient.
func (p *Pool) Numbered(ctx context.Context, tx DBTX, rows int, insert func() (first int64, err error)) (ids []int64, err error) {
	seen := p.distance.seen()
	first, err := insert()
	if err != nil {
		return nil, err
	}
	apart := int64(1)
	if rows > 1 {
		if apart, err = p.apart(ctx, tx, seen); err != nil {
			return nil, err
		}
	}
	ids = make([]int64, rows)
	for i := range ids {
		ids[i] = first + int64(i)*apart
	}
	return ids, nil
}

func (p *Pool) apart(ctx context.Context, tx DBTX, seen int) (distance int64, err error) {
	if p.dialect == SQLite {
		return 1, nil
	}
	if distance = p.sessions.distance(); distance > 0 && !p.galera {
		return distance, nil
	}
	if err := tx.QueryRowContext(ctx, "SELECT @@auto_increment_increment").Scan(&distance); err != nil {
		return 0, fmt.Errorf("read the distance between ids: %w", err)
	}
	if !p.distance.see(distance, seen) && p.galera {
		return 0, errDistanceChanged
	}
	return distance, nil
}

// Lags reports whether what another admin has committed may not be seen here for a moment; see [Pool.CatchUp].
func (p *Pool) Lags() bool { return p.galera }

// CatchUp waits until this node of a Galera cluster shows all that had been committed on any node when it was called. A
// transaction that begins afterwards sees it.
func (p *Pool) CatchUp(ctx context.Context) error {
	conn, err := p.Conn(ctx)
	if err != nil {
		return fmt.Errorf("catch up with the cluster: %w", err)
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, "SET SESSION wsrep_sync_wait = 1")
	if err == nil {
		_, err = conn.ExecContext(ctx, "SELECT 1 FROM xxl_job_lock LIMIT 1")
	}
	if _, reset := conn.ExecContext(ctx, "SET SESSION wsrep_sync_wait = DEFAULT"); reset != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // every read on it would wait: it is not used again
	}
	if err != nil {
		return fmt.Errorf("catch up with the cluster: %w", err)
	}
	return nil
}

// Wall turns an instant into what a DATETIME column holds: the zone's wall clock, labelled UTC and without a fraction,
// because MySQL would round it into the next second.
func (p *Pool) Wall(t time.Time) time.Time {
	t = t.In(p.zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// WallRange gives the first and the last that a DATETIME column holds of a range; an end that is the zero time stays it. Twice says that an end is in an
// hour that comes twice: the columns of runs outside of the range may lie between, too.
func (p *Pool) WallRange(since, until time.Time) (from, to time.Time, twice bool) {
	since, until = since.In(p.zone), until.In(p.zone)
	if !since.IsZero() {
		from = p.Wall(since)
		if first, second := cron.Passes(since); !first.Equal(second) {
			twice = true
			if _, end := since.ZoneBounds(); since.Equal(first) {
				from = p.Wall(end) // with which the second pass begins
			}
		}
	}
	if !until.IsZero() {
		to = p.Wall(until)
		if first, second := cron.Passes(until); !first.Equal(second) {
			twice = true
			if start, _ := until.ZoneBounds(); until.Equal(second) {
				to = p.Wall(start.Add(-time.Second)) // with which the first ends
			}
		}
	}
	return from, to, twice
}

// FromWall turns what a DATETIME column holds back into an instant. A time that clocks leap over, as a midnight in Santiago, is as much later; MySQL's
// 0000-00-00, which reads as the zero time, stays none.
func (p *Pool) FromWall(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	at := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), p.zone)
	if missing := t.Truncate(time.Second).Sub(p.Wall(at)); missing > 0 {
		at = at.Add(missing)
	}
	return at
}

// InstantOf is [Pool.FromWall] of a column that may say nothing; zero then.
func (p *Pool) InstantOf(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return p.FromWall(t.Time)
}

// Close closes the connections and gives the data directory back.
func (p *Pool) Close() error {
	err := p.DB.Close()
	if p.release != nil {
		err = errors.Join(err, p.release())
	}
	return err
}

// A transaction is tried this often; waits grow from the first to the last.
const (
	txTries    = 6
	txMinPause = 4 * time.Millisecond
	txMaxPause = 250 * time.Millisecond
	txTriesFor = 15 * time.Second // no try begins after that: so long takes a row that stays locked, or a server that does not answer
)

// Tx runs do in a transaction and commits it. It starts again, with do called anew, when the database undid the
// transaction for reasons that pass (a deadlock, a conflict with another node, a connection lost before the commit). A row
// that stayed locked is not such a reason: the wait of lockWait seconds has been the try, and what to do instead is the
// caller's to decide; see [IsLocked] and [Patient]. The transaction is rolled back then, of which MySQL does only the last statement by
// itself.
// Whatever do changes outside the database must therefore be set, not added to. An error of the commit itself is tried again
// only if the database said that it rolled back; after a connection lost in the commit nobody knows, and the error is an [ErrUnconfirmed].
// Whose context has ended gets that for an error, and nothing is committed.
// Where the context carries a transaction ([Pool.Together]), do is part of that one, and called once.
func (p *Pool) Tx(ctx context.Context, do func(*sql.Tx) error) error {
	if t := p.in(ctx); t != nil {
		return Error(do(t.tx))
	}
	return p.tries(ctx, func() (again bool, err error) { return p.tryTx(ctx, nil, do) })
}

// One is [Pool.Tx] for a single statement, which the database commits by itself: one round trip in place of three. After a connection that
// was lost nobody knows whether it was carried out, and the error is returned.
func (p *Pool) One(ctx context.Context, do func(DBTX) error) error {
	if t := p.in(ctx); t != nil {
		return Error(do(t.tx))
	}
	return p.tries(ctx, func() (again bool, err error) {
		err = do(p.DB)
		return IsTransient(err) && !IsLocked(err), err
	})
}

type patientKey struct{}

// Patient is the context of somebody who can wait: a change that meets a locked row is tried again too, for some 14 seconds in all. Of
// many people who change one thing at once each gets an answer about the thing then.
func Patient(ctx context.Context) context.Context { return context.WithValue(ctx, patientKey{}, true) }

func patient(ctx context.Context) bool { return ctx.Value(patientKey{}) != nil }

// tries has something tried until it succeeds, fails for good, or has been tried often.
func (p *Pool) tries(ctx context.Context, once func() (again bool, err error)) error {
	began := time.Now()
	for try := 1; ; try++ {
		again, err := once()
		if err == nil {
			return nil
		}
		if !again && !(IsLocked(err) && patient(ctx)) || try == txTries || ctx.Err() != nil || time.Since(began) > txTriesFor || !pause(ctx, try) {
			return left(ctx, Error(err))
		}
	}
}

func (p *Pool) tryTx(ctx context.Context, opts *sql.TxOptions, do func(*sql.Tx) error) (again bool, err error) {
	tx, err := p.BeginTx(ctx, opts)
	if err != nil {
		return retryable(err), err
	}
	// Also when do panics. After a commit it does nothing.
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return retryable(err) && !IsLocked(err), err
	}
	err = tx.Commit()
	if err == nil || IsTransient(err) {
		return err != nil, err
	}
	// Whose context ends before, or in a statement, has it rolled back: no commit was sent.
	if gone := ctx.Err(); gone != nil && (errors.Is(err, sql.ErrTxDone) || errors.Is(err, gone)) {
		return false, err
	}
	return false, &classified{ErrUnconfirmed, err}
}

// left says of what failed because whoever asked has left that they have: a driver has words of its own for it, such as a bad connection.
func left(ctx context.Context, err error) error {
	gone := ctx.Err()
	if gone == nil || errors.Is(err, gone) || errors.Is(err, ErrUnconfirmed) {
		return err
	}
	return &classified{gone, err}
}

// retryable adds to the transient errors a connection that was lost: without a commit nothing has happened.
func retryable(err error) bool {
	return IsTransient(err) || errors.Is(err, driver.ErrBadConn) || isLostConn(err)
}

// pause waits before another try, with jitter so that those who collided do not collide again.
func pause(ctx context.Context, try int) bool {
	d := min(txMinPause<<try, txMaxPause)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
