package scheduler

import (
	"context"
	"math"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
)

// inDoubt is a look for this node's runs that are in the database although their commit was answered by an error: the connection
// broke before the answer came. Nobody but this node would ever send them, and it does not know them. One that was taken over may
// have been sent before, and its result may come first: nobody but this node would ever record that it was sent.
type inDoubt struct {
	node    int64              // the node id the look was for; 0: there was none
	ids     map[int64]struct{} // runs of this node without a record of their sending that it did not know at the last look
	commits int                // how many commits the look was about
	last    int64              // the newest transaction at the last look
}

// sweepInDoubt finds the runs of commits in doubt and sends them, or notes as sent those that have a result. A run is one of them
// when two looks in a row find it and every transaction that was under way at the first has ended since without making it known: so
// no run is taken for one between its commit and the return of the call that made it.
func (e *Engine) sweepInDoubt(ctx context.Context, s *inDoubt) error {
	from, commits := e.pending.commitsInDoubt()
	me := e.node.ID()
	if commits == 0 || s.node != me {
		*s = inDoubt{}
	}
	if commits == 0 {
		return nil
	}
	settled := s.node == me
	if settled && e.pending.oldest() <= s.last {
		return nil // not yet
	}
	unknown := make(map[int64]bool, len(s.ids))
	for id := range s.ids {
		unknown[id] = !e.pending.has(id) // before the rows are read: what is done by now is not among them
	}
	var found []db.ListUnsentRunsOfNodeRow
	for from := from; ; {
		rows, err := e.queries.ListUnsentRunsOfNode(ctx, e.cfg.Pool, db.ListUnsentRunsOfNodeParams{LowID: from, OwnerNode: me, Limit: db.MaxBatch})
		if err != nil {
			return err
		}
		found = append(found, rows...)
		if len(rows) < db.MaxBatch {
			break
		}
		from = rows[len(rows)-1].ID + 1
	}
	// After those without a result: one that comes between the two is not missed.
	reported, err := e.reportedRuns(ctx, me, from, math.MaxInt64)
	if err != nil {
		return err
	}
	if !settled {
		*s = inDoubt{node: me, ids: make(map[int64]struct{}), commits: commits, last: e.pending.newest()}
		see := func(id int64) {
			if !e.pending.has(id) {
				s.ids[id] = struct{}{}
			}
		}
		for i := range found {
			see(found[i].ID)
		}
		for _, r := range reported {
			see(r.ID)
		}
		return nil
	}
	reported = slices.DeleteFunc(reported, func(r db.ListReportedRunsOfNodeRow) bool { return !unknown[r.ID] })
	if err := e.noteReported(ctx, me, event.New(e.now(), event.FoundAgain), reported); err != nil {
		return err
	}
	var jobIDs []int64
	for _, r := range found {
		if unknown[r.ID] {
			jobIDs = appendNew(jobIDs, r.JobID)
		}
	}
	var runs []*dispatch
	if len(jobIDs) > 0 {
		jobs, err := e.jobsByID(ctx, jobIDs)
		if err != nil {
			return err
		}
		for i := range found {
			if r := &found[i]; unknown[r.ID] {
				d := e.adopted(r, me, jobs[r.JobID])
				d.fresh = true // nor was it counted
				d.events = event.List{event.New(e.now(), event.FoundAgain)}
				runs = append(runs, d)
			}
		}
	}
	e.pending.resolve(s.commits, runs)
	*s = inDoubt{}
	if len(runs) > 0 {
		e.log.Warn("sending runs whose record the database had not confirmed", "runs", len(runs))
		e.upkeep.Count(e.countNew(runs)...)
		e.timer.add(runs...)
	}
	return nil
}

// commitsInDoubt is an id above which the runs of commits in doubt are, and how many such commits there are.
func (p *pendingSet) commitsInDoubt() (from int64, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from = math.MaxInt64
	for _, floor := range p.inDoubt {
		from = min(from, floor)
	}
	return from, len(p.inDoubt)
}

// resolve ends the doubt about the first n commits, out of which these runs came.
func (p *pendingSet) resolve(n int, runs []*dispatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(runs...)
	p.inDoubt = p.inDoubt[min(n, len(p.inDoubt)):]
}

func (p *pendingSet) has(id int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.runs[id]
	return ok
}

// newest is the number of the newest transaction.
func (p *pendingSet) newest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// oldest is the number of the oldest transaction under way, or one above all when there is none.
func (p *pendingSet) oldest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := p.last + 1
	for tx := range p.under {
		oldest = min(oldest, tx)
	}
	return oldest
}
