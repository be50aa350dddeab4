package scheduler

import (
	"context"
	"database/sql"
	"errors"
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

// flowStart is a run that is to be made.
type flowStart struct {
	flow  *flowState
	step  *flowStep // of the step, or of an item of it
	ref   *flow.JobRef
	param *string
	job   *job
	ring  bool // its job is a flow that the run is a part of
}

// starts are those of a move.
type starts struct {
	list  []*flowStart
	items []*flowStep
	jobs  map[int64]*job // read already; nil: there is none
	named map[flow.JobRef]int64
}

// fail ends what cannot be started.
func (start *flowStart) fail(now time.Time) {
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

// startStep notes what a start makes. Runs are made when all is decided.
func (fs *Flows) startStep(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, start *flow.Start, data flow.Data) error {
	step, s := &f.plan.def.Steps[start.Step], f.steps[start.Step]
	if s.EndedAt > 0 { // it is begun anew, after somebody set another step
		s.BeganAt, s.EndedAt = 0, 0
	}
	s.keep(f.run.Steps[start.Step], step.Foreach != nil, m.now)
	switch step.Kind() {
	case flow.KindApprove:
		s.Param, s.changed = db.Text(start.Text), true
		if t := step.Approve.TimeoutSeconds; t > 0 {
			s.DueAt = m.now.Add(time.Duration(t) * time.Second).UnixMilli()
		}
		if fs.cfg.Alarms != nil && fs.cfg.Alarms.Wanted(AlarmApproval, f.row.JobID) {
			m.asks = append(m.asks, AlarmEvent{
				JobID: f.row.JobID, GroupID: f.row.JobGroup, LogID: f.row.LogID, Cause: AlarmApproval, At: m.now,
				Events: event.List{event.New(m.now, event.Asks, step.Title(), start.Text)},
			})
		}
	case flow.KindWait:
		until := m.now.Add(time.Duration(step.Wait.Seconds) * time.Second)
		if step.Wait.Until != "" {
			until = start.Until
		}
		s.DueAt, s.changed = max(until.UnixMilli(), 1), true
	case flow.KindJob, flow.KindFlow:
		if t := step.TimeoutSeconds; t > 0 && s.DueAt == 0 {
			s.DueAt = m.now.Add(time.Duration(t) * time.Second).UnixMilli()
		}
		if step.Foreach == nil {
			m.starts.list = append(m.starts.list, &flowStart{flow: f, step: s, ref: step.Ref(), param: start.Param})
			return nil
		}
		return fs.startItems(ctx, tx, m, f, start, data)
	}
	return nil
}

// startItems lets the next items of a foreach start.
func (fs *Flows) startItems(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState, start *flow.Start, data flow.Data) error {
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
			FlowLogID: f.row.LogID, Step: s.Step, Item: int64(i), State: int64(flow.Running), Attempt: s.Attempt, BeganAt: m.now.UnixMilli(),
		}}
		m.starts.items = append(m.starts.items, item)
		s.NextItem, s.changed = int64(i)+1, true
		param, fault := params.Of(list[i])
		if fault != nil {
			item.State, item.EndedAt = int64(flow.Failed), m.now.UnixMilli()
			item.Message, item.Output = db.Text(clip(fault.Said(), maxResult)), db.Text(fault.Stored())
			f.run.RecordItem(f.plan.plan, start.Step, flow.Failed)
			s.keep(f.run.Steps[start.Step], true, m.now)
			return
		}
		m.starts.list = append(m.starts.list, &flowStart{flow: f, step: item, ref: step.Ref(), param: param})
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
	groups := fs.cfg.GroupsOf(ref.AppName)
	if len(groups) == 0 {
		s.named[ref] = 0
		return 0, nil
	}
	rows, err := fs.queries.ListJobsNamed(ctx, tx, db.ListJobsNamedParams{GroupIds: groups, Names: []string{ref.Description}})
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
		d.events = append(d.events, event.New(now, event.FlowStep, f.row.LogID, step.Title()))
	}
	return runs
}
