package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// dataOf is what expressions of a run may read. What steps gave is read when one asks for it.
func (fs *Flows) dataOf(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState) flow.Data {
	return flow.Data{
		Param: f.param, Planned: f.due, Zone: zoneOf(f.row.Zone, fs.cfg.Zone), Budget: new(expr.Budget),
		Results: func(ids []string) map[string]flow.Result {
			if f.readErr == nil {
				f.readErr = fs.readResults(ctx, tx, m, f, ids)
			}
			return f.results
		},
	}
}

// readResults reads what steps that have ended gave. What was changed in memory and not written yet is newer.
func (fs *Flows) readResults(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, ids []string) error {
	if f.results == nil {
		f.results = make(map[string]flow.Result)
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, known := f.results[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	old := make(map[string]db.ListFlowResultsRow)
	if !f.fresh {
		rows, err := fs.queries.ListFlowResults(ctx, tx, db.ListFlowResultsParams{FlowLogID: f.row.LogID, Steps: ids})
		if err != nil {
			return err
		}
		m.read += len(rows)
		for _, r := range rows {
			old[r.Step] = r
		}
	}
	for _, id := range ids {
		s, r := f.steps[f.plan.place[id]], old[id]
		now := db.FlowStep{State: s.State, Code: s.Code, Message: cmp.Or(s.Message, r.Message), Output: cmp.Or(s.Output, r.Output)}
		result := resultOf(&now)
		f.size += len(now.Output) + len(now.Message)
		if f.plan.def.Steps[s.place].Foreach != nil {
			var err error
			if result.Items, err = fs.itemResults(ctx, tx, m, f, id); err != nil {
				return err
			}
		}
		if f.size > flow.MaxResultSize {
			result = flow.Result{}
		}
		f.results[id] = result
	}
	return nil
}

// readOutputs evaluates the outputs of a run that has ended, by its steps: as when its end was decided, whichever admin writes that, and when. There are
// none where its definition cannot be read any more.
func (fs *Flows) readOutputs(ctx context.Context, end flowEnd) (text string, fault *flow.Fault, err error) {
	plan, err := fs.planOf(ctx, fs.cfg.Pool, end.text)
	if unreadablePlan(err) {
		return "", nil, nil
	} else if err != nil || len(plan.def.Outputs) == 0 {
		return "", nil, err
	}
	err = fs.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		rows, err := fs.queries.ListFlowRunsDeciding(ctx, tx, []int64{end.log})
		if err != nil || len(rows) == 0 { // somebody deleted it
			return err
		}
		r := &rows[0]
		m := newFlowMove()
		f := &flowState{row: r.FlowRun, plan: plan, param: string(r.ExecutorParam), due: dueOf(r.PlannedFor, r.PlannedAt)}
		m.states, m.rows = map[int64]*flowState{end.log: f}, make(map[int64]*flowStep)
		if err := fs.loadSteps(ctx, tx, m); err != nil || m.states[end.log] == nil {
			return err
		}
		text, fault = plan.plan.Outputs(f.run, fs.dataOf(ctx, tx, m, f))
		return f.readErr
	})
	return text, fault, err
}

// itemsAtOnce is how many results of items are read at a time: each may be as long as that of a step.
const itemsAtOnce = 100

// itemResults is what the items of a step gave, in their order. Those that end in the move under way are not written yet, and are counted as the
// others are.
func (fs *Flows) itemResults(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, step string) (results []flow.Result, err error) {
	var items []db.FlowStep
	add := func(item db.FlowStep) {
		items = append(items, item)
		f.size += len(item.Output) + len(item.Message)
	}
	for _, item := range m.starts.items { // those that ended as they were to start
		if item.FlowLogID == f.row.LogID && item.Step == step {
			add(item.FlowStep)
		}
	}
	for after := int64(-1); f.size <= flow.MaxResultSize; {
		page, err := fs.queries.ListFlowItemResults(ctx, tx, db.ListFlowItemResultsParams{FlowLogID: f.row.LogID, Step: step, AfterItem: after, Limit: itemsAtOnce})
		if err != nil {
			return nil, err
		}
		m.read += len(page)
		for _, r := range page {
			now := db.FlowStep{Item: r.Item, State: r.State, Code: r.Code, Message: r.Message, Output: r.Output}
			if s := m.rows[r.ID]; s != nil {
				now = s.FlowStep
			}
			add(now)
			after = r.Item
		}
		if len(page) < itemsAtOnce {
			break
		}
	}
	slices.SortFunc(items, func(a, b db.FlowStep) int { return cmp.Compare(a.Item, b.Item) }) // of a step that is done again, the first may come last
	for i := range items {
		results = append(results, resultOf(&items[i]))
	}
	return results, nil
}

// outputs is what a row has of what runs gave.
type outputs struct {
	Why    string              `json:"why,omitempty"` // before the others: see [flow.WhyOf]
	Values map[string]string   `json:"values,omitempty"`
	Shards map[int]shardOutput `json:"shards,omitempty"`
}

type shardOutput struct {
	Code    int64             `json:"code"`
	Message string            `json:"message,omitempty"`
	Values  map[string]string `json:"values,omitempty"`
	OK      bool              `json:"ok"`
}

// addOutput adds what a run gave to what the row of its step has, and, if it is this run that says what became of the step, why it ended; "" when
// there is nothing.
func addOutput(text string, shards, says bool, end *stepEnd) string {
	if len(end.output) == 0 && !shards && text == "" && end.why == "" {
		return ""
	}
	var o outputs
	if text != "" {
		_ = json.Unmarshal([]byte(text), &o) // ours
	}
	if shards {
		if o.Shards == nil {
			o.Shards = make(map[int]shardOutput)
		}
		o.Shards[end.shard] = shardOutput{Code: end.code, Message: clip(end.message, flow.MaxOutput/16), Values: end.output, OK: end.outcome == event.Succeeded}
	} else {
		o.Values = end.output
	}
	if says {
		o.Why = end.why
	}
	raw, err := json.Marshal(o)
	if err != nil || len(raw) > flow.MaxResultSize {
		return text
	}
	return string(raw)
}

// resultOf is what expressions know of a step, or an item.
func resultOf(r *db.FlowStep) flow.Result {
	result := flow.Result{State: flow.State(r.State), Code: r.Code, Message: string(r.Message)}
	if r.Output == "" {
		return result
	}
	var o outputs
	if err := json.Unmarshal([]byte(r.Output), &o); err != nil {
		return result
	}
	result.Output = o.Values
	for _, i := range slices.Sorted(maps.Keys(o.Shards)) {
		s := o.Shards[i]
		state := flow.Failed
		if s.OK {
			state = flow.Success
		}
		result.Items = append(result.Items, flow.Result{State: state, Code: s.Code, Message: s.Message, Output: s.Values})
	}
	return result
}
