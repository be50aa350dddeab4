package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// Nothing hangs on when it is written that a run was sent: it is on record before it is, and whoever takes it over asks its executor. So
// this waits for a moment, and a result that comes meanwhile takes it along: one update of the row instead of two, and while many runs are
// to be sent at once, the database has that to do later.

// carryFor is how long the outcome of a sending waits for the run's result, unless [Config] says otherwise, and carryCrowded times as long while
// results wait to be written, its own perhaps among them. Whether it has is looked at every carryEvery.
const (
	carryFor     = 300 * time.Millisecond
	carryCrowded = 10
	carryEvery   = 25 * time.Millisecond
)

// carrier holds outcomes that wait to be written, by their runs.
type carrier struct {
	handing sync.Mutex // held from taking outcomes out until the recorder has them

	mu      sync.Mutex
	waiting map[int64]*outcome
	line    []waitingOutcome // in the order of their coming; those that results took are still in it
	begun   chan struct{}    // capacity 1: there is one where none was
}

type waitingOutcome struct {
	o     *outcome
	since time.Time
}

func newCarrier() *carrier {
	return &carrier{waiting: make(map[int64]*outcome), begun: make(chan struct{}, 1)}
}

// wait has an outcome wait for its run's result. It reports false for one that must not: a run may have two.
func (c *carrier) wait(o *outcome) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[o.d.id] != nil {
		return false
	}
	c.waiting[o.d.id] = o
	c.line = append(c.line, waitingOutcome{o, time.Now()})
	select {
	case c.begun <- struct{}{}:
	default:
	}
	return true
}

// take gives the outcome that a result takes along; nil when none waits.
func (c *carrier) take(run int64) *outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.waiting[run]
	delete(c.waiting, run)
	return o
}

// due takes out what has waited for so long, and says whether more waits.
func (c *carrier) due(long time.Duration) (due []*outcome, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for ; n < len(c.line) && time.Since(c.line[n].since) >= long; n++ {
		if o := c.line[n].o; c.waiting[o.d.id] == o {
			delete(c.waiting, o.d.id)
			due = append(due, o)
		}
	}
	clear(c.line[:n])
	if c.line = c.line[n:]; len(c.line) == 0 {
		c.line = nil
	}
	return due, len(c.line) > 0
}

// len is how many wait.
func (c *carrier) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// carryLoop hands the recorder the outcomes whose results did not come soon.
func (e *Engine) carryLoop(ctx context.Context) {
	tick := time.NewTicker(carryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.carrier.begun:
		}
		for more := true; more; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			more = e.handInDue(e.carryNow())
		}
	}
}

// carryNow is how long outcomes wait as things are.
func (e *Engine) carryNow() time.Duration {
	switch {
	case e.draining.Load():
		return 0
	case e.resultsWait():
		return carryCrowded * e.cfg.CarryFor
	}
	return e.cfg.CarryFor
}

// handInDue hands the recorder what has waited for so long. It returns when that is handed in, whoever did it.
func (e *Engine) handInDue(long time.Duration) (more bool) {
	e.carrier.handing.Lock()
	defer e.carrier.handing.Unlock()
	due, more := e.carrier.due(long)
	for _, o := range due {
		e.handIn(o)
	}
	return more
}

// handInOf hands the recorder the outcome of a run, if it waits for a result.
func (e *Engine) handInOf(run int64) {
	e.carrier.handing.Lock()
	defer e.carrier.handing.Unlock()
	if o := e.carrier.take(run); o != nil {
		e.handIn(o)
	}
}

// calm reports whether nothing follows from an outcome: the executor took the run.
func (o *outcome) calm() bool { return o.sent.Code == wire.CodeSuccess && o.sent.Outcome == event.Open }

// carried is the outcome that a result takes along into a row: nil where there is none, and where the row has one already or is another
// owner's, so that it would not be written by itself either.
func (f *finishing) carried(r *db.ListRunsToEndRow) *outcome {
	if o := f.sending; o != nil && o.d.owner > 0 && r.OwnerNode == o.d.owner && r.TriggerCode == 0 {
		return o
	}
	return nil
}

// carry puts into a row that was read what its result takes along.
func (f *finishing) carry(r *db.ListRunsToEndRow) {
	if o := f.carried(r); o != nil {
		f.along = &o.sent
		r.TriggerCode, r.SentAt, r.ExecutorAddress = o.sent.Code, o.sent.At, db.Text(o.sent.Address)
	}
}

// settleCarried ends the sendings that results took along. Those whose results were not written are written by themselves.
func (e *Engine) settleCarried(batch []finishing, err error) {
	written := 0
	for i := range batch {
		o := batch[i].sending
		switch {
		case o == nil:
		case err == nil && batch[i].settled:
			e.pending.done(o.d)
			written++
		default:
			e.handIn(o)
		}
		batch[i].sending = nil
	}
	e.metrics.recordCarried.Add(float64(written))
}

// sentAlong are the sendings that results take along, for whoever is told of sendings.
func (e *Engine) sentAlong(open []db.ListRunsToEndRow, byID map[int64]*finishing) []webhook.Event {
	if !e.cfg.Webhooks.Wants(webhook.RunSent) {
		return nil
	}
	var events []webhook.Event
	for i := range open {
		if s := byID[open[i].ID].along; s != nil {
			events = append(events, webhook.Event{Type: webhook.RunSent, Group: open[i].JobGroup, Job: open[i].JobID, Run: open[i].ID, At: time.UnixMilli(s.At)})
		}
	}
	return events
}
