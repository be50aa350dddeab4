package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// begin hands in the run of a flow whose time has come.
func (e *Engine) begin(d *dispatch) {
	if err := e.beginner.add(e.work, d); err != nil {
		e.unrecorded.Add(1)
		e.log.Debug("run of a flow not begun", "log_id", d.id, "error", err)
	}
}

// beginFlows lets runs of flows begin. As recordBatch it does not give up while the database is away.
func (e *Engine) beginFlows(ctx context.Context, batch []*dispatch) {
	batch = slices.DeleteFunc(batch, func(d *dispatch) bool {
		if !e.maySend(d) {
			return true
		}
		if user, ok := e.pending.killed(d.id); ok {
			e.endKilled(d, user)
			return true
		}
		if e.endStale(d) {
			return true
		}
		e.noteLate(d, 0)
		return false
	})
	wait := 50 * time.Millisecond
	for tries := 1; len(batch) > 0; tries++ {
		try, cancel := context.WithTimeout(ctx, writeLimit)
		bad, err := e.flows.begin(try, batch)
		cancel()
		for d, why := range bad {
			batch = slices.DeleteFunc(batch, func(o *dispatch) bool { return o == d })
			e.fail(d, "", event.NotSent, event.New(e.now(), event.NoFlow, why))
		}
		if err == nil && len(bad) == 0 {
			break
		}
		if ctx.Err() != nil {
			e.unrecorded.Add(int64(len(batch)))
			return
		}
		if err == nil {
			continue
		}
		e.log.Warn("begin runs of flows", "error", err, "runs", len(batch))
		if tries >= 3 && !passes(err) {
			if len(batch) > 1 {
				for i := range batch {
					e.beginFlows(ctx, batch[i:i+1:i+1])
				}
				return
			}
			e.fail(batch[0], "", event.NotSent, event.New(e.now(), event.NoFlow, err))
			return
		}
		_ = upkeep.Rest(ctx, wait)
		wait = min(2*wait, 2*time.Second)
	}
	ids := make([]int64, len(batch))
	for i, d := range batch {
		ids[i] = d.id
		e.pending.done(d)
	}
	e.hub.changed(ids...)
}
