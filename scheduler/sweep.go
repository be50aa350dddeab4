package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// sweeper remembers between sweeps what need not be looked at again.
type sweeper struct {
	low     int64               // no run below this id is running or will be
	top     int64               // the highest id at the last sweep
	silent  map[string]struct{} // addresses that did not answer in the last sweep
	forgot  time.Time           // when the routes' memory was dropped
	cleaned time.Time           // when dead registrations were deleted
	waited  time.Time           // when jobs that wait for a run were looked after
	strays  strays
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
		if !e.node.mayAct() {
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
	if now.Sub(s.cleaned) > time.Minute {
		s.cleaned = now
		// Kept well past their death, so that a page can say since when an executor is away.
		if _, err := e.queries.DeleteRegistryBefore(ctx, e.cfg.Pool, nullTime(e.wall(now.Add(-24*time.Hour)))); err != nil {
			return err
		}
	}
	if err := e.sweepStrays(ctx, &s.strays); err != nil {
		return err
	}
	if err := e.sweepLost(ctx, s); err != nil {
		return err
	}
	if err := e.sweepGates(ctx); err != nil {
		return err
	}
	if now.Sub(s.waited) < 30*time.Second {
		return nil
	}
	s.waited = now
	return e.sweepWaiting(ctx, s.low)
}

// sweepLost ends the runs whose executor neither renews its registration nor answers, twice in a row. An executor that
// answers is believed to be at work, registered or not: upstream declares runs on addresses that were listed by hand lost
// after ten minutes whatever they do (spec §8.3 #31).
func (e *Engine) sweepLost(ctx context.Context, s *sweeper) error {
	top, err := e.queries.MaxRunID(ctx, e.cfg.Pool)
	if err != nil {
		return err
	}
	// Not the top of now: a lower id may be in a transaction that is not committed yet.
	lowest := s.top
	suspects := make(map[string][]db.ListOpenRunsRow)
	for after := s.low - 1; ; {
		rows, err := e.queries.ListOpenRuns(ctx, e.cfg.Pool, db.ListOpenRunsParams{AfterID: after, Limit: 1000})
		if err != nil {
			return err
		}
		for _, r := range rows {
			lowest = min(lowest, r.ID)
			if r.TriggerCode == wire.CodeSuccess && r.ExecutorAddress != "" && e.now().Sub(e.startOf(&r)) > e.cfg.LostAfter && !e.directory.alive(r.JobGroup, string(r.ExecutorAddress)) {
				suspects[string(r.ExecutorAddress)] = append(suspects[string(r.ExecutorAddress)], r)
			}
		}
		if len(rows) < 1000 {
			break
		}
		after = rows[len(rows)-1].ID
	}
	s.low, s.top = lowest, top
	if len(suspects) == 0 {
		s.silent = nil
		return nil
	}
	silent := e.silentOf(ctx, suspects)
	for a := range silent {
		if _, before := s.silent[a]; before {
			e.giveUp(ctx, a, suspects[a])
		}
	}
	s.silent = silent
	return nil
}

// silentOf beats the addresses, several at once, and gives those that do not answer.
func (e *Engine) silentOf(ctx context.Context, suspects map[string][]db.ListOpenRunsRow) map[string]struct{} {
	var mu sync.Mutex
	silent := make(map[string]struct{})
	var beats errgroup.Group
	beats.SetLimit(16)
	for a, runs := range suspects {
		beats.Go(func() error {
			call, cancel := context.WithTimeout(ctx, e.cfg.CallTimeout)
			defer cancel()
			// Any answer of the protocol, a refusal too, is a sign of life.
			if _, err := e.cfg.Executors.Beat(call, e.target(runs[0].JobGroup, a)); err != nil && ctx.Err() == nil {
				mu.Lock()
				silent[a] = struct{}{}
				mu.Unlock()
			}
			return nil
		})
	}
	_ = beats.Wait() // the functions return no error
	return silent
}

func (e *Engine) giveUp(ctx context.Context, address string, runs []db.ListOpenRunsRow) {
	items := make([]finishing, len(runs))
	for i, r := range runs {
		items[i] = finishing{id: r.ID, code: wire.CodeFail,
			msg: fmt.Sprintf("result lost: executor %s is not registered and does not answer", address)}
	}
	e.log.Warn("runs lost with their executor", "executor", address, "runs", len(runs))
	e.metrics.lost.Add(float64(len(runs)))
	if err := e.complete(ctx, items); err != nil {
		e.log.Warn("record lost runs", "error", err)
	}
}

// startOf is when a run was sent, as well as its row can tell.
func (e *Engine) startOf(r *db.ListOpenRunsRow) time.Time {
	switch {
	case r.SentAt > 0:
		return time.UnixMilli(r.SentAt)
	case r.TriggerTime.Valid:
		return e.cfg.Pool.FromWall(r.TriggerTime.Time)
	}
	return time.Time{}
}

// alive reports whether an address of a group renews its registration.
func (d *directory) alive(groupID int64, address string) bool {
	g := d.get(groupID)
	if g == nil {
		return false
	}
	_, ok := g.beats[address]
	return ok
}
