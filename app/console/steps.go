package console

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/runs"
)

// stepOf is what an event is called in the timeline, and what it means to the run. Those that are more than one step, or that
// a page knows more of, are drawn by [stepList.event].
var stepOf = map[event.Key]struct {
	name  string
	state runs.StepState
}{
	event.Triggered: {runs.StepTriggered, runs.StepDone}, event.StandsFor: {runs.StepStandsFor, runs.StepDone},
	event.TakenOver: {runs.StepTakeover, runs.StepDone}, event.FoundAgain: {runs.StepTakeover, runs.StepDone},
	event.Waited: {runs.StepWaited, runs.StepDone}, event.Late: {runs.StepLate, runs.StepDone},
	event.Asked: {runs.StepAsked, runs.StepDone}, event.Routed: {runs.StepRouted, runs.StepDone},
	event.Known: {runs.StepAsked, runs.StepDone}, event.Unknown: {runs.StepAsked, runs.StepFailed}, event.MayHave: {runs.StepAsked, runs.StepFailed},
	event.Unreachable: {runs.StepSent, runs.StepFailed}, event.NotRecorded: {runs.StepSent, runs.StepFailed},
	event.NoExecutor: {runs.StepRouted, runs.StepFailed}, event.Nobody: {runs.StepRouted, runs.StepFailed},
	event.NoGroup: {runs.StepRouted, runs.StepFailed}, event.NoRoute: {runs.StepRouted, runs.StepFailed},
	event.NoScript: {runs.StepSent, runs.StepFailed}, event.NoSecret: {runs.StepSent, runs.StepFailed}, event.SecretsShut: {runs.StepSent, runs.StepFailed},
	event.SecretsHeld: {runs.StepSent, runs.StepFailed}, event.NoEnv: {runs.StepSent, runs.StepFailed},
	event.NoSource: {runs.StepSent, runs.StepFailed}, event.QueueFull: {runs.StepSent, runs.StepFailed},
	event.DeadExecutor: {runs.StepSent, runs.StepFailed}, event.JobStopped: {runs.StepPassed, runs.StepFailed},
	event.TooLate: {runs.StepPassed, runs.StepSkipped}, event.SkippedFires: {runs.StepPassed, runs.StepSkipped},
	event.Full: {runs.StepPassed, runs.StepSkipped}, event.Crowded: {runs.StepPassed, runs.StepSkipped},
	event.Withdrawn: {runs.StepPassed, runs.StepSkipped},
	event.KillAsked: {runs.StepKill, runs.StepDone}, event.KillFailed: {runs.StepKill, runs.StepFailed}, event.KilledAt: {runs.StepKill, runs.StepFailed},
	event.LostRun: {runs.StepLost, runs.StepFailed}, event.NotTold: {runs.StepNotTold, runs.StepFailed},
	event.LeftOpen: {runs.StepLost, runs.StepSkipped},
	event.Result:   {runs.StepResult, runs.StepDone},
	event.Retry:    {runs.StepFollow, runs.StepDone}, event.NoRetry: {runs.StepFollow, runs.StepSkipped},
	event.Child: {runs.StepFollow, runs.StepDone}, event.NoChild: {runs.StepFollow, runs.StepSkipped},
}

// stepList gathers the steps of a run.
type stepList struct {
	page   layout.Page
	zone   *time.Location
	teller event.Teller
	steps  []runs.Step
	before time.Time // of the step before
	seen   map[string]bool
}

func (t *stepList) add(name string, state runs.StepState, at time.Time, detail string) {
	s := runs.Step{Name: name, State: state, Detail: detail}
	if !at.IsZero() {
		s.At = format.Clock(at.In(t.zone))
		if !t.before.IsZero() && !at.Before(t.before) { // the clocks of two admins may disagree
			s.Delta = format.Delta(t.page.Printer, at.Sub(t.before))
		}
		if at.After(t.before) {
			t.before = at
		}
	}
	t.seen[name] = true
	t.steps = append(t.steps, s)
}

// steps draws the timeline: what is written down, in the order in which it happened, and what is still to come.
func (c *timelines) steps(page layout.Page, run *runstate.Run, state runstate.State) []runs.Step {
	t := &stepList{page: page, zone: c.zone, teller: c.teller(page), seen: make(map[string]bool)}
	planned := run.Start()
	began, ended := run.Span()
	for _, e := range run.Events {
		at := time.UnixMilli(e.At)
		if !t.seen[runs.StepPlanned] && !at.Before(planned) {
			t.add(runs.StepPlanned, runs.StepDone, planned, "")
		}
		if follows(e.Key) {
			t.result(run, state, ended)
		}
		t.event(e, at)
	}
	if !t.seen[runs.StepPlanned] {
		t.add(runs.StepPlanned, runs.StepDone, planned, "")
	}
	if !t.seen[runs.StepSent] && !began.IsZero() { // a row of an XXL-JOB admin knows no more
		t.add(runs.StepSent, runs.StepDone, began, run.Address)
	}
	t.result(run, state, ended)
	t.toCome(state)
	return t.steps
}

// follows says whether an event tells of what came of a run's result.
func follows(k event.Key) bool {
	return k == event.Retry || k == event.NoRetry || k == event.Child || k == event.NoChild
}

func (t *stepList) event(e event.Event, at time.Time) {
	switch e.Key {
	case event.Claimed:
		t.add(runs.StepClaimed, runs.StepDone, at, t.page.T("runs.step.by", "Name", e.Text(0)))
	case event.Sent:
		t.add(runs.StepSent, runs.StepDone, at, e.Text(0))
		t.add(runs.StepAnswered, runs.StepDone, at.Add(e.Duration(1)), strings.TrimSpace(e.Text(2)+" "+e.Text(3)))
	case event.Refused, event.Unanswered:
		t.add(runs.StepSent, runs.StepDone, at, e.Text(0))
		t.add(runs.StepAnswered, runs.StepFailed, at.Add(e.Duration(1)), t.teller.Tell(e))
	default:
		step := stepOf[e.Key]
		t.add(cmp.Or(step.name, runs.StepOther), cmp.Or(step.state, runs.StepDone), at, t.teller.Tell(e))
	}
}

// result is the executor's report, where there is one: what was killed or given up has an event of its own that says so, and
// so has a report that came late.
func (t *stepList) result(run *runstate.Run, state runstate.State, ended time.Time) {
	if _, late := run.Events.Last(event.Result); late || t.seen[runs.StepCalledBack] || run.HandleCode == 0 {
		return
	}
	code := strconv.FormatInt(run.HandleCode, 10)
	switch state {
	case runstate.Success:
		t.add(runs.StepCalledBack, runs.StepDone, ended, code)
	case runstate.Failed, runstate.Timeout:
		t.add(runs.StepCalledBack, runs.StepFailed, ended, code)
	case runstate.Killed, runstate.Lost:
		if run.HandleCode == wire.CodeSuccess || len(run.Events) == 0 {
			t.add(runs.StepCalledBack, runs.StepFailed, ended, code)
		}
	case runstate.Waiting, runstate.Sent, runstate.SendFailed, runstate.Unconfirmed, runstate.Skipped, runstate.Discarded, runstate.Stopped, runstate.Cancelled:
	}
}

// toCome are the steps that an open run still has before it. Until it is sent, where it stands is known to the admin that
// holds it alone.
func (t *stepList) toCome(state runstate.State) {
	if !state.Open() {
		return
	}
	next := runs.StepActive
	for _, name := range []string{runs.StepRouted, runs.StepSent, runs.StepAnswered, runs.StepCalledBack} {
		if t.seen[name] || state == runstate.Sent && name != runs.StepCalledBack {
			continue
		}
		t.add(name, next, time.Time{}, "")
		next = runs.StepPending
	}
}
