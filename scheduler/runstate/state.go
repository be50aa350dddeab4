// Package runstate says where a run stands, for every face of the program alike: by its outcome, and where it has none, as the rows
// of an XXL-JOB admin, by its codes and its texts. Nothing that changes a run reads what this package makes of texts.
package runstate

import "github.com/punctual-job/punctual/scheduler/event"

// State is where a run stands: how it ended, or how far it has come.
type State string

// The states. Each has an icon, a colour and the message "state.<value>".
const (
	Waiting     State = "waiting"     // planned, not sent yet
	Sent        State = "sent"        // the executor took it; its result is awaited
	Success     State = "success"     // the executor reported success
	Failed      State = "failed"      // the executor reported failure
	Timeout     State = "timeout"     // the executor stopped it at its time limit
	SendFailed  State = "sendfailed"  // no executor took it
	Unconfirmed State = "unconfirmed" // it was sent, and nobody can say whether it arrived
	Killed      State = "killed"      // ended by an operator
	Lost        State = "lost"        // its result never came
	Skipped     State = "skipped"     // a planned fire whose time had passed, left out on purpose
	Discarded   State = "discarded"   // left out because the job may not have more runs at a time
	Cancelled   State = "cancelled"   // a retry that was not needed
	Stopped     State = "stopped"     // its job's schedule cannot be read
)

// ofOutcome is where runs stand that have ended.
var ofOutcome = map[event.Outcome]State{
	event.Succeeded: Success, event.Failed: Failed, event.TimedOut: Timeout, event.NotSent: SendFailed, event.Unconfirmed: Unconfirmed, event.Killed: Killed,
	event.Lost: Lost, event.Skipped: Skipped, event.Discarded: Discarded, event.Stopped: Stopped, event.Cancelled: Cancelled,
}

// Of is where a run stands of which no more is known.
func Of(o event.Outcome, triggerCode, handleCode int64, handleNote string) State {
	r := Run{Outcome: o, TriggerCode: triggerCode, HandleCode: handleCode, HandleNote: handleNote}
	return r.State()
}

func All() []State {
	return []State{
		Waiting, Sent, Success, Failed, Timeout, SendFailed, Unconfirmed, Killed, Lost,
		Skipped, Discarded, Cancelled, Stopped,
	}
}

// Open says whether the run has not ended yet.
func (s State) Open() bool { return s == Waiting || s == Sent }

// Broadcast is where a broadcast stands, by its parts, and how many of these have succeeded: it has when each has, and goes on
// while any does.
func Broadcast(parts []State) (whole State, succeeded int) {
	whole = Success
	for _, s := range parts {
		switch {
		case s == Success:
			succeeded++
		case s.Open():
			whole = Sent
		case whole == Success:
			whole = Failed
		}
	}
	return whole, succeeded
}
