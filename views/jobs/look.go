package jobs

import (
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// Columns are those of the job list that can be hidden.
var Columns = []ui.Column{
	{Name: "schedule", Label: "jobs.column.schedule"}, {Name: "code", Label: "jobs.column.code"}, {Name: "next", Label: "jobs.column.next"},
	{Name: "last", Label: "jobs.column.last"}, {Name: "history", Label: "jobs.column.history"}, {Name: "author", Label: "jobs.column.author"},
}

// sorting is the order of the list.
func (p ListPage) sorting() ui.Sorting {
	return ui.Sorting{
		Now: p.Filter.Sort, Choices: ui.Labelled(p.Printer, "jobs.sort.", link.JobSorts(), p.Filter.Sort, false),
		Address: func(sort string) string {
			f := p.Filter
			f.Sort, f.Page = sort, 0
			return link.Jobs(f)
		},
	}
}
