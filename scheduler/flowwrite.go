package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// write writes what was decided. The revisions are raised first: what comes after is this transaction's alone.
func (fs *Flows) write(ctx context.Context, tx *sql.Tx, m *flowMove) error {
	fresh, err := fs.writeRuns(ctx, tx, m)
	if err != nil {
		return err
	}
	if err := fs.insertSteps(ctx, tx, m, append(fresh, m.starts.items...)); err != nil {
		return err
	}
	for _, start := range m.starts.list {
		m.runs = append(m.runs, fs.stepRuns(start, m.now)...)
	}
	if err := fs.cfg.Engine.insert(ctx, tx, m.runs); err != nil {
		return err
	}
	list := m.stepMoves()
	if err := db.MoveFlowSteps(ctx, tx, list); err != nil {
		return err
	}
	m.wrote += len(m.runs) + len(list)
	if len(m.asks) > 0 {
		if err := fs.cfg.Alarms.Raise(ctx, tx, m.asks); err != nil {
			return err
		}
	}
	for _, f := range m.decided {
		if !f.kill {
			continue
		}
		if err := fs.killSteps(ctx, tx, &f.row, f.isEnding); err != nil {
			return err
		}
	}
	return nil
}

// writeRuns writes the rows of runs of flows, and gives the steps of those that begin.
func (fs *Flows) writeRuns(ctx context.Context, tx *sql.Tx, m *flowMove) (fresh []*flowStep, err error) {
	var moved []*db.FlowRun
	var inserted []db.FlowRun
	for _, id := range slices.Sorted(maps.Keys(m.states)) {
		f := m.states[id]
		if !f.touched {
			continue
		}
		f.row.WakeAt = f.wakeAt(m.now)
		m.decided = append(m.decided, f)
		if f.fresh {
			inserted = append(inserted, f.row)
			fresh = append(fresh, f.steps...)
			continue
		}
		moved = append(moved, &f.row)
	}
	n, err := db.MoveFlowRuns(ctx, tx, moved)
	if err != nil {
		return nil, err
	}
	if n != int64(len(moved)) {
		raced := errFlowRaced{}
		for _, r := range moved {
			raced.logs = append(raced.logs, r.LogID)
		}
		return nil, raced
	}
	m.wrote = len(moved) + len(inserted)
	return fresh, db.InsertFlowRuns(ctx, tx, inserted)
}

// insertSteps inserts rows of steps and items.
func (fs *Flows) insertSteps(ctx context.Context, tx *sql.Tx, m *flowMove, fresh []*flowStep) error {
	if len(fresh) == 0 {
		return nil
	}
	rows := make([]*db.FlowStep, len(fresh))
	for i, s := range fresh {
		rows[i] = &s.FlowStep
	}
	if err := db.InsertFlowSteps(ctx, fs.cfg.Pool, tx, rows); err != nil {
		return err
	}
	m.wrote += len(fresh)
	for _, s := range fresh {
		s.Message, s.Items, s.Output = "", "", ""
		s.was = rowBefore(&s.FlowStep)
	}
	return nil
}

// stepMoves are the changes of rows of steps and items, also by the runs that were inserted for them.
func (m *flowMove) stepMoves() []db.StepMove {
	changed := make(map[int64]*flowStep)
	for _, d := range m.runs {
		s := d.of.step
		if s.Going++; s.RunID < d.id && s.Going == 1 {
			s.RunID = d.id
		}
		s.Total = 0
		changed[s.ID] = s
	}
	for _, d := range m.runs {
		s := d.of.step
		if s.Going > 1 {
			s.Total = s.Going // of a broadcast, so that its last shard is known for one
		}
		d.of = nil
	}
	for _, f := range m.decided {
		for _, s := range f.steps {
			if s.changed && !f.fresh {
				changed[s.ID] = s
			}
		}
	}
	for id, s := range m.rows {
		if s.changed {
			changed[id] = s
		}
	}
	list := make([]db.StepMove, 0, len(changed))
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		list = append(list, db.StepMove{Now: &changed[id].FlowStep, Was: changed[id].was})
	}
	return list
}

// isEnding reports whether the end of a step is asked for.
func (f *flowState) isEnding(step string) bool {
	place, ok := f.plan.place[step]
	return ok && f.steps[place].Ending != 0
}

// killSteps wishes the going runs of some steps ended. The wishes are old from the beginning, so that the admins do not wait for somebody
// who asked.
func (fs *Flows) killSteps(ctx context.Context, tx *sql.Tx, row *db.FlowRun, wanted func(step string) bool) error {
	by := coveredBy(row.LogID)
	if row.Asked == int64(flow.AskedStop) {
		by = cmp.Or(row.StoppedBy, by)
	}
	for after := int64(0); ; {
		rows, err := fs.queries.ListGoingFlowRuns(ctx, tx, db.ListGoingFlowRunsParams{FlowLogID: row.LogID, AfterID: after, Limit: 1000})
		if err != nil {
			return err
		}
		var runs []int64
		for _, r := range rows {
			if !wanted(r.Step) {
				continue
			}
			ids := []int64{r.RunID}
			if r.Going > 1 {
				if ids, err = fs.queries.ListOpenRunsOfStep(ctx, tx, db.ListOpenRunsOfStepParams{JobID: r.JobID, FromID: r.RunID, FlowStep: r.ID}); err != nil {
					return err
				}
			}
			runs = append(runs, ids...)
		}
		if err := db.InsertKills(ctx, tx, by, 0, runs); err != nil {
			return err
		}
		if len(rows) < 1000 {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}
