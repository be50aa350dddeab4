package scheduler

import (
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

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

// rowBefore is a row as it is before a decision changes it.
func rowBefore(r *db.FlowStep) *db.FlowStep {
	was := *r
	return &was
}

// stateOfRow is what a decision knows of a step.
func stateOfRow(r *db.FlowStep, foreach bool) flow.StepState {
	s := flow.StepState{State: flow.State(r.State), Attempt: int(r.Attempt), Ending: r.Ending != 0, Late: r.Ending == endingLate, Begun: r.BeganAt > 0, ByHand: r.ByHand != 0}
	if foreach {
		s.Items = flow.Items{Total: int(r.Total), Open: int(r.Going), Succeeded: int(r.Succeeded), Failed: int(r.Failed), Cancelled: int(r.Cancelled)}
	}
	return s
}

// keep writes what was decided of a step back into its row.
func (s *flowStep) keep(now flow.StepState, foreach bool, at time.Time) {
	was := s.FlowStep
	s.State, s.Attempt, s.ByHand = int64(now.State), int64(now.Attempt), db.Flag(now.ByHand)
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

// record notes that a step has ended by itself.
func (f *flowState) record(place int, state flow.State, now time.Time) {
	s := f.steps[place]
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
			f.run.Steps[i].Ending, f.run.Steps[i].Late, f.kill = true, true, true
		}
	}
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
