package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/invalid"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// stepEnd is the end of a run of a step, of its last attempt.
type stepEnd struct {
	step    int64 // its row
	run     int64
	shard   int
	outcome event.Outcome
	code    int64
	message string
	why     string // where no executor said it: an event, as [event.CauseOf]
	output  map[string]string
	gone    bool // nothing of it goes on, whatever its row says: the sweep's
}

// flowDeed is what somebody does to a run of a flow that goes on.
type flowDeed struct {
	log   int64
	asked flow.Asked // it is to end
	do    func(*flowState) error
	by    string
}

// flowMove is what one transaction does to runs of flows. It is filled anew each time the transaction is tried.
type flowMove struct {
	ends  []stepEnd
	next  map[int64]int64 // retries that follow runs of steps, by the step's row
	more  map[int64]int64 // how many more there are of these than one
	begun []*flowState
	look  []int64 // runs to be decided about for a time that has come
	deeds []flowDeed
	seen  map[int64]db.ListFlowRevisionsRow // what the transaction has read of runs already; may be nil

	runs    []*dispatch // what was inserted
	decided []*flowState

	read, wrote int // rows of steps and items that it read, and all rows that it wrote: for [Flows.watched]
}

func newFlowMove() *flowMove {
	return &flowMove{next: make(map[int64]int64), more: make(map[int64]int64)}
}

// flowState is a run of a flow while it is decided about.
type flowState struct {
	row     db.FlowRun
	param   string    // of its run
	due     time.Time // the time of the schedule that its run is for
	plan    *flowPlan
	steps   []*flowStep // in the order of the definition
	run     flow.Run
	results map[string]flow.Result // those that expressions of the move have read
	size    int                    // bytes of them
	readErr error                  // why one could not be read
	touched bool
	kill    bool   // going runs of it are to be ended
	fresh   bool   // it begins in this move
	given   bool   // its row is there already
	why     string // what the step that failed first said
	cause   string // why it failed, where its run has not said that: as [flow.CauseOf]
}

// flowStep is the row of a step or an item.
type flowStep struct {
	db.FlowStep
	place   int // in the definition
	changed bool
	was     *db.FlowStep // its row as it is stored; nil: it is written as a whole
}

func (m *flowMove) begin(row db.FlowRun, plan *flowPlan, log *db.ListRunsByIDRow, given bool) *flowState {
	f := &flowState{row: row, plan: plan, param: string(log.ExecutorParam), due: dueOf(log.PlannedFor, log.PlannedAt), given: given, fresh: !given, touched: true}
	m.begun = append(m.begun, f)
	return f
}

// errFlowRaced is errRaced, of runs of flows: they are locked first the next time.
type errFlowRaced struct{ logs []int64 }

func (errFlowRaced) Error() string { return "a run of a flow was decided about meanwhile" }
func (errFlowRaced) Unwrap() error { return errRaced }

// move decides what the ends of steps, and times, mean, and writes it down. It is called in the transaction that makes them true.
func (fs *Flows) move(ctx context.Context, tx *sql.Tx, m *flowMove) error {
	states, items, err := fs.load(ctx, tx, m)
	if err != nil || len(states) == 0 {
		return err
	}
	now := fs.cfg.Now()
	for i := range m.ends {
		endStep(states, items, &m.ends[i], now)
	}
	for id, run := range m.next {
		s := items[id]
		if s == nil || s.State != int64(flow.Running) || s.Total > 1 && m.more[id] == 0 {
			continue
		}
		f := states[s.FlowLogID]
		if f == nil || f.row.State != flowGoing { // as in endStep: of a run whose rows somebody deletes
			continue
		}
		if s.Total <= 1 && s.RunID < run {
			s.RunID = run
		}
		if n := m.more[id]; n > 0 {
			s.Going += n
			s.Total = s.Going
		}
		s.changed, f.touched = true, true
		if f.steps[s.place].Ending != 0 { // it was made before its step was to end
			f.kill = true
		}
	}
	for _, d := range m.deeds {
		f := states[d.log]
		if f == nil || f.row.State != flowGoing {
			continue
		}
		if d.asked != flow.AskedNothing && f.run.Asked == flow.AskedNothing {
			f.run.Asked, f.row.StoppedBy, f.touched = d.asked, d.by, true
		}
		if d.do != nil {
			if err := d.do(f); err != nil {
				return err
			}
			f.touched = true
		}
	}
	order := slices.Sorted(maps.Keys(states))
	for _, id := range order {
		if f := states[id]; f.row.State == flowGoing {
			f.takeTimes(now)
		}
	}
	starts := newStarts()
	starts.rows = items
	for _, id := range order {
		f := states[id]
		if f.row.State == flowGoing && f.touched {
			if err := fs.decide(ctx, tx, m, f, starts, now); err != nil {
				return err
			}
		}
	}
	for {
		missing, err := fs.findJobs(ctx, tx, starts)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			break
		}
		for _, s := range missing { // the step cannot be done, and what needs it is decided by that
			starts.fail(s, now)
			if err := fs.decide(ctx, tx, m, s.flow, starts, now); err != nil {
				return err
			}
		}
	}
	return fs.write(ctx, tx, m, states, items, starts, now)
}

// load reads the runs of flows that a move is about, with their steps, and the rows of the items that it names.
func (fs *Flows) load(ctx context.Context, tx *sql.Tx, m *flowMove) (map[int64]*flowState, map[int64]*flowStep, error) {
	states := make(map[int64]*flowState)
	for _, f := range m.begun {
		states[f.row.LogID] = f
	}
	var stepIDs []int64
	for _, end := range m.ends {
		stepIDs = appendNew(stepIDs, end.step)
	}
	for id := range m.next {
		stepIDs = appendNew(stepIDs, id)
	}
	logs := slices.Clone(m.look)
	for _, d := range m.deeds {
		logs = appendNew(logs, d.log)
	}
	kept, unknown, logs, err := fs.findKept(ctx, tx, m, stepIDs, logs)
	if err != nil {
		return nil, nil, err
	}
	var rows []db.ListFlowRunsOfStepsRow
	if len(unknown) > 0 {
		if rows, err = fs.queries.ListFlowRunsOfSteps(ctx, tx, unknown); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range rows {
		logs = slices.DeleteFunc(logs, func(id int64) bool { return id == r.FlowRun.LogID })
	}
	if len(logs) > 0 {
		more, err := fs.queries.ListFlowRunsDeciding(ctx, tx, logs)
		if err != nil {
			return nil, nil, err
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
		if _, no := errors.AsType[errNoFlow](err); no || errors.Is(err, db.ErrNotFound) {
			fs.cfg.Logger.Error("the definition of a run of a flow cannot be read", "log_id", r.FlowRun.LogID, "error", err)
			continue
		} else if err != nil {
			return nil, nil, err
		}
		states[r.FlowRun.LogID] = &flowState{row: r.FlowRun, plan: plan, param: string(r.ExecutorParam), due: dueOf(r.PlannedFor, r.PlannedAt)}
	}
	items := make(map[int64]*flowStep)
	var old []int64
	for id, f := range states {
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
	for id, f := range kept {
		states[id] = f
		for _, s := range f.steps {
			items[s.ID] = s
		}
	}
	if len(old) > 0 {
		rows, err := fs.queries.ListFlowSteps(ctx, tx, old)
		if err != nil {
			return nil, nil, err
		}
		m.read += len(rows)
		for _, r := range rows {
			f := states[r.FlowLogID]
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
			f.steps[i], items[r.ID] = s, s
			f.run.Steps[i] = stateOfRow(&s.FlowStep, f.plan.def.Steps[i].Foreach != nil)
		}
		for _, id := range old {
			if slices.Contains(states[id].steps, nil) { // rows that somebody deleted
				delete(states, id)
			}
		}
	}
	var missing []int64 // items, and broadcasts, which gather what their shards give
	for _, id := range stepIDs {
		if s := items[id]; len(states) > 0 && (s == nil || s.Item < 0 && s.Total > 1) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		rows, err := fs.queries.ListFlowStepsByID(ctx, tx, missing)
		if err != nil {
			return nil, nil, err
		}
		m.read += len(rows)
		for _, r := range rows {
			if s := items[r.ID]; s != nil {
				s.Output = r.Output
				continue
			}
			if states[r.FlowLogID] == nil {
				continue
			}
			r.Param, r.Items = "", ""
			items[r.ID] = &flowStep{place: states[r.FlowLogID].plan.place[r.Step], FlowStep: r, was: rowBefore(&r)}
		}
	}
	return states, items, nil
}

// rowBefore is a row as it is before a decision changes it.
func rowBefore(r *db.FlowStep) *db.FlowStep {
	was := *r
	return &was
}

// stateOfRow is what a decision knows of a step.
func stateOfRow(r *db.FlowStep, foreach bool) flow.StepState {
	s := flow.StepState{State: flow.State(r.State), Attempt: int(r.Attempt), Ending: r.Ending != 0, Begun: r.BeganAt > 0, ByHand: r.ByHand != 0}
	if foreach {
		s.Items = flow.Items{Total: int(r.Total), Open: int(r.Going), Succeeded: int(r.Succeeded), Failed: int(r.Failed), Cancelled: int(r.Cancelled)}
	}
	return s
}

// keep writes what was decided of a step back into its row.
func (s *flowStep) keep(now flow.StepState, foreach bool, at time.Time) {
	was := s.FlowStep
	s.State, s.Attempt, s.ByHand = int64(now.State), int64(now.Attempt), 0
	if now.ByHand {
		s.ByHand = 1
	}
	if now.Ending && s.Ending == 0 {
		s.Ending = endingAsked
	}
	if foreach {
		s.Total, s.Going, s.Succeeded = int64(now.Items.Total), int64(now.Items.Open), int64(now.Items.Succeeded)
		s.Failed, s.Cancelled = int64(now.Items.Failed), int64(now.Items.Cancelled)
	}
	if now.State.Open() && s.BeganAt == 0 {
		s.BeganAt = at.UnixMilli()
	}
	if now.State.Ended() && s.EndedAt == 0 {
		s.EndedAt, s.DueAt = at.UnixMilli(), 0
	}
	s.changed = s.changed || was != s.FlowStep
}

// endStep takes the end of a run into account.
func endStep(states map[int64]*flowState, items map[int64]*flowStep, end *stepEnd, now time.Time) {
	s := items[end.step]
	if s == nil || flow.State(s.State) != flow.Running {
		return
	}
	f := states[s.FlowLogID]
	if f == nil || f.row.State != flowGoing {
		return
	}
	step := &f.plan.def.Steps[s.place]
	if s.Item < 0 && step.Foreach != nil {
		return // it has no run of its own
	}
	f.touched, s.changed = true, true
	ok := end.outcome == event.Succeeded || end.outcome == event.Cancelled // a retry that was not needed: the run it repeats succeeded
	if !ok {
		s.Failed++
	}
	if s.Going--; end.gone {
		s.Going = 0
	}
	if s.Ending != 0 && end.why != "" { // the flow wanted it
		end.why, end.message = "", ""
	}
	says := s.Code == 0 || !ok
	s.Output = db.Text(addOutput(string(s.Output), s.Going > 0 || s.Total > 1, says, end))
	if says {
		s.Code, s.Message = end.code, db.Text(clip(end.message, flow.MaxOutput))
	}
	if s.Going > 0 {
		return
	}
	state := flow.StateOf(end.outcome)
	switch {
	case s.Failed == 0:
		state = flow.Success
	case s.Ending == endingLate:
		state = flow.TimedOut
	case s.Ending == endingAsked:
		state = flow.Cancelled
	case ok: // other shards did not
		state = flow.Failed
	}
	if s.Item < 0 {
		f.record(s.place, state, now)
		return
	}
	s.State, s.EndedAt, s.DueAt = int64(state), now.UnixMilli(), 0
	f.run.RecordItem(f.plan.plan, s.place, state)
	f.steps[s.place].keep(f.run.Steps[s.place], true, now)
}

// record notes that a step has ended by itself.
func (f *flowState) record(place int, state flow.State, now time.Time) {
	s := f.steps[place]
	f.touched = true
	f.run.Record(f.plan.plan, place, state)
	s.keep(f.run.Steps[place], f.plan.def.Steps[place].Foreach != nil, now)
	f.noteFailure(place)
}

// noteFailure remembers which step failed first.
func (f *flowState) noteFailure(place int) {
	if s := f.steps[place]; f.row.FailedStep == "" && f.plan.plan.Fails(place, flow.State(s.State)) {
		f.row.FailedStep, f.why, f.cause = s.Step, string(s.Message), flow.CauseOf(string(s.Output))
	}
}

// nameFailure notes the step that failed first where that is not known: it did so in the run that this one repeats a part of, or somebody set
// another one right.
func (f *flowState) nameFailure() {
	if f.row.FailedStep != "" || flow.State(f.row.Ends) == flow.Success {
		return
	}
	first := -1
	for i, s := range f.steps {
		if f.plan.plan.Fails(i, flow.State(s.State)) && (first < 0 || s.EndedAt < f.steps[first].EndedAt) {
			first = i
		}
	}
	if first >= 0 {
		f.noteFailure(first)
	}
}

// takeTimes takes the times that have come into account: of steps, and of the run.
func (f *flowState) takeTimes(now time.Time) {
	ms := now.UnixMilli()
	if f.row.Deadline > 0 && f.row.Deadline <= ms && f.run.Asked == flow.AskedNothing {
		f.run.Asked, f.touched = flow.AskedTimeout, true
	}
	woken := f.row.WakeAt > 0 && f.row.WakeAt <= ms
	f.touched = f.touched || woken
	for i, s := range f.steps {
		if woken && s.Ending != 0 && flow.State(s.State) == flow.Running { // it was asked to end, and has not
			f.kill = true
		}
		if s.DueAt == 0 || s.DueAt > ms || !flow.State(s.State).Open() {
			continue
		}
		f.touched = true
		switch step := &f.plan.def.Steps[i]; step.Kind() {
		case flow.KindWait, flow.KindApprove:
			f.record(i, f.plan.plan.Expired(i), now)
		case flow.KindJob, flow.KindFlow: // its runs are ended; what they end as, says the row
			s.DueAt, s.Ending, s.changed = 0, endingLate, true
			f.run.Steps[i].Ending, f.kill = true, true
		}
	}
}

// dataOf is what expressions of a run may read. What steps gave is read when one asks for it.
func (fs *Flows) dataOf(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, starts *starts) flow.Data {
	return flow.Data{
		Param: f.param, Planned: f.due, Zone: zoneOf(f.row.Zone, fs.cfg.Zone), Budget: new(expr.Budget),
		Results: func(ids []string) map[string]flow.Result {
			if f.readErr == nil {
				f.readErr = fs.readResults(ctx, tx, m, f, starts, ids)
			}
			return f.results
		},
	}
}

// readResults reads what steps that have ended gave. What was changed in memory and not written yet is newer.
func (fs *Flows) readResults(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, starts *starts, ids []string) error {
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
			if result.Items, err = fs.itemResults(ctx, tx, m, f, id, starts); err != nil {
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

// itemsAtOnce is how many results of items are read at a time: each may be as long as that of a step.
const itemsAtOnce = 100

// itemResults is what the items of a step gave. Those that end in the move under way are not written yet.
func (fs *Flows) itemResults(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, step string, starts *starts) (results []flow.Result, err error) {
	for after := int64(-1); f.size <= flow.MaxResultSize; {
		page, err := fs.queries.ListFlowItemResults(ctx, tx, db.ListFlowItemResultsParams{FlowLogID: f.row.LogID, Step: step, AfterItem: after, Limit: itemsAtOnce})
		if err != nil {
			return nil, err
		}
		m.read += len(page)
		for _, r := range page {
			now := db.FlowStep{State: r.State, Code: r.Code, Message: r.Message, Output: r.Output}
			if s := starts.rows[r.ID]; s != nil {
				now = s.FlowStep
			}
			results = append(results, resultOf(&now))
			f.size += len(now.Output) + len(now.Message)
			after = r.Item
		}
		if len(page) < itemsAtOnce {
			break
		}
	}
	for _, item := range starts.items { // those that ended as they were to start
		if item.FlowLogID == f.row.LogID && item.Step == step {
			results = append(results, resultOf(&item.FlowStep))
		}
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

// flowStart is a run that is to be made.
type flowStart struct {
	flow  *flowState
	step  *flowStep // of the step, or of an item of it
	ref   *flow.JobRef
	param *string
	job   *job
	ring  bool // its job is a flow that the run is a part of
}

type starts struct {
	list  []*flowStart
	items []*flowStep
	jobs  map[int64]*job
	named map[flow.JobRef]int64
	rows  map[int64]*flowStep // items that have ended in this move
}

func newStarts() *starts {
	return &starts{jobs: make(map[int64]*job), named: make(map[flow.JobRef]int64)}
}

// fail takes back a start of what cannot be started.
func (s *starts) fail(start *flowStart, now time.Time) {
	f, row := start.flow, start.step
	step := &f.plan.def.Steps[row.place]
	name := flow.FieldJob
	if step.Kind() == flow.KindFlow {
		name = flow.FieldFlow
	}
	fault := flow.Fault{Step: step.ID, Line: step.LineOf(name), Field: invalid.Field{Name: name, Key: flow.CodeNoJob, Args: []any{"Value", start.ref.String()}}}
	if start.ring {
		fault.Key = flow.CodeItself
	}
	row.Output = db.Text(fault.Stored())
	row.Message, row.Code, row.changed = db.Text(clip(fault.Said(), maxResult)), int64(wire.CodeFail), true
	row.Going = 0
	if row.Item >= 0 {
		row.State, row.EndedAt = int64(flow.Failed), now.UnixMilli()
	}
	if row.Item >= 0 {
		f.run.RecordItem(f.plan.plan, row.place, flow.Failed)
	} else {
		f.run.Record(f.plan.plan, row.place, flow.Failed)
	}
	f.steps[row.place].keep(f.run.Steps[row.place], row.Item >= 0, now)
	f.noteFailure(row.place)
}

// decide decides about one run until there is nothing to do.
func (fs *Flows) decide(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, starts *starts, now time.Time) error {
	data := fs.dataOf(ctx, tx, m, f, starts)
	for {
		decision := f.plan.plan.Next(f.run, data)
		if f.readErr != nil {
			return f.readErr
		}
		if decision.Empty() {
			break
		}
		f.run.Apply(f.plan.plan, decision)
		for _, end := range decision.End {
			s := f.steps[end.Step]
			if end.Fault != nil {
				s.Message, s.Output = db.Text(clip(end.Fault.Said(), maxResult)), db.Text(end.Fault.Stored())
			}
			s.keep(f.run.Steps[end.Step], f.plan.def.Steps[end.Step].Foreach != nil, now)
			f.noteFailure(end.Step)
		}
		for i := range decision.Start {
			if err := fs.startStep(ctx, tx, m, f, &decision.Start[i], data, starts, now); err != nil {
				return err
			}
		}
		for _, place := range decision.Cancel {
			f.steps[place].keep(f.run.Steps[place], f.plan.def.Steps[place].Foreach != nil, now)
			f.kill = true
		}
		if decision.Finish != flow.Waiting {
			f.row.State, f.row.Ends = flowDecided, int64(decision.Finish)
			f.nameFailure()
			break
		}
	}
	f.row.Asked = int64(f.run.Asked)
	return nil
}

// startStep notes what a start makes. Runs are made when all is decided.
func (fs *Flows) startStep(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, start *flow.Start, data flow.Data, starts *starts, now time.Time) error {
	step, s := &f.plan.def.Steps[start.Step], f.steps[start.Step]
	if s.EndedAt > 0 { // it is begun anew, after somebody set another step
		s.BeganAt, s.EndedAt = 0, 0
	}
	s.keep(f.run.Steps[start.Step], step.Foreach != nil, now)
	switch step.Kind() {
	case flow.KindApprove:
		s.Param, s.changed = db.Text(start.Text), true
		if t := step.Approve.TimeoutSeconds; t > 0 {
			s.DueAt = now.Add(time.Duration(t) * time.Second).UnixMilli()
		}
	case flow.KindWait:
		until := now.Add(time.Duration(step.Wait.Seconds) * time.Second)
		if step.Wait.Until != "" {
			until = start.Until
		}
		s.DueAt, s.changed = max(until.UnixMilli(), 1), true
	case flow.KindJob, flow.KindFlow:
		if t := step.TimeoutSeconds; t > 0 && s.DueAt == 0 {
			s.DueAt = now.Add(time.Duration(t) * time.Second).UnixMilli()
		}
		if step.Foreach == nil {
			starts.list = append(starts.list, &flowStart{flow: f, step: s, ref: step.Ref(), param: start.Param})
			return nil
		}
		return fs.startItems(ctx, tx, m, f, start, data, starts, now)
	}
	return nil
}

// startItems lets the next items of a foreach start.
func (fs *Flows) startItems(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, start *flow.Start, data flow.Data, starts *starts, now time.Time) error {
	step, s := &f.plan.def.Steps[start.Step], f.steps[start.Step]
	list := start.List
	if list != nil {
		s.Items, s.changed = db.Text(start.Text), true
	} else {
		var err error
		if list, err = fs.listOf(ctx, tx, m, s); err != nil {
			return err
		}
	}
	params := f.plan.plan.Params(f.run, data, start.Step)
	if f.readErr != nil {
		return f.readErr
	}
	begin := func(i int) {
		item := &flowStep{place: start.Step, changed: true, FlowStep: db.FlowStep{
			FlowLogID: f.row.LogID, Step: s.Step, Item: int64(i), State: int64(flow.Running), BeganAt: now.UnixMilli(),
		}}
		starts.items = append(starts.items, item)
		s.NextItem, s.changed = int64(i)+1, true
		param, fault := params.Of(list[i])
		if fault != nil {
			item.State, item.EndedAt = int64(flow.Failed), now.UnixMilli()
			item.Message, item.Output = db.Text(clip(fault.Said(), maxResult)), db.Text(fault.Stored())
			f.run.RecordItem(f.plan.plan, start.Step, flow.Failed)
			s.keep(f.run.Steps[start.Step], true, now)
			return
		}
		starts.list = append(starts.list, &flowStart{flow: f, step: item, ref: step.Ref(), param: param})
	}
	if s.Attempt <= 1 {
		items := f.run.Steps[start.Step].Items
		first := items.Open + items.Ended() - start.Items // applied already
		for i := first; i < min(first+start.Items, len(list)); i++ {
			begin(i)
		}
		return nil
	}
	// Of one that is run again some have succeeded before: what has begun is looked at from the first on that may not have.
	begun, left := make(map[int64]bool), start.Items
	for from := s.NextItem; left > 0 && from < int64(len(list)); {
		most := int64(left + itemsAtOnce)
		numbers, err := fs.queries.ListFlowItemNumbers(ctx, tx, db.ListFlowItemNumbersParams{FlowLogID: f.row.LogID, Step: s.Step, FromItem: from, Limit: int32(most)})
		if err != nil {
			return err
		}
		m.read += len(numbers)
		for _, n := range numbers {
			begun[n] = true
		}
		upTo := int64(len(list)) // known so far
		if int64(len(numbers)) == most {
			upTo = numbers[most-1] + 1
		}
		for ; from < upTo && left > 0; from++ {
			if !begun[from] {
				begin(int(from))
				left--
			}
		}
	}
	return nil
}

// itemsKey names the list of a foreach.
type itemsKey struct{ step, attempt int64 }

// listOf is the list of a foreach that goes on, as it is stored: what a transaction that was rolled back made of it may have been another.
func (fs *Flows) listOf(ctx context.Context, tx *sql.Tx, m *flowMove, s *flowStep) ([]any, error) {
	if s.Items != "" { // it begins in this move
		return parseItems(string(s.Items))
	}
	key := itemsKey{s.ID, s.Attempt}
	if list, ok := fs.items.get(key); ok {
		return list, nil
	}
	text, err := fs.queries.GetFlowItems(ctx, tx, s.ID)
	if err != nil {
		return nil, err
	}
	m.read++
	list, err := parseItems(string(text))
	if err == nil {
		fs.items.put(key, list)
	}
	return list, err
}

// parseItems reads a list as it is stored, with the numbers that expressions know.
func parseItems(text string) ([]any, error) {
	value, ok := expr.DecodeJSON(text)
	list, is := value.([]any)
	if !ok || !is {
		return nil, errors.New("the list of items cannot be read")
	}
	return list, nil
}

// findJobs finds the jobs of the starts that have none yet. Those that there are not are given, and are no starts any more.
func (fs *Flows) findJobs(ctx context.Context, tx *sql.Tx, s *starts) (missing []*flowStart, err error) {
	var ids []int64
	for _, start := range s.list {
		if start.job != nil {
			continue
		}
		id := start.ref.ID
		if id == 0 {
			if id, err = fs.jobNamed(ctx, tx, s, *start.ref); err != nil {
				return nil, err
			}
		}
		start.step.JobID = id
		if _, known := s.jobs[id]; !known && id != 0 {
			ids = appendNew(ids, id)
		}
	}
	if len(ids) > 0 {
		rows, err := fs.queries.ListJobsToRun(ctx, tx, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			s.jobs[id] = nil
		}
		for i := range rows {
			s.jobs[rows[i].ID] = jobToRun(&rows[i], fs.cfg.Pool)
		}
	}
	s.list = slices.DeleteFunc(s.list, func(start *flowStart) bool {
		if start.job == nil {
			start.job = s.jobs[start.step.JobID]
		}
		if start.job != nil && start.job.glue == jobspec.GlueFlow && err == nil {
			start.ring, err = fs.isWithin(ctx, tx, start.flow, start.job.id)
		}
		if start.job == nil || start.ring {
			missing = append(missing, start)
		}
		return start.job == nil || start.ring
	})
	return missing, err
}

// maxWithin is how deep runs of flows may be in each other.
const maxWithin = 50

// isWithin says whether a run is of a flow, or is a part of one that is, however deep. Whoever saves a flow is refused a ring; two who save at the same
// time, or a job that gets the name of another, can still make one.
func (fs *Flows) isWithin(ctx context.Context, tx *sql.Tx, f *flowState, job int64) (bool, error) {
	of, log := f.row.JobID, f.row.LogID
	for range maxWithin {
		if of == job {
			return true, nil
		}
		runs, err := fs.queries.ListRunsByID(ctx, tx, []int64{log})
		if err != nil || len(runs) == 0 || runs[0].FlowStep == 0 {
			return false, err
		}
		steps, err := fs.queries.ListFlowStepsByID(ctx, tx, []int64{runs[0].FlowStep})
		if err != nil || len(steps) == 0 {
			return false, err
		}
		log = steps[0].FlowLogID
		rows, err := fs.queries.ListFlowRuns(ctx, tx, []int64{log})
		if err != nil || len(rows) == 0 {
			return false, err
		}
		of = rows[0].JobID
	}
	return true, nil
}

// jobNamed is the job that a reference without an id means; 0 for none.
func (fs *Flows) jobNamed(ctx context.Context, tx *sql.Tx, s *starts, ref flow.JobRef) (int64, error) {
	if id, known := s.named[ref]; known {
		return id, nil
	}
	group := fs.cfg.GroupOf(ref.AppName)
	rows, err := fs.queries.ListJobsNamed(ctx, tx, db.ListJobsNamedParams{GroupIds: []int64{group}, Names: []string{ref.Description}})
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if r.JobDesc == ref.Description {
			s.named[ref] = r.ID
			return r.ID, nil
		}
	}
	s.named[ref] = 0
	return 0, nil
}

// write writes what was decided. The revisions are raised first: what comes after is this transaction's alone.
func (fs *Flows) write(ctx context.Context, tx *sql.Tx, m *flowMove, states map[int64]*flowState, items map[int64]*flowStep, starts *starts, now time.Time) error {
	var moved []*db.FlowRun
	var inserted []db.FlowRun
	var fresh []*flowStep
	order := slices.Sorted(maps.Keys(states))
	for _, id := range order {
		f := states[id]
		if !f.touched {
			continue
		}
		f.row.WakeAt = f.wakeAt(now)
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
		return err
	}
	if n != int64(len(moved)) {
		raced := errFlowRaced{}
		for _, r := range moved {
			raced.logs = append(raced.logs, r.LogID)
		}
		return raced
	}
	if err := db.InsertFlowRuns(ctx, tx, inserted); err != nil {
		return err
	}
	fresh = append(fresh, starts.items...)
	if len(fresh) > 0 {
		rows := make([]*db.FlowStep, len(fresh))
		for i, s := range fresh {
			rows[i] = &s.FlowStep
		}
		if err := db.InsertFlowSteps(ctx, fs.cfg.Pool, tx, rows); err != nil {
			return err
		}
		for _, s := range fresh {
			s.Message, s.Items, s.Output = "", "", ""
			s.was = rowBefore(&s.FlowStep)
		}
	}
	for _, start := range starts.list {
		m.runs = append(m.runs, fs.stepRuns(start, now)...)
	}
	if err := fs.cfg.Engine.insert(ctx, tx, m.runs); err != nil {
		return err
	}
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
	for id, s := range items {
		if s.changed {
			changed[id] = s
		}
	}
	list := make([]db.StepMove, 0, len(changed))
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		list = append(list, db.StepMove{Now: &changed[id].FlowStep, Was: changed[id].was})
	}
	if err := db.MoveFlowSteps(ctx, tx, list); err != nil {
		return err
	}
	m.wrote = len(moved) + len(inserted) + len(fresh) + len(m.runs) + len(list)
	for _, f := range m.decided {
		if !f.kill {
			continue
		}
		if err := fs.killSteps(ctx, tx, f); err != nil {
			return err
		}
	}
	return nil
}

// askEndAgain is how long a run may take to end that is to.
const askEndAgain = 10 * time.Second

// wakeAt is when there is something to decide although nothing ends; 0: never.
func (f *flowState) wakeAt(now time.Time) int64 {
	if f.row.State != flowGoing {
		return 0
	}
	at := int64(0)
	if f.run.Asked == flow.AskedNothing {
		at = f.row.Deadline
	}
	for _, s := range f.steps {
		due := s.DueAt
		if s.Ending != 0 && flow.State(s.State) == flow.Running { // should it not end, it is asked again
			due = now.Add(askEndAgain).UnixMilli()
		}
		if due > 0 && (at == 0 || due < at) {
			at = due
		}
	}
	return at
}

// stepRuns makes the runs of a start: as its job is, but for what the step says otherwise.
func (fs *Flows) stepRuns(start *flowStart, now time.Time) []*dispatch {
	f, s := start.flow, start.step
	step := &f.plan.def.Steps[s.place]
	j := start.job
	param, retries := j.param, j.retries
	if start.param != nil {
		param = *start.param
	}
	if step.Retries != nil {
		retries = *step.Retries
	}
	s.Param = db.Text(param)
	runs := fs.cfg.Engine.newRuns(j, cause{
		trigger: jobspec.TriggerFlow, planned: now.Truncate(time.Millisecond), due: f.due, param: param,
		retries: retries, origin: f.row.LogID, step: s.ID,
	})
	for _, d := range runs {
		d.of = start
		d.events = append(d.events, event.New(now, event.FlowStep, f.row.LogID, s.Step))
	}
	return runs
}

// killSteps wishes the going runs of those steps ended whose end is asked for. The wishes are old from the beginning, so that the admins
// do not wait for somebody who asked.
func (fs *Flows) killSteps(ctx context.Context, tx *sql.Tx, f *flowState) error {
	by := cmp.Or(f.row.StoppedBy, coveredBy(f.row.LogID))
	for after := int64(0); ; {
		rows, err := fs.queries.ListGoingFlowRuns(ctx, tx, db.ListGoingFlowRunsParams{FlowLogID: f.row.LogID, AfterID: after, Limit: 1000})
		if err != nil {
			return err
		}
		var wanted []int64
		for _, r := range rows {
			if place, ok := f.plan.place[r.Step]; !ok || f.steps[place].Ending == 0 {
				continue
			}
			ids := []int64{r.RunID}
			if r.Going > 1 {
				if ids, err = fs.queries.ListOpenRunsOfStep(ctx, tx, db.ListOpenRunsOfStepParams{JobID: r.JobID, FromID: r.RunID, FlowStep: r.ID}); err != nil {
					return err
				}
			}
			wanted = append(wanted, ids...)
		}
		if err := db.InsertKills(ctx, tx, by, wanted); err != nil {
			return err
		}
		if len(rows) < 1000 {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}
