package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// WhenBusy is what a job does to runs where more come than may go on at a time, as far as one of them is lost by it.
type WhenBusy struct {
	AtOnce int  // how many of them may go on; 0: none is lost, however many come
	Covers bool // one more ends one that goes on; otherwise it is left out itself
}

// WhenBusy says how many runs of a job may go on at a time before it loses one. The planned times of a backfill are sent one by one within that, since
// each of them is meant to run. What comes meanwhile by the schedule, or by hand, is still for the job's own rule.
func (e *Engine) WhenBusy(row *db.Job) WhenBusy { return e.whenBusy(jobOf(row, e.cfg.Pool)) }

func (e *Engine) whenBusy(j *job) WhenBusy {
	covers := j.block == wire.BlockCoverEarly
	switch {
	case j.glue == jobspec.GlueFlow && (covers || j.policy == jobspec.ConcurrencyDiscard):
		return WhenBusy{j.limit, covers}
	case j.glue != jobspec.GlueFlow && (covers || j.block == wire.BlockDiscardLater): // each executor for itself, and which it will be is not known here
		return WhenBusy{1, covers}
	case j.policy != jobspec.ConcurrencyDiscard:
		return WhenBusy{}
	case j.limit > 0:
		return WhenBusy{AtOnce: j.limit}
	}
	return WhenBusy{AtOnce: e.groupLimit(j)}
}

// newestRuns is how many runs of a job are looked at for those that go on: of one that loses runs where several come, few do.
const newestRuns = 200

// hasRoom reports whether one more run of a job can begin now, of which so many are known to be under way, without that one is lost.
func (e *Engine) hasRoom(ctx context.Context, j *job, under int) (bool, error) {
	busy := e.whenBusy(j)
	if busy.AtOnce == 0 {
		return true, nil
	}
	if under >= busy.AtOnce {
		return false, nil
	}
	if j.policy == jobspec.ConcurrencyDiscard && e.groupLimit(j) > 0 {
		group, err := e.GroupSlots(ctx, j.group)
		if err != nil || group.Full() || group.Waiting > 0 {
			return false, err
		}
	}
	now := e.now().UnixMilli()
	rows, err := e.queries.ListRunTimesOfJob(ctx, e.cfg.Pool, db.ListRunTimesOfJobParams{JobID: j.id, BeforeID: math.MaxInt64, AllGroups: 1, Limit: newestRuns})
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		if r.HandleCode == 0 && (r.TriggerCode == 0 || r.TriggerCode == wire.CodeSuccess) && r.PlannedAt <= now {
			busy.AtOnce--
		}
	}
	return busy.AtOnce > 0, nil
}

// sendBackfill makes the runs of one planned time of a backfill.
func (e *Engine) sendBackfill(ctx context.Context, r backfill.Request) error {
	_, err := e.Trigger(ctx, TriggerRequest{
		JobID: r.Job, Type: jobspec.TriggerManual, Param: r.Param, Planned: r.Planned, User: r.User, Backfill: r.Backfill, Beside: r.Under, Within: r.Within,
	})
	if errors.Is(err, ErrJobNotFound) || errors.Is(err, ErrNoGroup) {
		return fmt.Errorf("%w: %w", backfill.ErrGone, err)
	}
	return err
}
