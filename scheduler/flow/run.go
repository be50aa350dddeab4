package flow

import (
	"errors"
	"slices"
)

// NewRun is a run of which nothing was done.
func (p *Plan) NewRun() Run { return Run{Steps: make([]StepState, len(p.steps))} }

// Fails says whether a state of a step is a failure for what comes after it and for the flow.
func (p *Plan) Fails(i int, state State) bool {
	return state.IsFailure() && !p.steps[i].ContinueOnError
}

// Allows says whether a state of a step is a failure that counts as a success.
func (p *Plan) Allows(i int, state State) bool { return p.steps[i].Allows(state) }

// outcome is how the run has ended, Waiting if it has not.
func (r Run) outcome(p *Plan) State {
	failed, cancelled := false, false
	for i, s := range r.Steps {
		if !s.State.Ended() {
			return Waiting
		}
		failed = failed || p.Fails(i, s.State)
		cancelled = cancelled || s.State == Cancelled
	}
	switch {
	case cancelled && r.Asked == AskedTimeout:
		return TimedOut
	case cancelled && r.Asked == AskedStop:
		return Cancelled
	case failed:
		return Failed
	case cancelled:
		return Cancelled
	}
	return Success
}

// Apply records a decision.
func (r *Run) Apply(p *Plan, d Decision) {
	for _, e := range d.End {
		r.Steps[e.Step].end(e.State)
	}
	for _, start := range d.Start {
		s := &r.Steps[start.Step]
		if s.State == Waiting {
			s.State, s.Begun = Running, true
			s.Attempt++
			if p.steps[start.Step].Approve != nil {
				s.State = Approval
			}
			if start.List != nil {
				s.Items = Items{Total: len(start.List)}
			}
		}
		s.Items.Open += start.Items
	}
	for _, i := range d.Cancel {
		r.Steps[i].Ending = true
	}
}

func (s *StepState) end(state State) { s.State, s.Ending, s.Late = state, false, false }

// Record records how a step ended. Of one that is not open, or has items, it is told nothing, and false is returned.
func (r *Run) Record(p *Plan, i int, state State) bool {
	s := &r.Steps[i]
	if !s.State.Open() || !state.Ended() || p.steps[i].Foreach != nil {
		return false
	}
	s.end(state)
	return true
}

// RecordItem records how an item of a foreach ended.
func (r *Run) RecordItem(p *Plan, i int, state State) bool {
	s := &r.Steps[i]
	if !s.State.Open() || !state.Ended() || p.steps[i].Foreach == nil || s.Items.Open == 0 {
		return false
	}
	s.Items.Open--
	switch {
	case state == Success:
		s.Items.Succeeded++
	case state.IsFailure():
		s.Items.Failed++
	default:
		s.Items.Cancelled++
	}
	return true
}

// Expired is what becomes of a step whose time is over: of an approval what holds without an answer, and a wait is done.
func (p *Plan) Expired(i int) State {
	switch s := p.steps[i]; {
	case s.Wait != nil, s.Approve != nil && s.Approve.Default == AnswerApprove:
		return Success
	case s.Approve != nil:
		return Rejected
	}
	return TimedOut
}

// What a person may not do to a run.
var (
	ErrOpen    = errors.New("a step of these is still open: end it first")
	ErrAsks    = errors.New("the step waits for a person: approve or reject it")
	ErrEnding  = errors.New("the run is to end: do it once it has")
	ErrSuccess = errors.New("the step has succeeded")
	ErrNothing = errors.New("no step has failed")
)

// Skip leaves a step out that was not started, waits for a time or did not succeed. Those that need it are skipped with it, unless their conditions say otherwise.
func (r *Run) Skip(p *Plan, i int) error { return r.set(p, i, Skipped) }

// SetSuccess lets the flow go on as if a step that was not started, waits for a time or did not succeed had succeeded.
func (r *Run) SetSuccess(p *Plan, i int) error { return r.set(p, i, Success) }

// set gives a step a state by hand. What was not run because of it is decided anew; what has run stays as it is.
func (r *Run) set(p *Plan, i int, state State) error {
	s := &r.Steps[i]
	switch {
	case r.ending():
		return ErrEnding
	case s.State == Approval:
		return ErrAsks
	case s.State.Open() && p.steps[i].Wait == nil: // a wait has no run that would go on
		return ErrOpen
	case s.State == Success:
		return ErrSuccess
	}
	s.end(state)
	s.ByHand = true
	r.resume()
	return nil
}

func (r *Run) ending() bool {
	return r.Asked != AskedNothing && slices.ContainsFunc(r.Steps, func(s StepState) bool { return s.State.Open() })
}

// RerunFailed runs what failed or was cancelled once more, and all that comes after it. Of a foreach only the items run that did not succeed.
// A failure that counts as a success stays one: what came after it has gone on from there.
func (r *Run) RerunFailed(p *Plan) error {
	var again []int
	for i, s := range r.Steps {
		if p.Fails(i, s.State) || s.State == Cancelled {
			again = append(again, i)
		}
	}
	if len(again) == 0 {
		return ErrNothing
	}
	return r.rerun(p, again, true)
}

// RerunFrom runs a step once more, and all that comes after it.
func (r *Run) RerunFrom(p *Plan, i int) error { return r.rerun(p, []int{i}, false) }

func (r *Run) rerun(p *Plan, from []int, keepItems bool) error {
	var after []int
	for _, i := range from {
		after = union(after, p.steps[i].followers)
	}
	all := union(slices.Clone(from), after)
	if r.ending() {
		return ErrEnding
	}
	for _, i := range all {
		if r.Steps[i].State.Open() {
			return ErrOpen
		}
	}
	for _, i := range all {
		s := &r.Steps[i]
		items := Items{}
		if keepItems && slices.Contains(from, i) && !slices.Contains(after, i) {
			items = Items{Total: s.Items.Total, Succeeded: s.Items.Succeeded}
		}
		*s = StepState{State: Waiting, Attempt: s.Attempt, Items: items}
	}
	r.resume()
	return nil
}

// resume lets a run go on. What was skipped or cancelled without having begun is decided anew: its reason may be gone, and if it is not,
// the decision is the same again.
func (r *Run) resume() {
	r.Asked = AskedNothing
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.ByHand && (s.State == Skipped || s.State == Cancelled && !s.Begun) {
			s.end(Waiting)
		}
	}
}
