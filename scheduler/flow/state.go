package flow

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
)

// State is where a step stands in a run, and where the run of a flow stands. The numbers are stored.
type State uint8

const (
	Waiting   State = 0 // what it needs has not ended
	Running   State = 1 // it is started: its run, its items, or its time goes on
	Approval  State = 2 // it waits for a person
	Success   State = 3
	Failed    State = 4
	Skipped   State = 5 // its condition does not hold, or a person left it out
	Cancelled State = 6 // it was stopped, or not started because the run was
	TimedOut  State = 7
	Rejected  State = 8 // a person said no, or nobody said anything in time
)

var stateNames = [...]string{"waiting", "running", "approval", "success", "failed", "skipped", "cancelled", "timeout", "rejected"}

// AllStates are they by their numbers.
var AllStates = []State{Waiting, Running, Approval, Success, Failed, Skipped, Cancelled, TimedOut, Rejected}

// String is the word for it: in expressions, in keys of messages, and for programs.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Valid says whether there is such a state.
func (s State) Valid() bool { return int(s) < len(stateNames) }

// Open says whether it is started and has not ended.
func (s State) Open() bool { return s == Running || s == Approval }

// Ended says whether nothing more comes of it.
func (s State) Ended() bool { return s.Valid() && s != Waiting && !s.Open() }

// IsFailure says whether failure() knows it as one.
func (s State) IsFailure() bool { return s == Failed || s == TimedOut || s == Rejected }

// StepState is what is on record of a step in a run.
type StepState struct {
	State   State
	Attempt int   // how often it was started
	Ending  bool  // it is open, and its end was asked for
	Late    bool  // so it was because its time is over
	Begun   bool  // it was started since it last waited
	ByHand  bool  // a person decided its state
	Items   Items // of a foreach, while it is open and afterwards
}

// Items count the items of a foreach.
type Items struct {
	Total     int // 0 until the list is known
	Open      int
	Succeeded int
	Failed    int // failed, timed out or rejected
	Cancelled int
}

// Ended is how many have.
func (i Items) Ended() int { return i.Succeeded + i.Failed + i.Cancelled }

// Waiting is how many were not started.
func (i Items) Waiting() int { return i.Total - i.Open - i.Ended() }

// Run is what is on record of a run of a flow.
type Run struct {
	Steps []StepState // one for each step of the definition, in its order
	Asked Asked
}

// Asked says whether the run is to end before its steps have.
type Asked uint8

// What may be asked of a run. The numbers are stored.
const (
	AskedNothing Asked = 0
	AskedStop    Asked = 1 // a person or a later run of the flow (cover) ends it
	AskedTimeout Asked = 2 // its time is over
)

// Decision is what is to be done. Its order follows the definition, whatever the order of what happened.
type Decision struct {
	Start  []Start
	End    []End  // steps that end without anything being started: skipped, cancelled, not evaluated; and the joins of foreach
	Cancel []int  // open steps whose runs have to be ended; their ends are recorded when they come
	Finish State  // how the run of the flow has ended; Waiting: it has not
	Fault  *Fault // of a run that has failed though all steps have succeeded: an output has no value
}

// Start is a step that starts, or further items of one.
type Start struct {
	Step int // its place in the definition
	// Param is what its job gets: evaluated, but for secrets. nil: the job's own. Of a foreach each item has its own: [Plan.Params].
	Param *string
	List  []any // of a foreach that begins: its items
	Items int   // of a foreach: how many of those that wait are started now, the first ones
	// Text is what an approval asks, or the list of a foreach that begins, as JSON; Until is when a wait ends that is for a moment.
	Text  string
	Until time.Time
}

// End is a step that ends by decision.
type End struct {
	Step  int
	State State
	Fault *Fault // why an expression of it has no value; the step failed
}

// Empty says whether there is nothing to do.
func (d Decision) Empty() bool {
	return len(d.Start) == 0 && len(d.End) == 0 && len(d.Cancel) == 0 && d.Finish == Waiting
}

// StateOf is the state of a step whose run ended in a way: what was stopped by hand is cancelled, and whatever else is no success failed.
func StateOf(o event.Outcome) State {
	switch o {
	case event.Open:
		return Running
	case event.Succeeded:
		return Success
	case event.TimedOut:
		return TimedOut
	case event.Killed:
		return Cancelled
	case event.Failed, event.NotSent, event.Unconfirmed, event.Lost, event.Skipped, event.Discarded, event.Stopped, event.Cancelled:
	}
	return Failed
}
