package console

import (
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
		if at := localTime(f.At, c.timesOf(page), 0); !at.IsZero() {
			text = page.T("jobs.show.due.at", "At", at.Format("15:04"))
		}
	}
	without := f
	without.Show, without.At, without.Page = "", "", 0
	return []ui.Chip{{Text: text, Without: link.Jobs(without)}}
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
