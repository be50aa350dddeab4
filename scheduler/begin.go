package scheduler

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// begin hands in the run of a flow whose time has come.
func (e *Engine) begin(d *dispatch) {
	if err := e.beginner.add(e.work, d); err != nil {
		e.unrecorded.Add(1)
		e.log.Debug("run of a flow not begun", "log_id", d.id, "error", err)
	}
}

// beginFlows lets runs of flows begin that have a slot of their flow's limit or find one. As recordBatch it does not give up while the database
// is away.
func (e *Engine) beginFlows(ctx context.Context, batch []*dispatch) {
	batch = slices.DeleteFunc(batch, func(d *dispatch) bool {
		if !e.maySend(d) {
			return true
		}
		if d.waiting {
			e.pending.add(d) // before it is this node's, so that the low mark is not above it
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
	read := false
	var begun *beginning
	for tries := 1; len(batch) > 0; tries++ {
		var err error
		try, cancel := context.WithTimeout(ctx, writeLimit)
		begun, err = e.flows.begin(try, batch, read)
		cancel()
		for d, why := range begun.bad {
			batch = slices.DeleteFunc(batch, func(o *dispatch) bool { return o == d })
			e.fail(d, "", event.NotSent, event.New(e.now(), event.NoFlow, e.unreadable(why)))
		}
		if err == nil && len(begun.bad) == 0 {
			break
		}
		if ctx.Err() != nil {
			e.giveUpBeginning(batch)
			return
		}
		if err == nil {
			continue
		}
		raced := errors.Is(err, errRaced)
		if raced && !read { // what is in memory is not so any more
			read = true
			continue
		}
		e.log.Warn("begin runs of flows", "error", err, "runs", len(batch))
		if tries >= 3 && (!passes(err) || raced) && len(batch) > 1 {
			for i := range batch {
				e.beginFlows(ctx, batch[i:i+1:i+1])
			}
			return
		}
		if tries >= 3 && raced && batch[0].waiting {
			e.pending.done(batch[0]) // somebody else has its slot; should it still wait, the sweep finds it
			return
		}
		if tries >= 3 && !passes(err) {
			e.fail(batch[0], "", event.NotSent, event.New(e.now(), event.NoFlow, err))
			return
		}
		_ = upkeep.Rest(ctx, wait)
		wait = min(2*wait, 2*time.Second)
	}
	ids := make([]int64, 0, len(batch))
	for _, d := range batch {
		if no, full := begun.full[d]; full {
			e.wg.Go(func() { e.noSlot(ctx, d, no) }) // which may end another run
			continue
		}
		ids = append(ids, d.id)
		e.pending.done(d)
	}
	e.hub.changed(ids...)
}

// unreadable is why the definition of a flow cannot be read: its first fault, where that is one.
func (e *Engine) unreadable(err error) string {
	faults, is := errors.AsType[flow.Faults](err)
	if !is || len(faults) == 0 {
		return err.Error()
	}
	first, said := faults[0].Told(), faults.Error()
	if e.cfg.English != nil {
		said = first.Text(e.cfg.English)
	}
	return event.CauseOfField(first, said)
}

// giveUpBeginning leaves runs to the next start, or to another admin. Those that wait for a slot are nobody's, unless the last try gave it.
func (e *Engine) giveUpBeginning(batch []*dispatch) {
	for _, d := range batch {
		if d.waiting {
			e.pending.leaveRunInDoubt(d)
			continue
		}
		e.unrecorded.Add(1)
	}
}
