package scheduler

import (
	"context"
	"time"
)

// sweeper remembers between sweeps what need not be looked at again.
type sweeper struct {
	low     int64               // no run below this id is running or will be
	top     int64               // the highest id at the last sweep
	watch   map[int64]watched   // runs of which their executor shows no sign
	logged  map[int64]time.Time // runs of which an idle executor has a log, and until when it is not asked again
	planned map[int64]time.Time // of the runs of this sweep
	theirs  map[int64]bool      // those of them that an XXL-JOB admin made
	turn    int                 // where asking goes on when there is too much for one sweep
	forgot  time.Time           // when the routes' memory was dropped
	cleaned time.Time           // when dead registrations were deleted
	waited  time.Time           // when jobs that wait for a run were looked after
	inDoubt inDoubt
	vouched time.Time // when the executors of long runs were vouched for
	foreign int64     // no run above this id was looked at for who made it
}

// sweepLoop catches what events miss: results that will never come because their executor is gone, and registrations
// nobody renews.
func (e *Engine) sweepLoop(ctx context.Context) {
	s := &sweeper{forgot: e.now()}
	tick := time.NewTicker(e.cfg.SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !e.node.MayAct() {
			e.measured.setRunning(nil) // others look after its jobs
			continue
		}
		if err := e.sweep(ctx, s); err != nil && ctx.Err() == nil {
			e.log.Warn("sweep", "error", err)
		}
	}
}

func (e *Engine) sweep(ctx context.Context, s *sweeper) error {
	now := e.now()
	if now.Sub(s.forgot) > 24*time.Hour {
		e.routes.Forget()
		s.forgot = now
	}
	if err := e.tellSilent(ctx, now); err != nil {
		return err
	}
	if now.Sub(s.cleaned) > time.Minute {
		s.cleaned = now
		// Kept well past their death, so that a page can say since when an executor is away.
		if _, err := e.queries.DeleteRegistryBefore(ctx, e.cfg.Pool, nullTime(e.wall(now.Add(-24*time.Hour)))); err != nil {
			return err
		}
		if _, err := e.queries.DeleteCallbacksBefore(ctx, e.cfg.Pool, now.Add(-lateReports).UnixMilli()); err != nil {
			return err
		}
		if _, err := e.queries.DeleteFollowedBefore(ctx, e.cfg.Pool, now.Add(-followedFor).UnixMilli()); err != nil {
			return err
		}
	}
	if err := e.sweepInDoubt(ctx, &s.inDoubt); err != nil {
		return err
	}
	if err := e.sweepForeign(ctx, s); err != nil {
		return err
	}
	if err := e.vouch(ctx, s, now); err != nil {
		return err
	}
	if err := e.refusals.sweep(ctx); err != nil { // before runs are lost for it
		return err
	}
	e.sweepBeats(ctx)
	if err := e.sweepLost(ctx, s); err != nil {
		return err
	}
	if err := e.sweepGates(ctx); err != nil {
		return err
	}
	if err := e.flows.sweep(ctx); err != nil {
		return err
	}
	if now.Sub(s.waited) < 30*time.Second {
		return nil
	}
	s.waited = now
	return e.sweepWaiting(ctx, s.low)
}
