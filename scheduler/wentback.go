package scheduler

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A database can go back: a replica that had not copied the last seconds takes the place of its source, a file system's snapshot that of
// the file. What had been committed is no more, and what was sent has been sent all the same. The database would have it made once more,
// and give new runs the numbers of those that it has forgotten, for whose results they would be taken. An admin that has lived through it
// remembers both: the highest number it has seen (pendingSet.top), and what it claimed lately.

const (
	// rememberFor is for how long claims are remembered at least, unless there are more than rememberMost.
	rememberFor  = 5 * time.Minute
	rememberMost = 50_000
	// changedLately is how long before a claim a change of the job's schedule counts as one after it: admins go by one clock, nearly.
	changedLately = 10 * time.Second
)

// memory is up to when the jobs have been claimed lately, by this admin.
type memory struct {
	gone atomic.Bool // the database has gone back, and not all has been looked at again

	mu     sync.Mutex
	newer  map[int64]claimed // by job
	older  map[int64]claimed
	turned time.Time // when newer was begun
}

type claimed struct{ until, at int64 } // as claimed_until, and when; epoch ms

// note remembers claims that have been committed.
func (m *memory) note(now time.Time, advances []db.Advance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.newer == nil || now.Sub(m.turned).Abs() > rememberFor || len(m.newer) > rememberMost {
		m.newer, m.older, m.turned = make(map[int64]claimed), m.newer, now
	}
	for i := range advances {
		if a := &advances[i]; a.Claimed > a.OldClaimed {
			m.newer[a.ID] = claimed{a.Claimed, now.UnixMilli()}
		}
	}
}

// beyond are the jobs that have been claimed further than the database says, and not further than until.
func (m *memory) beyond(rows []db.ListDueJobsRow, until time.Time) map[int64]claimed {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found map[int64]claimed
	for i := range rows {
		id := rows[i].ID
		c, known := m.newer[id]
		if !known {
			c, known = m.older[id]
		}
		if !known || c.until <= rows[i].ClaimedUntil || c.until > until.UnixMilli()+1 {
			continue
		}
		if rows[i].ClaimedUntil == 0 && rows[i].ScheduleType == jobspec.ScheduleFixDelay { // its run may have been ended before it was due
			continue
		}
		if found == nil {
			found = make(map[int64]claimed)
		}
		found[id] = c
	}
	return found
}

// forgotten is up to when due jobs have been claimed, where the database does not know it any more: nobody has changed the job since.
func (e *Engine) forgotten(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) (map[int64]int64, error) {
	if e.cfg.Pool.Lags() { // a node may not know it yet; a cluster does not forget it
		return nil, nil
	}
	beyond := e.memory.beyond(rows, until)
	if len(beyond) == 0 {
		return nil, nil
	}
	history, err := e.queries.ListCurrentSchedules(ctx, e.cfg.Pool, slices.Collect(maps.Keys(beyond)))
	if err != nil {
		return nil, err
	}
	found := make(map[int64]int64, len(history))
	for i := range history {
		h := &history[i]
		if c := beyond[h.JobID]; h.MadeAt < c.at-changedLately.Milliseconds() {
			found[h.JobID] = c.until
		}
	}
	return found, nil
}

// withheld are the fires of a job that are not made again, where claimed_until is what this admin remembers; nil: none.
func withheld(s jobspec.Schedule, r *db.ListDueJobsRow) (*jobspec.Passed, error) {
	if r.TriggerNextTime <= 0 { // see decide
		return nil, nil
	}
	passed, err := s.Passed(db.Undecided(r.TriggerNextTime, r.PausedAt, r.PausedNext), time.UnixMilli(r.ClaimedUntil))
	if err != nil || passed.Count == 0 {
		return nil, err
	}
	return &passed, nil
}

// wentBack notes that the database has gone back, and by what it shows.
func (e *Engine) wentBack(sign ...any) {
	e.memory.gone.Store(true)
	e.metrics.wentBack.Inc()
	e.log.Error("the database has gone back to an older state: it has lost runs that were sent, which are not made again, nor are their numbers given again", sign...)
}

// insertRows inserts runs, and gives them numbers that no run had that this admin has seen.
func (e *Engine) insertRows(ctx context.Context, tx db.DBTX, rows []db.NewRun) (ids []int64, err error) {
	known := e.pending.highest()
	ids, err = db.InsertAllRuns(ctx, e.cfg.Pool, tx, rows)
	if err != nil || ids[0] > known || e.cfg.Pool.Lags() { // whose nodes share out the numbers, so that the next is not always higher
		return ids, err
	}
	e.wentBack("log_id", ids[0], "known", known)
	if err := db.SkipNumbers(ctx, tx, ids, known); err != nil {
		return nil, err
	}
	return db.InsertAllRuns(ctx, e.cfg.Pool, tx, rows)
}
