package account

import (
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// lateAfter is how late a fire may be sent and be on time, in ms.
const lateAfter = 1000

// Run is a run on record that a schedule made. Times are epoch ms.
type Run struct {
	ID          int64
	Planned     int64 // 0: an XXL-JOB admin's
	At          int64 // of an XXL-JOB admin's, to the second: when it was triggered
	Type        jobspec.TriggerType
	Shard       string // "index/total" of a broadcast
	TriggerCode int64
	HandleCode  int64
	SentAt      int64
	Outcome     event.Outcome
	Events      event.List
}

// unsentKeys are the events that say why a run was not sent.
var unsentKeys = []event.Key{
	event.Unreachable, event.Silent, event.Refused, event.NoExecutor, event.Nobody, event.NoGroup, event.NoRoute, event.NoSource, event.QueueFull, event.TooLate,
	event.DeadExecutor, event.MayHave, event.Unanswered, event.Full, event.Crowded, event.GroupFull, event.GroupCrowded, event.KilledAt, event.JobStopped, event.NotRecorded, event.Withdrawn,
}

// became is what a run says about its fire.
func (r *Run) became(now int64) (Class, event.Event) {
	switch r.Outcome {
	case event.Skipped:
		return Skipped, r.reason(event.SkippedFires, event.PausedFires, event.TooLate, event.MadeBefore)
	case event.NotSent, event.Unconfirmed, event.Discarded, event.Stopped, event.Cancelled:
		return NotSent, r.reason(unsentKeys...)
	case event.Lost:
		return Lost, r.reason(event.LostRun)
	case event.Killed:
		if r.SentAt == 0 {
			return NotSent, r.reason(event.KilledAt, event.KillAsked)
		}
	case event.Open, event.Succeeded, event.Failed, event.TimedOut:
	}
	switch {
	case r.TriggerCode != 0 && r.TriggerCode != wire.CodeSuccess:
		if r.Type == jobspec.TriggerMisfire && r.SentAt == 0 && r.Outcome == event.Open {
			return Skipped, r.reason(event.SkippedFires)
		}
		return NotSent, r.reason(unsentKeys...)
	case r.TriggerCode == 0 && r.HandleCode == 0 && r.Outcome == event.Open:
		if now-r.Planned > lateAfter {
			return Late, why(WhyUnsent)
		}
		return Pending, why(WhyUnsent)
	case r.SentAt == 0, r.SentAt-r.Planned > lateAfter:
		// Without a moment of sending: sent by an admin that died before it could say so.
		return Late, r.reason(event.Late, event.Waited, event.GroupWaited, event.TakenOver, event.FoundAgain)
	}
	return OnTime, event.Event{}
}

// reason is the newest of the run's events with one of some keys.
func (r *Run) reason(keys ...event.Key) event.Event {
	e, ok := r.Events.Last(keys...)
	if !ok && len(r.Events) == 0 && r.Outcome == event.Open {
		return why(WhyCodes)
	}
	return e
}

// cover are the fires that a run stands for, or that it says were skipped.
type cover struct {
	run      *Run
	from, to int64 // both included
	open     bool  // and those after, up to the next that has a run of its own
	assumed  bool  // the run does not say which: those before it, back to the last that has a run of its own
}

// covers are the fires that a misfire's run speaks of.
func (r *Run) covers() cover {
	if e, ok := r.Events.Last(event.StandsFor, event.SkippedFires, event.PausedFires, event.MadeBefore); ok {
		return cover{run: r, from: e.Number(2), to: e.Number(3), open: e.Text(1) != ""}
	}
	return cover{run: r, to: r.Planned, assumed: true}
}
