package console

import (
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
)

// addOutcomes gives the rows of a page what became of their newest runs: the last one, and the history bars.
func (c *jobPages) addOutcomes(page layout.Page, rows []jobs.Row, outcomes map[int64][]db.Outcome) {
	for i := range rows {
		list := outcomes[rows[i].ID]
		rows[i].History = historyOf(list)
		if len(list) == 0 {
			continue
		}
		last := manage.LastOutcome(list, c.now())
		of := runstate.Run{Triggered: c.wall.InstantOf(last.TriggerTime), Planned: last.PlannedAt}
		rows[i].Last = jobs.LastRun{LogID: last.ID, State: stateOf(last), At: c.at(page, of.Start())}
	}
}

func stateOf(o db.Outcome) runstate.State {
	return runstate.Of(o.Outcome, o.TriggerCode, o.HandleCode, o.Note)
}

// historyOf turns runs, newest first, into bars, oldest first.
func historyOf(outcomes []db.Outcome) jobs.History {
	s := make(jobs.History, len(outcomes))
	for i, o := range outcomes {
		s[len(outcomes)-1-i] = markOf(stateOf(o), event.Parse(o.Events))
	}
	return s
}

// markOf is how a run ended. One that failed and was tried again says nothing of its fire: the next attempt does.
func markOf(s runstate.State, events event.List) jobs.Mark {
	switch s {
	case runstate.Success:
		return jobs.MarkGood
	case runstate.Waiting, runstate.Sent:
		return jobs.MarkOpen
	case runstate.Killed:
		return jobs.MarkKilled
	case runstate.Skipped, runstate.Discarded, runstate.Cancelled:
		return jobs.MarkSkipped
	case runstate.Failed, runstate.Timeout, runstate.SendFailed, runstate.Unconfirmed, runstate.Lost, runstate.Stopped:
		if _, retried := events.Last(event.Retry); retried {
			return jobs.MarkRetried
		}
		return jobs.MarkBad
	default:
		return jobs.MarkBad
	}
}
