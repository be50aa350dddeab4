package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
)

// errRowLocked means that somebody else holds the row of one of the jobs.
var errRowLocked = errors.New("the row of a due job is locked")

// claimTries is how often a batch is tried again without the jobs that somebody else moved meanwhile. What is left then waits
// for the next read.
const claimTries = 4

// claim decides a batch of due jobs and commits the decisions: the jobs' next times, guarded by the old ones, and the runs,
// in one transaction. Jobs that somebody else moved (another node, or an operator) or has locked are left out, and the rest
// is claimed all the same. When the database refuses what one of them makes, halves are tried, so that it is alone at last.
func (e *Engine) claim(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) error {
	for try := 1; len(rows) > 0; try++ {
		began := time.Now()
		forgotten, err := e.forgotten(ctx, rows, until)
		if err != nil {
			return err
		}
		err = e.claimBatch(ctx, rows, until, forgotten)
		e.metrics.claimSeconds.Observe(time.Since(began).Seconds())
		switch {
		case err == nil:
			e.claimer.took(time.Since(began))
			return nil
		case errors.Is(err, errRaced):
			before := len(rows)
			if rows, err = e.unmoved(ctx, rows); err != nil {
				return err
			}
			// Whoever moved the others has them; the next read shows the truth.
			e.metrics.claims.WithLabelValues("conflict").Add(float64(max(1, before-len(rows))))
			if try == claimTries {
				return nil
			}
		case errors.Is(err, errPausesChanged):
			if err := e.pauses.look(ctx); err != nil {
				return err
			}
			if try == claimTries {
				return nil
			}
		case errors.Is(err, errRowLocked):
			if rows, err = e.unlocked(ctx, rows, until); err != nil {
				return err
			}
			if try == claimTries {
				e.claimer.leave(rows)
				return nil
			}
		case ctx.Err() != nil, db.IsUnavailable(err), db.IsTransient(err):
			return err
		case len(rows) > 1:
			return e.claimHalves(ctx, rows, until)
		default:
			e.metrics.claims.WithLabelValues("refused").Inc()
			e.log.Error("a due job cannot be claimed", "job_id", rows[0].ID, "error", err)
			return nil
		}
	}
	return nil
}

func (e *Engine) claimHalves(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) error {
	half := len(rows) / 2
	return errors.Join(e.claim(ctx, rows[:half], until), e.claim(ctx, rows[half:], until))
}

// unmoved leaves out the jobs that are no longer as they were read.
func (e *Engine) unmoved(ctx context.Context, rows []db.ListDueJobsRow) ([]db.ListDueJobsRow, error) {
	times, err := e.queries.ListJobTimes(ctx, e.cfg.Pool, jobIDs(rows))
	if err != nil {
		return nil, err
	}
	now := make(map[int64]*db.ListJobTimesRow, len(times))
	for i := range times {
		now[times[i].ID] = &times[i]
	}
	left := make([]db.ListDueJobsRow, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if t := now[r.ID]; t != nil && t.TriggerStatus > e.cfg.Pool.BesideArg() && t.TriggerNextTime == r.TriggerNextTime && t.ClaimedUntil == r.ClaimedUntil {
			left = append(left, *r)
		}
	}
	return left, nil
}

// unlocked leaves out the jobs whose rows somebody has locked, for a while. Where the database cannot say which they are, halves
// are claimed instead, each of which waits for its locked rows again: nothing is left to the caller then.
func (e *Engine) unlocked(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) ([]db.ListDueJobsRow, error) {
	free := make(map[int64]bool, len(rows))
	err := db.ErrUnsupported
	if len(rows) > 1 {
		err = e.findFree(ctx, rows, free)
	}
	switch {
	case len(rows) == 1:
	case errors.Is(err, db.ErrUnsupported):
		return nil, e.claimHalves(ctx, rows, until)
	case err != nil:
		return nil, err
	}
	left := make([]db.ListDueJobsRow, 0, len(rows))
	var locked []db.ListDueJobsRow
	for _, r := range rows {
		if free[r.ID] {
			left = append(left, r)
		} else {
			locked = append(locked, r)
		}
	}
	e.claimer.leave(locked)
	if len(locked) > 0 {
		e.metrics.claims.WithLabelValues("locked").Add(float64(len(locked)))
		e.log.Warn("jobs are left out for a while: somebody has locked their rows", "job_id", locked[0].ID, "jobs", len(locked))
	}
	return left, nil
}

// findFree notes which of the jobs nobody has locked.
func (e *Engine) findFree(ctx context.Context, rows []db.ListDueJobsRow, free map[int64]bool) error {
	tx, err := e.cfg.Pool.BeginTx(ctx, nil)
	if err != nil {
		return db.Error(err)
	}
	defer tx.Rollback()
	ids, err := e.queries.LockFreeJobs(ctx, tx, jobIDs(rows))
	for _, id := range ids {
		free[id] = true
	}
	return db.Error(err)
}

func jobIDs(rows []db.ListDueJobsRow) []int64 {
	return db.IDs(rows, func(r *db.ListDueJobsRow) int64 { return r.ID })
}
