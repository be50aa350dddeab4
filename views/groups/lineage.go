package groups

import (
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/layout"
)

// LineagePage shows which of a group's jobs start which.
type LineagePage struct {
	layout.Page
	ID     int64
	Title  string
	Graph  flows.Graph
	Jobs   []LineageJob // the same as a list
	Rest   int          // how many more there are
	Hidden int          // how many may not be seen
}

// LineageJob is a line of the list.
type LineageJob struct {
	Name, URL string
	Group     string // empty: the page's
	Flow      bool
	StartedBy []string // names
}
