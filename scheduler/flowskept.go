package scheduler

import (
	"context"
	"database/sql"
	"slices"
	"sync"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// maxKeptSteps is how many rows of steps are kept in memory, of some 300 bytes each.
const maxKeptSteps = 50_000

// keptFlows are runs of flows as the last decision of this admin left them, so that the next one need not read their steps: of a flow of ten
// steps that would be a hundred rows from the first to the last. Whether another admin has decided since says the revision, which is read
// in the transaction that decides.
type keptFlows struct {
	max int

	mu    sync.Mutex
	runs  map[int64]*flowState
	steps map[int64]int64 // runs by the rows of their steps
	going map[int64]bool  // the runs of these steps that go on
}

func newKeptFlows(most int) *keptFlows {
	return &keptFlows{max: most, runs: make(map[int64]*flowState), steps: make(map[int64]int64), going: make(map[int64]bool)}
}

// has reports whether some of these runs are of steps of kept runs. Of a shard or an item it may not say so.
func (k *keptFlows) has(runs []int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(runs, func(id int64) bool { return k.going[id] })
}

// goes is has for one run.
func (k *keptFlows) goes(run int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.going[run]
}

// ahead notes the kept run that a step belongs to whose run this is, as the next decision would find it, and gives the jobs of steps that may
// follow. It reports false where none is kept.
func (k *keptFlows) ahead(step, run int64, seen *flowsSeen) (jobs []int64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.runs[k.steps[step]]
	if f == nil || !k.going[run] {
		return nil, false
	}
	seen.add(db.ListFlowRevisionsRow{LogID: f.row.LogID, Revision: f.row.Revision, State: f.row.State})
	place := slices.IndexFunc(f.steps, func(s *flowStep) bool { return s.ID == step })
	for _, s := range f.steps {
		next := &f.plan.def.Steps[s.place]
		if ref := next.Ref(); ref != nil && ref.ID != 0 && slices.Contains(next.Needs, f.steps[place].Step) {
			jobs = append(jobs, ref.ID)
		}
	}
	return jobs, true
}

// of gives the revisions of the kept runs that some steps belong to, and of others by their numbers.
func (k *keptFlows) of(steps, logs []int64) map[int64]int64 {
	found := make(map[int64]int64)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range steps {
		if f := k.runs[k.steps[id]]; f != nil {
			found[f.row.LogID] = f.row.Revision
		}
	}
	for _, log := range logs {
		if f := k.runs[log]; f != nil {
			found[log] = f.row.Revision
		}
	}
	return found
}

// findKept gives copies of the kept runs that some steps belong to, and of others by their numbers, as far as they are still so, and which of
// both it does not give.
func (fs *Flows) findKept(ctx context.Context, tx *sql.Tx, m *flowMove, steps, logs []int64) (kept map[int64]*flowState, otherSteps, otherLogs []int64, err error) {
	kept = make(map[int64]*flowState)
	found := fs.kept.of(steps, logs)
	if len(found) == 0 {
		return kept, steps, logs, nil
	}
	var rows []db.ListFlowRevisionsRow
	var ask []int64
	for log := range found {
		if r, seen := m.seen.runs[log]; seen {
			rows = append(rows, r)
		} else {
			ask = append(ask, log)
		}
	}
	if len(ask) > 0 {
		asked, err := fs.queries.ListFlowRevisions(ctx, tx, ask)
		if err != nil {
			return nil, nil, nil, err
		}
		rows = append(rows, asked...)
	}
	has := make(map[int64]bool) // the rows of the steps of what is given
	for _, r := range rows {
		f := fs.kept.at(r.LogID, r.Revision)
		if f == nil || r.State != flowGoing {
			continue
		}
		kept[r.LogID] = f
		for _, s := range f.steps {
			has[s.ID] = true
		}
	}
	otherSteps = slices.DeleteFunc(slices.Clone(steps), func(id int64) bool { return has[id] })
	otherLogs = slices.DeleteFunc(slices.Clone(logs), func(log int64) bool { return kept[log] != nil })
	return kept, otherSteps, otherLogs, nil
}

// at gives a copy of a run if it is kept with this revision.
func (k *keptFlows) at(log, revision int64) *flowState {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.runs[log]
	if f == nil || f.row.Revision != revision {
		return nil
	}
	c := f.copied()
	for i, s := range f.steps {
		c.steps[i].was = &s.FlowStep
	}
	return c
}

// keep remembers a run as a committed decision left it, and forgets one that does not go on. The revision is the one that the decision began with.
func (k *keptFlows) keep(f *flowState) {
	kept := f.copied()
	if !f.fresh {
		kept.row.Revision++
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if before := k.runs[kept.row.LogID]; before != nil && before.row.Revision > kept.row.Revision { // a later decision has been told of before
		return
	}
	k.forget(kept.row.LogID)
	if kept.row.State != flowGoing || len(kept.steps) > k.max {
		return
	}
	for log := range k.runs { // any: who is not kept is read
		if len(k.steps)+len(kept.steps) <= k.max {
			break
		}
		k.forget(log)
	}
	k.runs[kept.row.LogID] = kept
	for _, s := range kept.steps {
		k.steps[s.ID] = kept.row.LogID
		if flow.State(s.State) == flow.Running {
			k.going[s.RunID] = true
		}
	}
}

func (k *keptFlows) forget(log int64) {
	f := k.runs[log]
	if f == nil {
		return
	}
	delete(k.runs, log)
	for _, s := range f.steps {
		delete(k.steps, s.ID)
		delete(k.going, s.RunID)
	}
}

// copied is a run as it is read for a decision, without what the last one had in hand.
func (f *flowState) copied() *flowState {
	c := &flowState{
		row: f.row, param: f.param, due: f.due, plan: f.plan, steps: make([]*flowStep, len(f.steps)),
		run: flow.Run{Steps: make([]flow.StepState, len(f.steps)), Asked: flow.Asked(f.row.Asked)},
	}
	rows := make([]flowStep, len(f.steps))
	for i, s := range f.steps {
		rows[i] = flowStep{FlowStep: s.FlowStep, place: s.place}
		rows[i].Message, rows[i].Param, rows[i].Items, rows[i].Output = "", "", "", "" // read where they are needed
		c.steps[i], c.run.Steps[i] = &rows[i], stateOfRow(&rows[i].FlowStep, f.plan.def.Steps[i].Foreach != nil)
	}
	return c
}
