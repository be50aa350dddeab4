package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/tick"
)

// sweeper remembers between sweeps what need not be looked at again.
type sweeper struct {
	low     int64               // no run below this id is running or will be
	open    []int64             // the runs up to known that were open at the last sweep, in their order
	known   int64               // the highest id when marked was set before
	next    int64               // and when it was set
	marked  time.Time           // committedIn ago at most
	walked  time.Time           // when all from low on were looked at
	watch   map[int64]watched   // runs of which their executor shows no sign
	logged  map[int64]time.Time // runs of which an idle executor has a log, and until when it is not asked again
	planned map[int64]time.Time // of the runs of this sweep
	theirs  map[int64]bool      // those of them that an XXL-JOB admin made
	turn    int                 // where asking goes on when there is too much for one sweep
	forgot  time.Time           // when the routes' memory was dropped
	cleaned time.Time           // when dead registrations were deleted
	waited  time.Time           // when jobs that wait for a run were looked after
	inDoubt inDoubt
	since   map[string]time.Time // beside XXL-JOB admins: since when an executor has had a run of ours, as they write it
	vouched time.Time            // when the executors of long runs were vouched for
	foreign int64                // no run above this id was looked at for who made it
}

// sweepLoop catches what events miss, as results that will never come because their executor is gone, and mends what a crash leaves.
func (e *Engine) sweepLoop(ctx context.Context) {
	s := &sweeper{forgot: e.now()}
	for range tick.Every(ctx, e.cfg.SweepEvery) {
		if !e.node.MayAct() {
			e.measured.setRunning(nil) // others look after its jobs
			continue
		}
		if err := e.sweep(ctx, s); err != nil && ctx.Err() == nil {
			e.log.Warn("sweep", "error", err)
		}
	}
}

// sweep does what there is to do now. What one part cannot do keeps none of the others from it, unless the database is away.
func (e *Engine) sweep(ctx context.Context, s *sweeper) (err error) {
	now := e.now()
	if now.Sub(s.forgot) > 24*time.Hour {
		e.routes.Forget()
		s.forgot = now
	}
	for _, part := range []func() error{
		func() error { return e.tellSilent(ctx, now) },
		func() error { return e.deleteOld(ctx, s, now) },
		func() error { return e.sweepInDoubt(ctx, &s.inDoubt) },
		func() error { return e.sweepForeign(ctx, s) },
		func() error { return e.refusals.sweep(ctx) }, // before runs are lost for it
		func() error { e.sweepBeats(ctx); return nil },
		func() error { return e.sweepLost(ctx, s) },
		func() error { return e.vouch(ctx, s, now) },
		func() error { return e.sweepGates(ctx) },
		func() error { return e.flows.sweep(ctx) },
		func() error { return e.sweepWaiting(ctx, s, now) },
	} {
		failed := part()
		if err = errors.Join(err, failed); !goesOn(ctx, failed) {
			return err
		}
	}
	return err
}

// goesOn reports whether there is a point in doing the next thing after one that failed.
func goesOn(ctx context.Context, err error) bool { return ctx.Err() == nil && !db.IsUnavailable(err) }

// deleteOld deletes now and then what nobody asks for any more.
func (e *Engine) deleteOld(ctx context.Context, s *sweeper, now time.Time) error {
	if now.Sub(s.cleaned) <= time.Minute {
		return nil
	}
	s.cleaned = now
	// Kept well past their death, so that a page can say since when an executor is away.
	if _, err := e.queries.DeleteRegistryBefore(ctx, e.cfg.Pool, nullTime(e.wall(now.Add(-24*time.Hour)))); err != nil {
		return err
	}
	if _, err := e.queries.DeleteCallbacksBefore(ctx, e.cfg.Pool, now.Add(-lateReports).UnixMilli()); err != nil {
		return err
	}
	_, err := e.queries.DeleteFollowedBefore(ctx, e.cfg.Pool, now.Add(-followedFor).UnixMilli())
	return err
}
