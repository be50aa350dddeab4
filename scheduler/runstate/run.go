package runstate

import (
	"slices"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// Run is what is on record of a run, in one form: lists, details and followers select different columns.
type Run struct {
	Outcome                 event.Outcome
	Events                  event.List
	TriggerCode, HandleCode int64
	TriggerNote, HandleNote string // messages, or their beginnings
	Address                 string
	Triggered, Handled      time.Time // to the second; zero: never
	Planned, Sent, Finished int64     // epoch ms, 0 for none
}

// State is where a run stands.
func (r *Run) State() State {
	if s, ended := ofOutcome[r.Outcome]; ended {
		return s
	}
	return r.adoptedState() // it waits or goes on, or it is an XXL-JOB admin that wrote how it ended, or a newer version
}

// Words is what the executor said, line by line. To that the engine adds events in English, for who reads the column; here
// they are told apart by being the same.
func (r *Run) Words() []string {
	lines := Lines(r.HandleNote)
	if len(r.Events) == 0 {
		return lines
	}
	if _, told := r.Events.Last(event.FlowCause, event.FlowOutputs); told { // a run of a flow, which no executor had
		return nil
	}
	added := make(map[string]bool, len(r.Events))
	for _, e := range r.Events {
		added[e.String()] = true
	}
	return slices.DeleteFunc(lines, func(line string) bool { return added[line] })
}

// Message is the first line of what there is to say about a run, and nothing about a plain success.
func (r *Run) Message(t event.Teller) string {
	if why, ok := r.Events.Reason(r.Outcome); ok {
		return t.Tell(why)
	}
	if words := r.Words(); len(words) > 0 {
		return words[0]
	}
	if stands, ok := r.Events.Last(event.StandsFor); ok {
		return t.Tell(stands)
	}
	if r.HandleCode == 0 && r.TriggerCode != 0 && r.TriggerCode != wire.CodeSuccess {
		return r.adoptedReason()
	}
	return ""
}

// Reason is the event that the run's outcome came of; of one that stands for others, that it does.
func (r *Run) Reason() (event.Event, bool) {
	if why, ok := r.Events.Reason(r.Outcome); ok {
		return why, true
	}
	return r.Events.Last(event.StandsFor)
}

// maxFollows bounds the followers shown; a broadcast child may have many.
const maxFollows = 50

// Followers are the runs that came of this one.
func (r *Run) Followers() []int64 {
	var ids []int64
	for _, e := range r.Events {
		if (e.Key == event.Retry || e.Key == event.Child) && len(ids) < maxFollows {
			ids = append(ids, e.Number(1))
		}
	}
	return ids
}

// Start is when the run was planned; rows of an XXL-JOB admin know only when it was triggered.
func (r *Run) Start() time.Time {
	if r.Planned > 0 {
		return time.UnixMilli(r.Planned)
	}
	return r.Triggered
}

// Span is from when to when the run took. end is zero while it goes on; began is zero if it was never sent.
func (r *Run) Span() (began, end time.Time) {
	began = instant(r.Sent)
	if began.IsZero() && r.Planned == 0 && r.TriggerCode == wire.CodeSuccess {
		began = r.Triggered
	}
	if r.HandleCode == 0 {
		return began, time.Time{}
	}
	if end = instant(r.Finished); end.IsZero() {
		end = r.Handled
	}
	return began, end
}

// EndsFrom is since when the run may have ended whose end is not known exactly: the end of [Run.Span] is the latest then, and what lies
// between its ends is how long it took at most. Zero for all others.
func (r *Run) EndsFrom() time.Time {
	if e, ok := r.Events.Last(event.EndUnsure); ok && r.HandleCode != 0 {
		return e.Time(0)
	}
	return time.Time{}
}

// instant is one of a BIGINT column, in which 0 stands for none.
func instant(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// HasOutput says whether an executor may have output of the run.
func (r *Run) HasOutput() bool {
	return r.Address != "" && (r.TriggerCode == wire.CodeSuccess || r.HandleCode != 0 || r.Outcome == event.Unconfirmed)
}

// Reported says whether no more output is to come.
func (r *Run) Reported() bool { return r.HandleCode != 0 || r.Outcome.Ended() }
