package console

import (
	"database/sql"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/views/ui"
)

// runFacts is what every kind of run row has, in one form: lists, details and followers select different columns.
type runFacts struct {
	outcome                 event.Outcome
	events                  event.List
	triggerCode, handleCode int64
	triggerNote, handleNote string // messages, or their beginnings
	address                 string
	triggered, handled      sql.NullTime
	planned, sent, finished int64 // epoch ms, 0 for none
}

func factsOf(r db.RunRow) runFacts {
	return runFacts{
		outcome: r.Outcome, events: event.Parse(r.Events),
		triggerCode: r.TriggerCode, handleCode: r.HandleCode, triggerNote: r.TriggerNote, handleNote: r.HandleNote,
		address: string(r.ExecutorAddress), triggered: r.TriggerTime, handled: r.HandleTime, planned: r.PlannedAt, sent: r.SentAt,
		finished: r.FinishedAt,
	}
}

func factsOfRun(r db.Run) runFacts {
	return runFacts{
		outcome: r.Outcome, events: event.Parse(string(r.Events)),
		triggerCode: r.TriggerCode, handleCode: r.HandleCode, triggerNote: string(r.TriggerMsg), handleNote: string(r.HandleMsg),
		address: string(r.ExecutorAddress), triggered: r.TriggerTime, handled: r.HandleTime, planned: r.PlannedAt, sent: r.SentAt,
		finished: r.FinishedAt,
	}
}

// factsOfLast is enough to say where a run stands.
func factsOfLast(r db.ListRunsByIDRow) runFacts {
	return runFacts{outcome: r.Outcome, triggerCode: r.TriggerCode, handleCode: r.HandleCode, handleNote: string(r.HandleMsg)}
}

// stateOfOutcome is where a run of the history bars stands.
func stateOfOutcome(o db.Outcome) ui.State {
	f := runFacts{outcome: o.Outcome, triggerCode: o.TriggerCode, handleCode: o.HandleCode, handleNote: o.Note}
	return f.state()
}

// state is where a run stands, in the words of the console.
func (f *runFacts) state() ui.State {
	switch f.outcome {
	case event.Open: // it waits or goes on, or it is an XXL-JOB admin that wrote how it ended
		return f.adoptedState()
	case event.Succeeded:
		return ui.StateSuccess
	case event.Failed:
		return ui.StateFailed
	case event.TimedOut:
		return ui.StateTimeout
	case event.NotSent:
		return ui.StateSendFailed
	case event.Unconfirmed:
		return ui.StateUnconfirmed
	case event.Killed:
		return ui.StateKilled
	case event.Lost:
		return ui.StateLost
	case event.Skipped:
		return ui.StateSkipped
	case event.Discarded:
		return ui.StateDiscarded
	case event.Stopped:
		return ui.StateStopped
	case event.Cancelled:
		return ui.StateCancelled
	}
	return f.adoptedState() // of a newer version
}

// words is what the executor said, line by line. To that the engine adds events in English, for who reads the column; here
// they are told apart by being the same.
func (f *runFacts) words() []string {
	lines := plainLines(f.handleNote)
	if len(f.events) == 0 {
		return lines
	}
	added := make(map[string]bool, len(f.events))
	for _, e := range f.events {
		added[e.String()] = true
	}
	return slices.DeleteFunc(lines, func(line string) bool { return added[line] })
}

// message is the first line of what there is to say about a run, and nothing about a plain success.
func (f *runFacts) message(t event.Teller) string {
	if why, ok := f.events.Reason(f.outcome); ok {
		return t.Tell(why)
	}
	if words := f.words(); len(words) > 0 {
		return words[0]
	}
	if stands, ok := f.events.Last(event.StandsFor); ok {
		return t.Tell(stands)
	}
	if f.handleCode == 0 && f.triggerCode != 0 && f.triggerCode != wire.CodeSuccess {
		return f.adoptedReason()
	}
	return ""
}

// reason is the event that the run's outcome came of; of one that stands for others, that it does.
func (f *runFacts) reason() (event.Event, bool) {
	if why, ok := f.events.Reason(f.outcome); ok {
		return why, true
	}
	return f.events.Last(event.StandsFor)
}

// maxFollows bounds the followers shown; a broadcast child may have many.
const maxFollows = 50

// followers are the runs that came of this one.
func (f *runFacts) followers() []int64 {
	var ids []int64
	for _, e := range f.events {
		if (e.Key == event.Retry || e.Key == event.Child) && len(ids) < maxFollows {
			ids = append(ids, e.Number(1))
		}
	}
	return ids
}

// start is when the run was planned; rows of an XXL-JOB admin know only when it was triggered.
func (f *runFacts) start(pool *db.Pool) time.Time {
	if f.planned > 0 {
		return time.UnixMilli(f.planned)
	}
	return fromWall(pool, f.triggered)
}

// span is from when to when the run took. end is zero while it goes on; began is zero if it was never sent.
func (f *runFacts) span(pool *db.Pool) (began, end time.Time) {
	began = fromMillis(f.sent)
	if began.IsZero() && f.planned == 0 && f.triggerCode == wire.CodeSuccess {
		began = fromWall(pool, f.triggered)
	}
	if f.handleCode == 0 {
		return began, time.Time{}
	}
	if end = fromMillis(f.finished); end.IsZero() {
		end = fromWall(pool, f.handled)
	}
	return began, end
}

func fromWall(pool *db.Pool, t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return pool.FromWall(t.Time)
}
