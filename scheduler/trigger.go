package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What callers of the engine branch on.
var (
	ErrJobNotFound   = errors.New("the job does not exist")
	ErrNoGroup       = errors.New("the job's executor group does not exist")
	ErrRunNotFound   = errors.New("the run does not exist")
	ErrRunNotRunning = errors.New("the run is not running")
)

// ExecutorError is a call to an executor that failed, or that the executor refused.
type ExecutorError struct {
	Address string
	Err     error
	Kept    bool // it is asked again until it answers
}

func (e *ExecutorError) Error() string { return fmt.Sprintf("executor %s: %v", e.Address, e.Err) }

// Unwrap gives the cause.
func (e *ExecutorError) Unwrap() error { return e.Err }

// TriggerRequest asks for runs of a job outside its schedule.
type TriggerRequest struct {
	JobID     int64
	Type      jobspec.TriggerType // TriggerManual, TriggerAPI or TriggerTrial, whose text Within inserts
	Param     *string             // nil: the job's own; an empty text is an empty parameter (docs/compat.md §4.6)
	Addresses []string            // nil: the group's. The caller has checked that they may be called.
	Planned   time.Time           // the time of the schedule that the runs are for; zero: now
	User      string              // who asked, for the run's message
	Backfill  int64               // the backfill that the runs belong to; 0: none
	Beside    int                 // with Backfill: how many of its planned times are under way

	// Within is done in the transaction that inserts the runs, with their ids; nil: nothing.
	Within func(ctx context.Context, tx *sql.Tx, ids []int64) error
}

// Trigger runs a job now, whether it is started or not. It returns the ids of the runs, one or for a broadcast several,
// when their rows are committed and sending has begun. The errors are [ErrJobNotFound] and [ErrNoGroup], or the database's.
func (e *Engine) Trigger(ctx context.Context, r TriggerRequest) ([]int64, error) {
	row, err := e.queries.GetJob(ctx, e.cfg.Pool, r.JobID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil, ErrJobNotFound
	} else if err != nil {
		return nil, err
	}
	j := jobOf(&row, e.cfg.Pool)
	if r.Type == jobspec.TriggerTrial {
		j = j.trialOf()
	}
	if r.Backfill != 0 {
		if _, held := e.pauses.current.Load().Of(j.id, j.group, string(row.Tags)).At(e.now()); held {
			return nil, backfill.ErrHeld
		}
		if room, err := e.hasRoom(ctx, j, r.Beside); err != nil || !room {
			return nil, cmp.Or(db.Error(err), backfill.ErrHeld)
		}
	}
	if e.directory.get(j.group) == nil {
		if err := e.directory.reload(ctx); err != nil {
			return nil, err
		}
		if e.directory.get(j.group) == nil {
			return nil, ErrNoGroup
		}
	}
	if e.draining.Load() || e.node.ID() == 0 {
		return nil, e.notNow()
	}
	param := j.param
	if r.Param != nil {
		param = *r.Param
	}
	runs, err := e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		runs := e.newRuns(j, cause{
			trigger: r.Type, planned: e.now().Truncate(time.Millisecond), due: r.Planned, param: param, retries: j.retries, given: r.Addresses, user: r.User,
		})
		if r.Backfill != 0 {
			for _, d := range runs {
				d.events = append(d.events, event.New(e.now(), event.Backfilled, r.Backfill))
			}
		}
		err := e.insert(ctx, tx, runs)
		if err == nil && r.Within != nil {
			err = r.Within(ctx, tx, runIDs(runs))
		}
		return runs, err
	})
	if err != nil {
		return nil, err
	}
	ids := runIDs(runs)
	e.hub.changed(ids...)
	return ids, nil
}

func runIDs(runs []*dispatch) []int64 {
	ids := make([]int64, len(runs))
	for i, d := range runs {
		ids[i] = d.id
	}
	return ids
}
