package scheduler

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// Beside XXL-JOB admins that are meant to work (db/beside.go) none of this is looked for: their jobs are theirs.
//
// An XXL-JOB admin that works on the same database makes runs of its own for every job, and at the end of each of its passes writes
// the jobs' times back to what they were at its beginning. What Punctual has claimed it does not claim again for that
// (xxl_job_info.claimed_until), but what the other one sends is sent beside it. So it is said, loudly, until it stops.

const (
	// foreignFor is for how long a sign of another scheduler counts as one of now.
	foreignFor = 10 * time.Minute
	// foreignLog is how often it is logged at most.
	foreignLog = time.Minute
)

// The signs of another scheduler.
const (
	signRun     = "run"      // a run that nobody of ours made
	signPutBack = "put back" // a job is to fire again what was claimed already
)

// foreign is what is known of another scheduler on this database.
type foreign struct {
	mu     sync.Mutex
	seen   time.Time // by the monotonic clock, as all of these; zero: never
	logged time.Time
}

// noteForeign notes signs of another scheduler.
func (e *Engine) noteForeign(sign string, n int, key string, id int64) {
	e.metrics.foreign.WithLabelValues(sign).Add(float64(n))
	if e.beside() { // somebody has edited a job of ours there
		return
	}
	e.foreign.mu.Lock()
	defer e.foreign.mu.Unlock()
	now := time.Now()
	e.foreign.seen = now
	if e.foreign.logged.IsZero() || now.Sub(e.foreign.logged) >= foreignLog {
		e.foreign.logged = now
		e.log.Error("another scheduler works on this database: jobs are run by both. Stop the XXL-JOB admin", "sign", sign, key, id)
	}
}

// foreignSeen reports whether there has been another scheduler lately.
func (e *Engine) foreignSeen() bool {
	e.foreign.mu.Lock()
	defer e.foreign.mu.Unlock()
	return !e.foreign.seen.IsZero() && time.Since(e.foreign.seen) < foreignFor
}

// putBack notes jobs whose next time lies before what is claimed: nobody of ours writes that. One without a time was started by hand (decide).
func (e *Engine) putBack(rows []db.ListDueJobsRow) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r db.ListDueJobsRow) bool { return r.TriggerNextTime <= 0 })
	if len(rows) > 0 {
		e.noteForeign(signPutBack, len(rows), "job_id", rows[0].ID)
	}
}

// sweepForeign looks for runs that another scheduler has made since this admin started. On the embedded database there is none.
func (e *Engine) sweepForeign(ctx context.Context, s *sweeper) error {
	if e.cfg.Pool.Dialect() == db.SQLite || e.beside() {
		return nil
	}
	top, err := e.queries.MaxRunID(ctx, e.cfg.Pool)
	if err != nil {
		return err
	}
	if s.foreign == 0 {
		s.foreign = max(top, 1)
		return nil
	}
	found, err := e.queries.LastForeignRun(ctx, e.cfg.Pool, s.foreign)
	if err != nil {
		return err
	}
	s.foreign = max(s.foreign, top, found.ID) // which may have come after top was read
	if found.ID > 0 {
		e.noteForeign(signRun, 1, "log_id", found.ID)
	}
	return nil
}

// beside reports whether Punctual works beside XXL-JOB admins (db/beside.go).
func (e *Engine) beside() bool { return e.cfg.Pool.Beside() }

// leaves reports whether a run is one of the XXL-JOB admins beside which Punctual works. What follows from its failure is theirs to
// do, whoever took the result: their monitor looks for failures with alarm_status 0. The children of a success they start themselves
// only with a result that they took, so here they are started with one that we did.
//
// Runs of ours end with another alarm_status in the statement that makes them failures, so that the monitor never sees them.
func leaves(pool *db.Pool, r *db.ListRunsToEndRow) bool { return pool.Beside() && r.PlannedAt == 0 }

const (
	// An XXL-JOB admin gives runs up after ten minutes whose executor's address is not in the registry, as those that were listed
	// by hand never are, and forgets registrations after 90 s.
	vouchAfter = 5 * time.Minute
	vouchEvery = 30 * time.Second
	// vouchGroup is the kind of registration that neither they nor we take for an executor.
	vouchGroup = "PUNCTUAL"
)

// sentTo notes the executors at which runs of ours are open, and since when the oldest of each is.
func (s *sweeper) sentTo(r *db.ListOpenRunsRow) {
	if r.PlannedAt == 0 || r.TriggerCode != wire.CodeSuccess || r.ExecutorAddress == "" {
		return
	}
	if at, known := s.since[string(r.ExecutorAddress)]; !known || r.TriggerTime.Time.Before(at) {
		s.since[string(r.ExecutorAddress)] = r.TriggerTime.Time
	}
}

// vouch keeps the XXL-JOB admins from giving up runs of ours: the executors that have had one for long, as the last sweep found, stand in
// the registry. Whether they live is ours to find out (lost.go).
func (e *Engine) vouch(ctx context.Context, s *sweeper, now time.Time) error {
	if !e.beside() || now.Sub(s.vouched) < vouchEvery {
		return nil
	}
	before := e.wall(now.Add(-vouchAfter))
	for _, address := range slices.Sorted(maps.Keys(s.since)) {
		if s.since[address].After(before) {
			continue
		}
		at, value := nullTime(e.wall(now)), address
		n, err := e.queries.TouchRegistry(ctx, e.cfg.Pool, db.TouchRegistryParams{UpdateTime: at, RegistryGroup: vouchGroup, RegistryKey: "open", RegistryValue: value})
		if err == nil && n == 0 {
			err = e.queries.InsertRegistry(ctx, e.cfg.Pool, db.InsertRegistryParams{RegistryGroup: vouchGroup, RegistryKey: "open", RegistryValue: value, UpdateTime: at})
		}
		if err != nil {
			return err
		}
	}
	s.vouched = now
	return nil
}
