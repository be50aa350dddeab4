package console

import (
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// addOutcomes gives the rows of a page what became of their newest runs: the last one, and the history bars.
func (c *jobPages) addOutcomes(page layout.Page, rows []jobs.Row, outcomes map[int64][]db.Outcome) {
	for i := range rows {
		list := outcomes[rows[i].ID]
		rows[i].History = historyOf(list)
		if len(list) == 0 {
			continue
		}
		last := lastOutcome(list, c.now())
		of := runFacts{triggered: last.TriggerTime, planned: last.PlannedAt}
		rows[i].Last = jobs.LastRun{LogID: last.ID, State: stateOfOutcome(last), At: c.at(page, of.start(c.wall))}
	}
}

// lastOutcome is the newest run whose time has come. Fires are claimed ahead: a job that fires every few seconds would else
// always be about to run, and never have failed.
func lastOutcome(newestFirst []db.Outcome, now time.Time) db.Outcome {
	for _, o := range newestFirst {
		if o.TriggerCode != 0 || o.HandleCode != 0 || o.PlannedAt <= now.UnixMilli() {
			return o
		}
	}
	return newestFirst[0]
}

// historyOf turns runs, newest first, into bars, oldest first.
func historyOf(outcomes []db.Outcome) jobs.History {
	s := make(jobs.History, len(outcomes))
	for i, o := range outcomes {
		s[len(outcomes)-1-i] = markOf(stateOfOutcome(o))
	}
	return s
}

func markOf(s ui.State) jobs.Mark {
	switch s {
	case ui.StateSuccess:
		return jobs.MarkGood
	case ui.StateWaiting, ui.StateSent:
		return jobs.MarkOpen
	case ui.StateKilled:
		return jobs.MarkKilled
	case ui.StateSkipped, ui.StateDiscarded, ui.StateCancelled:
		return jobs.MarkSkipped
	case ui.StateFailed, ui.StateTimeout, ui.StateSendFailed, ui.StateUnconfirmed, ui.StateLost, ui.StateStopped:
		return jobs.MarkBad
	default:
		return jobs.MarkBad
	}
}
