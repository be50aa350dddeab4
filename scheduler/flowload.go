package scheduler

import (
	"context"
	"database/sql"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// load reads the runs of flows that a move is about, with their steps, and the rows of the items that it names.
func (fs *Flows) load(ctx context.Context, tx *sql.Tx, m *flowMove) error {
	m.states, m.rows = make(map[int64]*flowState), make(map[int64]*flowStep)
	for _, f := range m.begun {
		m.states[f.row.LogID] = f
	}
	var steps []int64
	for i := range m.ends {
		steps = appendNew(steps, m.ends[i].step)
	}
	for id := range m.next {
		steps = appendNew(steps, id)
	}
	kept, err := fs.loadRuns(ctx, tx, m, steps)
	if err != nil {
		return err
	}
	if err := fs.loadSteps(ctx, tx, m); err != nil {
		return err
	}
	for id, f := range kept {
		m.states[id] = f
		for _, s := range f.steps {
			m.rows[s.ID] = s
		}
	}
	return fs.loadItems(ctx, tx, m, steps)
}

// loadRuns reads the runs that go on, of some steps and those that the move names. It gives those that are kept, with their steps.
func (fs *Flows) loadRuns(ctx context.Context, tx *sql.Tx, m *flowMove, steps []int64) (kept map[int64]*flowState, err error) {
	logs := slices.Clone(m.look)
	for _, d := range m.deeds {
		logs = appendNew(logs, d.log)
	}
	kept, unknown, logs, err := fs.findKept(ctx, tx, m, steps, logs)
	if err != nil {
		return nil, err
	}
	var rows []db.ListFlowRunsOfStepsRow
	if len(unknown) > 0 {
		if rows, err = fs.queries.ListFlowRunsOfSteps(ctx, tx, unknown); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		logs = slices.DeleteFunc(logs, func(id int64) bool { return id == rows[i].FlowRun.LogID })
	}
	if len(logs) > 0 {
		more, err := fs.queries.ListFlowRunsDeciding(ctx, tx, logs)
		if err != nil {
			return nil, err
		}
		for i := range more {
			rows = append(rows, db.ListFlowRunsOfStepsRow(more[i]))
		}
	}
	for _, r := range rows {
		if r.FlowRun.State != flowGoing || kept[r.FlowRun.LogID] != nil {
			continue
		}
		if f := fs.kept.at(r.FlowRun.LogID, r.FlowRun.Revision); f != nil {
			kept[r.FlowRun.LogID] = f
			continue
		}
		plan, err := fs.planOf(ctx, tx, r.FlowRun.TextID)
		if unreadablePlan(err) {
			_, said := fs.unread.get(r.FlowRun.LogID)
			fs.unread.put(r.FlowRun.LogID, fs.cfg.Now())
			if !said { // it is looked at again and again
				fs.cfg.Logger.Error("the definition of a run of a flow cannot be read: an admin that can goes on with it, or somebody ends it", "log_id", r.FlowRun.LogID, "error", err)
			}
			continue
		} else if err != nil {
			return nil, err
		}
		m.states[r.FlowRun.LogID] = &flowState{row: r.FlowRun, plan: plan, param: string(r.ExecutorParam), due: dueOf(r.PlannedFor, r.PlannedAt)}
	}
	return kept, nil
}

// loadSteps makes the steps of runs that begin, and reads those of the others.
func (fs *Flows) loadSteps(ctx context.Context, tx *sql.Tx, m *flowMove) error {
	var old []int64
	for id, f := range m.states {
		f.steps = make([]*flowStep, len(f.plan.def.Steps))
		f.run = flow.Run{Steps: make([]flow.StepState, len(f.steps)), Asked: flow.Asked(f.row.Asked)}
		if f.touched && !f.given {
			for i := range f.steps {
				f.steps[i] = &flowStep{place: i, FlowStep: db.FlowStep{FlowLogID: id, Step: f.plan.def.Steps[i].ID, Item: -1}}
			}
			continue
		}
		old = append(old, id)
	}
	if len(old) == 0 {
		return nil
	}
	rows, err := fs.queries.ListFlowSteps(ctx, tx, old)
	if err != nil {
		return err
	}
	m.read += len(rows)
	for _, r := range rows {
		f := m.states[r.FlowLogID]
		i, ok := f.plan.place[r.Step]
		if !ok {
			continue
		}
		s := &flowStep{place: i, FlowStep: db.FlowStep{
			ID: r.ID, FlowLogID: r.FlowLogID, Step: r.Step, Item: -1, State: r.State, JobID: r.JobID, RunID: r.RunID, Going: r.Going,
			Succeeded: r.Succeeded, Failed: r.Failed, Cancelled: r.Cancelled, Total: r.Total, Attempt: r.Attempt, Ending: r.Ending, ByHand: r.ByHand, Code: r.Code,
			DueAt: r.DueAt, BeganAt: r.BeganAt, EndedAt: r.EndedAt, DecidedBy: r.DecidedBy, Remark: r.Remark, NextItem: r.NextItem,
		}}
		s.was = rowBefore(&s.FlowStep)
		f.steps[i], m.rows[r.ID] = s, s
		f.run.Steps[i] = stateOfRow(&s.FlowStep, f.plan.def.Steps[i].Foreach != nil)
	}
	for _, id := range old {
		if slices.Contains(m.states[id].steps, nil) { // rows that somebody deleted
			delete(m.states, id)
		}
	}
	return nil
}

// loadItems reads the rows of items, and of broadcasts, which gather what their shards give.
func (fs *Flows) loadItems(ctx context.Context, tx *sql.Tx, m *flowMove, ids []int64) error {
	ids = slices.DeleteFunc(ids, func(id int64) bool {
		s := m.rows[id]
		return s != nil && (s.Item >= 0 || s.Total <= 1)
	})
	if len(ids) == 0 || len(m.states) == 0 {
		return nil
	}
	rows, err := fs.queries.ListFlowStepsByID(ctx, tx, ids)
	if err != nil {
		return err
	}
	m.read += len(rows)
	for _, r := range rows {
		if s := m.rows[r.ID]; s != nil {
			s.Output = r.Output
			continue
		}
		if m.states[r.FlowLogID] == nil {
			continue
		}
		r.Param, r.Items = "", ""
		m.rows[r.ID] = &flowStep{place: m.states[r.FlowLogID].plan.place[r.Step], FlowStep: r, was: rowBefore(&r)}
	}
	return nil
}
