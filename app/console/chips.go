package console

import (
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// The filters that only the dashboard's numbers set stand above the list they narrow.

func (c *jobPages) jobChips(page layout.Page, f link.JobFilter) []ui.Chip {
	if f.Show == "" {
		return nil
	}
	text := page.T("jobs.show." + f.Show)
	if f.Show == link.ShowDue {
		if at := link.LocalTime(f.At, c.timesOf(page), 0); !at.IsZero() {
			text = page.T("jobs.show.due.at", "At", at.Format("15:04"))
			if f.Until != "" {
				text = c.dueChip(page, at, link.LocalTime(f.Until, c.timesOf(page), 0))
			}
		}
	}
	without := f
	without.Show, without.At, without.Until, without.Page = "", "", "", 0
	return []ui.Chip{{Text: text, Without: link.Jobs(without)}}
}

// dueChip says when the jobs of a list are due, or why it has none.
func (c *jobPages) dueChip(page layout.Page, from, until time.Time) string {
	last := until.Format("01-02 15:04")
	if until.Format(time.DateOnly) == from.Format(time.DateOnly) {
		last = until.Format("15:04")
	}
	switch {
	case !from.Before(until) || until.Sub(from) > dashboard.AheadDays*24*time.Hour:
		return page.T("jobs.show.due.wrong", "Days", strconv.Itoa(dashboard.AheadDays))
	case !c.now().Before(until):
		return page.T("jobs.show.due.over", "From", from.Format("01-02 15:04"), "Until", last)
	}
	return page.T("jobs.show.due.between", "From", from.Format("01-02 15:04"), "Until", last)
}

func runChips(page layout.Page, f link.RunFilter) []ui.Chip {
	if f.Show == "" {
		return nil
	}
	without := f
	without.Show, without.Before, without.After = "", 0, 0
	return []ui.Chip{{Text: page.T("runs.show." + f.Show), Without: link.Runs(without)}}
}

func groupChips(page layout.Page, f link.GroupFilter, found int64) []ui.Chip {
	if f.State == "" {
		return nil
	}
	without := f
	without.State, without.Page = "", 0
	return []ui.Chip{{Text: page.T("groups.show."+f.State, "N", format.Number(found)), Without: link.Executors(without)}}
}
