package jobs

import (
	"strconv"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// Child is a job in the picker of children.
type Child struct {
	ID    int64
	Name  string // empty for one that is gone or that the user may not see
	Group string
	Ring  string // the way back to the job that it must therefore not be a child of, ready to print
}

// ChildHitsPage answers the picker's search ([ChildHits]).
type ChildHitsPage struct {
	layout.Page
	Hits []Child
}

// FieldChildSearch is the picker's own field. It is sent along with the form and means nothing there.
const FieldChildSearch = "child_search"

func (c Child) title() string {
	if c.Name == "" {
		return "#" + format.Digits(c.ID)
	}
	return c.Name
}

func (c Child) sub() string {
	if c.Name == "" {
		return ""
	}
	text := "#" + format.Digits(c.ID)
	if c.Group != "" {
		text += " · " + c.Group
	}
	return text
}

func hitID(i int) string { return "child-hit-" + strconv.Itoa(i) }
