package scheduler

import (
	"slices"
	"time"
)

// Load is what this admin has in hand at a moment, for people who look after the cluster. The same figures are metrics.
type Load struct {
	Node     int64         // its id in punctual_node; 0 before the start
	Alive    []int64       // the admins that share the work, as this one sees them
	MayAct   bool          // its lease is fresh: it claims and sends
	Lease    time.Duration // after which a silent admin is gone
	Planned  int           // claimed runs that wait for their time
	Queued   int           // due runs that wait for their executor's lane
	InFlight int           // calls to executors under way
	Unsent   int           // runs that are committed and not yet recorded as sent
	Results  int           // results and outcomes that wait to be written
}

// Load tells what this admin has in hand. The figures are read one after another: they need not add up.
func (e *Engine) Load() Load {
	queued, inFlight := e.lanes.depth()
	l := Load{
		Node: e.node.id.Load(), MayAct: e.node.mayAct(), Lease: e.cfg.Lease, Planned: e.timer.len(), Queued: queued, InFlight: inFlight,
		Unsent: e.pending.len(), Results: len(e.recorder.items) + len(e.finisher.items),
	}
	e.node.mu.RLock()
	l.Alive = slices.Clone(e.node.alive)
	e.node.mu.RUnlock()
	return l
}
