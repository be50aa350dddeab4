package runs

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// Columns are those of the run list that can be hidden.
var Columns = []ui.Column{
	{Name: "duration", Label: "runs.column.duration"}, {Name: "lateness", Label: "runs.column.lateness"},
	{Name: "address", Label: "runs.column.address"}, {Name: "message", Label: "runs.column.message"},
}

// sorting is the order of the list.
func (p ListPage) sorting() ui.Sorting {
	return ui.Sorting{
		Now: p.Filter.Sort, Choices: ui.Labelled(p.Printer, "runs.sort.", link.RunSorts(), p.Filter.Sort, false),
		Address: func(sort string) string {
			f := p.Filter
			f.Sort, f.Before, f.After, f.Deep = sort, 0, 0, false
			return link.Runs(f)
		},
	}
}

// sortedText says among which runs the list was sorted.
func (p ListPage) sortedText() string {
	n := format.Number(int64(p.Sorted))
	if p.Reached.IsZero() {
		return p.T("runs.sorted.all", "Count", p.Sorted, "N", n)
	}
	return p.T("runs.sorted.newest", "Count", p.Sorted, "N", n, "At", p.Reached.Absolute)
}
