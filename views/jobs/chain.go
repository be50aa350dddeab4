package jobs

import (
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/layout"
)

// ChainPage shows the flow that a job and its children would become, before it is made.
type ChainPage struct {
	layout.Page
	JobID   int64
	Job     string
	Problem string   // why it cannot be one; ready to print, empty where it can
	Changes []string // what would change
	Graph   flows.Graph
	Source  string
	Version string // of what is shown
	Name    string // of the flow
	Errors  map[string]string
	Faults  []string // what is wrong beside the fields of the form
}
