package console

import (
	"time"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

const (
	// barRoom is how many times the usual duration the bars have room for: one run that hung would else make all others flat.
	barRoom = 4
	// barLeast and barLeastBad are the lowest bars, of 100: that a run failed must be seen however soon it did, and whether or not it was tried again.
	barLeast    = 4
	barLeastBad = 10
)

// took is how long a run took, or has so far; 0 where it never began.
func (c *frame) took(run *runstate.Run) time.Duration {
	began, end := run.Span()
	switch {
	case began.IsZero() || run.TriggerCode != wire.CodeSuccess:
		return 0
	case end.IsZero():
		return max(0, c.now().Sub(began))
	}
	return max(0, end.Sub(began))
}

// tookText is a duration as it may be said of a run: of one whose end is not known exactly it is how long the run took at most.
func tookText(page layout.Page, run *runstate.Run, took time.Duration) string {
	text := format.Duration(page.Printer, took)
	if !run.EndsFrom().IsZero() {
		return page.T("runs.atmost", "Span", text)
	}
	return text
}

// runBars draws runs of one job, newest first, as bars.
func (c *frame) runBars(page layout.Page, rows []db.RunRow, usual manage.Durations, this int64) ui.RunBars {
	runs, times := make([]*runstate.Run, len(rows)), make([]time.Duration, len(rows))
	var top time.Duration
	for i, r := range rows {
		runs[i] = c.record(r)
		if times[i] = c.took(runs[i]); !runs[i].EndsFrom().IsZero() {
			continue // drawn as low as can be: its height would be the time in which nobody took its result
		}
		top = max(top, times[i])
	}
	bars := ui.RunBars{Bars: make([]ui.RunBar, len(rows))}
	if room := barRoom * usual.P50; usual.P50 > 0 && top > room {
		top = max(room, usual.P95)
	}
	if top > 0 {
		bars.Top = format.Duration(page.Printer, top)
		bars.Usual = min(100, 100*float64(usual.P50)/float64(top))
	}
	marks := make(jobs.History, len(rows))
	for i, r := range rows {
		state := runs[i].State()
		bar := ui.RunBar{LogID: r.ID, State: state, At: c.at(page, runs[i].Start()), Height: barLeast, Unlike: unlike(usual, runs[i], times[i]), This: r.ID == this}
		marks[i] = markOf(state, runs[i].Events)
		bar.Retried = marks[i] == jobs.MarkRetried
		if marks[i] == jobs.MarkBad || bar.Retried {
			bar.Height = barLeastBad
		}
		if times[i] > 0 {
			bar.Duration = tookText(page, runs[i], times[i])
		}
		if times[i] > 0 && runs[i].EndsFrom().IsZero() {
			bar.Cut = times[i] > top
			bar.Height = max(bar.Height, min(100, 100*float64(times[i])/float64(top)))
		}
		bars.Bars[len(rows)-1-i] = bar
	}
	bars.Label = marks.Label(page)
	return bars
}

// unlike says by how much a duration is unlike a job's past; empty where it is not.
func unlike(usual manage.Durations, run *runstate.Run, took time.Duration) string {
	if f := usual.Unlike(took); f > 0 && run.EndsFrom().IsZero() {
		return times(f)
	}
	return ""
}

// times writes a factor: "×6.3".
func times(f float64) string { return "×" + format.Rate(f) }
