package scheduler

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
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
	by      string // who ended it, if somebody did
	gone    bool   // nothing of it goes on, whatever its row says: the sweep's
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
	seen  flowsSeen

	// What is read and decided.
	now    time.Time
	states map[int64]*flowState // by their runs
	rows   map[int64]*flowStep  // steps, and items that end
	starts starts

	runs    []*dispatch // what was inserted
	decided []*flowState
	asks    []AlarmEvent // steps that begin to wait for a person

	read, wrote int // rows of steps and items that it read, and all rows that it wrote: for [Flows.watched]
}

// flowsSeen is what a transaction knows before it decides about flows: what it has read already, or is kept in memory.
type flowsSeen struct {
	runs map[int64]db.ListFlowRevisionsRow // by their numbers; may be nil
	jobs map[int64]*job                    // that steps may run; may be nil
}

// add notes a run, in place of what was noted of it before.
func (s *flowsSeen) add(r db.ListFlowRevisionsRow) {
	if s.runs == nil {
		s.runs = make(map[int64]db.ListFlowRevisionsRow)
	}
	s.runs[r.LogID] = r
}

func newFlowMove() *flowMove {
	return &flowMove{next: make(map[int64]int64), more: make(map[int64]int64)}
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
	if err := fs.load(ctx, tx, m); err != nil || len(m.states) == 0 {
		return err
	}
	m.now, m.starts = fs.cfg.Now(), starts{jobs: m.seen.jobs, named: make(map[flow.JobRef]int64)}
	if m.starts.jobs == nil {
		m.starts.jobs = make(map[int64]*job)
	}
	for i := range m.ends {
		m.endStep(&m.ends[i])
	}
	for id, run := range m.next {
		m.goOn(id, run)
	}
	for _, d := range m.deeds {
		if err := m.do(d); err != nil {
			return err
		}
	}
	order := slices.Sorted(maps.Keys(m.states))
	for _, id := range order {
		if f := m.states[id]; f.row.State == flowGoing {
			f.takeTimes(m.now)
		}
	}
	for _, id := range order {
		if f := m.states[id]; f.row.State == flowGoing && f.touched {
			if err := fs.decide(ctx, tx, m, f); err != nil {
				return err
			}
		}
	}
	for {
		missing, err := fs.findJobs(ctx, tx, &m.starts)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return fs.write(ctx, tx, m)
		}
		for _, s := range missing { // the step cannot be done, and what needs it is decided by that
			s.fail(m.now)
			if err := fs.decide(ctx, tx, m, s.flow); err != nil {
				return err
			}
		}
	}
}

// endStep takes the end of a run into account.
func (m *flowMove) endStep(end *stepEnd) {
	s := m.rows[end.step]
	if s == nil || flow.State(s.State) != flow.Running {
		return
	}
	f := m.states[s.FlowLogID]
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
	ending := f.steps[s.place].Ending // of an item, too: it is its step that is to end
	if ending != 0 && end.why != "" { // the flow wanted it
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
	case ending == endingLate:
		state = flow.TimedOut
	case ending == endingAsked:
		state = flow.Cancelled
	case ok: // other shards did not
		state = flow.Failed
	}
	if state == flow.Cancelled && f.run.Asked == flow.AskedNothing { // the flow ends with that, unless somebody sets it right
		f.row.StoppedBy = end.by
	}
	if s.Item < 0 {
		f.record(s.place, state, m.now)
		return
	}
	s.State, s.EndedAt, s.DueAt = int64(state), m.now.UnixMilli(), 0
	f.run.RecordItem(f.plan.plan, s.place, state)
	f.steps[s.place].keep(f.run.Steps[s.place], true, m.now)
}

// goOn takes a run into account that follows another one of the step, or of an item, in a row.
func (m *flowMove) goOn(id, run int64) {
	s := m.rows[id]
	if s == nil || s.State != int64(flow.Running) || s.Total > 1 && m.more[id] == 0 {
		return
	}
	f := m.states[s.FlowLogID]
	if f == nil || f.row.State != flowGoing { // as in endStep: of a run whose rows somebody deletes
		return
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

// do takes a deed into account.
func (m *flowMove) do(d flowDeed) error {
	f := m.states[d.log]
	if f == nil || f.row.State != flowGoing {
		return nil
	}
	if d.asked != flow.AskedNothing && f.run.Asked == flow.AskedNothing {
		f.run.Asked, f.row.StoppedBy, f.touched = d.asked, d.by, true
	}
	if d.do == nil {
		return nil
	}
	f.touched = true
	return d.do(f)
}

// decide decides about one run until there is nothing to do.
func (fs *Flows) decide(ctx context.Context, tx *sql.Tx, m *flowMove, f *flowState) error {
	data := fs.dataOf(ctx, tx, m, f)
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
			s.keep(f.run.Steps[end.Step], f.plan.def.Steps[end.Step].Foreach != nil, m.now)
			f.noteFailure(end.Step)
		}
		for i := range decision.Start {
			if err := fs.startStep(ctx, tx, m, f, &decision.Start[i], data); err != nil {
				return err
			}
		}
		for _, place := range decision.Cancel {
			f.steps[place].keep(f.run.Steps[place], f.plan.def.Steps[place].Foreach != nil, m.now)
			f.kill = true
		}
		if decision.Finish != flow.Waiting {
			f.row.State, f.row.Ends = flowDecided, int64(decision.Finish)
			f.nameFailure() // none, if it is an output: what that and the others are is read again when the end is written
			break
		}
	}
	f.row.Asked = int64(f.run.Asked)
	return nil
}
