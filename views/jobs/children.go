package jobs

import (
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// children is the field of the child jobs: their ids as a text, which is what is stored.
func (p FormPage) children() ui.JobPicker {
	return ui.JobPicker{
		Field: p.field(FieldChildren).With(ui.Field{Hint: "12, 15", Optional: true}), Plain: !p.Pickable, Chosen: p.Children,
		Search: link.JobChildren(p.ID), Hint: p.T("jobs.children.search"), Help: p.T("jobs.children.help"),
	}
}
