package console

import (
	"cmp"
	"slices"
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
	event.Triggered: {runs.StepTriggered, runs.StepDone}, event.Backfilled: {runs.StepTriggered, runs.StepDone}, event.StandsFor: {runs.StepStandsFor, runs.StepDone},
	event.TakenOver: {runs.StepTakeover, runs.StepDone}, event.FoundAgain: {runs.StepTakeover, runs.StepDone},
	event.Waited: {runs.StepWaited, runs.StepDone}, event.GroupWaited: {runs.StepWaited, runs.StepDone}, event.Late: {runs.StepLate, runs.StepDone},
	event.Asked:     {runs.StepAsked, runs.StepDone},
	event.Filled:    {runs.StepFilled, runs.StepDone},
	event.SentAgain: {runs.StepAsked, runs.StepDone}, event.Known: {runs.StepAsked, runs.StepDone}, event.Unknown: {runs.StepAsked, runs.StepFailed}, event.MayHave: {runs.StepAsked, runs.StepFailed},
	event.Unreachable: {runs.StepSent, runs.StepFailed}, event.Silent: {runs.StepSent, runs.StepFailed}, event.NotRecorded: {runs.StepSent, runs.StepFailed},
	event.NoExecutor: {runs.StepRouted, runs.StepFailed}, event.Nobody: {runs.StepRouted, runs.StepFailed},
	event.NoGroup: {runs.StepRouted, runs.StepFailed}, event.NoRoute: {runs.StepRouted, runs.StepFailed},
	event.NoScript: {runs.StepSent, runs.StepFailed}, event.NoSecret: {runs.StepSent, runs.StepFailed}, event.SecretsShut: {runs.StepSent, runs.StepFailed},
	event.SecretsHeld: {runs.StepSent, runs.StepFailed}, event.NoEnv: {runs.StepSent, runs.StepFailed},
	event.NoSource: {runs.StepSent, runs.StepFailed}, event.QueueFull: {runs.StepSent, runs.StepFailed},
	event.DeadExecutor: {runs.StepSent, runs.StepFailed}, event.JobStopped: {runs.StepPassed, runs.StepFailed},
	event.TooLate: {runs.StepPassed, runs.StepSkipped}, event.SkippedFires: {runs.StepPassed, runs.StepSkipped},
	event.PausedFires: {runs.StepPassed, runs.StepSkipped}, event.MadeBefore: {runs.StepPassed, runs.StepSkipped}, event.HeldBack: {runs.StepStandsFor, runs.StepDone},
	event.Full: {runs.StepPassed, runs.StepSkipped}, event.Crowded: {runs.StepPassed, runs.StepSkipped},
	event.GroupFull: {runs.StepPassed, runs.StepSkipped}, event.GroupCrowded: {runs.StepPassed, runs.StepSkipped},
	event.Withdrawn: {runs.StepPassed, runs.StepSkipped},
	event.KillAsked: {runs.StepKill, runs.StepDone}, event.KillFailed: {runs.StepKill, runs.StepFailed}, event.KilledAt: {runs.StepKill, runs.StepFailed},
	event.LostRun: {runs.StepLost, runs.StepFailed}, event.NotTold: {runs.StepNotTold, runs.StepFailed},
	event.Awaits: {runs.StepAwaited, runs.StepDone}, event.Reported: {runs.StepAwaited, runs.StepDone}, event.NoReport: {runs.StepAwaited, runs.StepFailed},
	event.LeftOpen: {runs.StepLost, runs.StepSkipped},
	event.EndLate:  {runs.StepEnded, runs.StepDone}, event.EndUnsure: {runs.StepEnded, runs.StepSkipped},
	event.Result: {runs.StepResult, runs.StepDone},
	event.Retry:  {runs.StepFollow, runs.StepDone}, event.NoRetry: {runs.StepFollow, runs.StepSkipped},
	event.FlowBegan: {runs.StepFlow, runs.StepDone}, event.FlowStep: {runs.StepFlow, runs.StepDone},
	event.FlowFailed: {runs.StepFlow, runs.StepFailed}, event.FlowCause: {runs.StepFlow, runs.StepFailed}, event.FlowRejected: {runs.StepFlow, runs.StepFailed},
	event.FlowSilent: {runs.StepFlow, runs.StepFailed}, event.FlowLate: {runs.StepFlow, runs.StepFailed}, event.FlowItems: {runs.StepFlow, runs.StepFailed}, event.FlowOutputs: {runs.StepFlow, runs.StepFailed}, event.NoFlow: {runs.StepFlow, runs.StepFailed},
	event.Child: {runs.StepFollow, runs.StepDone}, event.NoChild: {runs.StepFollow, runs.StepSkipped},
}

// stepList gathers the steps of a run.
type stepList struct {
	page    layout.Page
	zone    *time.Location
	planned time.Time // whose day stands above the steps
	teller  event.Teller
	steps   []timedStep
	seen    map[string]bool
	routed  string // the address that was chosen last, as a step has said
	end     string // the step that says how it ended: a run of a flow is sent to no executor, and none reports its end
}

// timedStep is a step and its moment; zero while it is still to come.
type timedStep struct {
	runs.Step
	at time.Time
}

func (t *stepList) add(name string, state runs.StepState, at time.Time, detail string) {
	s := timedStep{Step: runs.Step{Name: name, State: state, Detail: detail}, at: at}
	if !at.IsZero() {
		s.At = format.Clock(at.In(t.zone), t.planned.In(t.zone))
	}
	t.seen[name] = true
	t.steps = append(t.steps, s)
}

// inOrder is the steps in the order in which they happened: what was noted late stands where it belongs. All admins go by one
// clock. The first step tells how far ahead of the planned time it was, the later ones how long after the step before.
func (t *stepList) inOrder() []runs.Step {
	slices.SortStableFunc(t.steps, func(a, b timedStep) int {
		if a.at.IsZero() || b.at.IsZero() {
			return cmp.Compare(b.at.UnixMilli(), a.at.UnixMilli()) // what is to come is last
		}
		return a.at.Compare(b.at)
	})
	steps := make([]runs.Step, len(t.steps))
	var before time.Time
	for i, s := range t.steps {
		switch {
		case s.at.IsZero() || s.Name == runs.StepPlanned:
		case before.IsZero() && s.at.Before(t.planned):
			s.Delta = t.page.T("runs.step.ahead", "By", format.Duration(t.page.Printer, t.planned.Sub(s.at)))
		case !before.IsZero():
			s.Delta = format.Delta(t.page.Printer, s.at.Sub(before))
		}
		before, steps[i] = s.at, s.Step
	}
	return steps
}

// steps draws the timeline: what is written down, what the run waits for (runs.StepWaits…, or nothing), and what is still to come.
func (c *timelines) steps(page layout.Page, run *runstate.Run, state runstate.State, waits string, flow bool) []runs.Step {
	t := &stepList{page: page, zone: c.timesOf(page), planned: run.Start(), teller: c.teller(page), seen: make(map[string]bool), end: runs.StepCalledBack}
	if flow {
		t.end = runs.StepEnded
	}
	began, ended := run.Span()
	t.add(runs.StepPlanned, runs.StepDone, t.planned, "")
	for _, e := range run.Events {
		if follows(e.Key) {
			t.result(run, state, ended)
		}
		t.event(e, time.UnixMilli(e.At))
	}
	if !t.seen[runs.StepSent] && !began.IsZero() && !flow { // a row of an XXL-JOB admin knows no more
		t.add(runs.StepSent, runs.StepDone, began, run.Address)
	}
	t.result(run, state, ended)
	t.toCome(state, waits)
	return t.inOrder()
}

// follows says whether an event tells of what came of a run's result.
func follows(k event.Key) bool {
	return k == event.Retry || k == event.NoRetry || k == event.Child || k == event.NoChild
}

func (t *stepList) event(e event.Event, at time.Time) {
	switch e.Key {
	case event.Claimed:
		name := e.Text(0)
		if id := e.Number(1); id != 0 { // as the page of the nodes calls it: several may have one name
			name += " #" + format.Digits(id)
		}
		t.add(runs.StepClaimed, runs.StepDone, at, t.page.T("runs.step.by", "Name", name))
	case event.Routed:
		t.routed = e.Text(1)
		t.add(runs.StepRouted, runs.StepDone, at, t.teller.Tell(e))
	case event.Sent:
		t.add(runs.StepSent, runs.StepDone, at, t.to(e.Text(0)))
		answer := strings.TrimSpace(e.Text(2) + " " + e.Text(3))
		t.add(runs.StepAnswered, runs.StepDone, at.Add(e.Duration(1)), unlessOK(answer))
	case event.Refused, event.Unanswered:
		t.add(runs.StepSent, runs.StepDone, at, t.to(e.Text(0)))
		t.add(runs.StepAnswered, runs.StepFailed, at.Add(e.Duration(1)), t.teller.Tell(e))
	case event.EndLate:
		t.add(runs.StepEnded, runs.StepDone, at.Add(-e.Duration(0)), t.teller.Tell(e))
	default:
		step := stepOf[e.Key]
		t.add(cmp.Or(step.name, runs.StepOther), cmp.Or(step.state, runs.StepDone), at, t.teller.Tell(e))
	}
}

// to is an address that a run was sent to, where the step before has not said it.
func (t *stepList) to(address string) string {
	if address == t.routed {
		return ""
	}
	return address
}

// unlessOK is a code, and what was said with it, where that is more than that all went well.
func unlessOK(answer string) string {
	if answer == strconv.Itoa(wire.CodeSuccess) {
		return ""
	}
	return answer
}

// result is how the run ended: the executor's report, where there was one. What was killed or given up has an event of its own that
// says so, and so has a report that came late; of a row of an XXL-JOB admin its words tell.
func (t *stepList) result(run *runstate.Run, state runstate.State, ended time.Time) {
	if _, late := run.Events.Last(event.Result); late || t.seen[t.end] || run.HandleCode == 0 {
		return
	}
	if e, late := run.Events.Last(event.EndLate); late {
		ended = time.UnixMilli(e.At) // that is when the report came
	}
	code := strconv.FormatInt(run.HandleCode, 10)
	if t.end == runs.StepEnded {
		code = "" // nobody reported one
	}
	switch state {
	case runstate.Success:
		t.add(t.end, runs.StepDone, ended, unlessOK(code))
	case runstate.Failed, runstate.Timeout:
		t.add(t.end, runs.StepFailed, ended, code)
	case runstate.Killed, runstate.Lost:
		switch {
		case run.ReportedBack():
			t.add(t.end, runs.StepFailed, ended, code)
		case len(run.Events) > 0:
		case state == runstate.Lost:
			t.add(runs.StepLost, runs.StepFailed, ended, run.Message(t.teller))
		default:
			t.add(runs.StepKill, runs.StepFailed, ended, run.Message(t.teller))
		}
	case runstate.Waiting, runstate.Sent, runstate.SendFailed, runstate.Unconfirmed, runstate.Skipped, runstate.Discarded, runstate.Stopped, runstate.Cancelled:
	}
}

// toCome are the steps that an open run still has before it. Until it is sent, where it stands is known to the admin that
// holds it alone.
func (t *stepList) toCome(state runstate.State, waits string) {
	if !state.Open() {
		return
	}
	next := runs.StepActive
	if waits != "" {
		t.add(waits, runs.StepWaiting, time.Time{}, "")
		next = runs.StepPending
	}
	names := []string{runs.StepRouted, runs.StepSent, runs.StepAnswered, t.end}
	if t.end == runs.StepEnded {
		names = []string{runs.StepFlow, t.end}
	}
	for _, name := range names {
		if t.seen[name] || state == runstate.Sent && name != t.end {
			continue
		}
		t.add(name, next, time.Time{}, "")
		next = runs.StepPending
	}
}
