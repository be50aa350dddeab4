package flows

import "github.com/punctual-job/punctual/locales"

// Names of what the fields of a definition's preview send.
const (
	FieldSource = "source"
	FieldJob    = "job" // whose definition it is; none for a new one
)

// PreviewID is the part of a form that shows what its definition means.
const PreviewID = "flow-preview"

// Preview is what a definition means, as it stands in a form.
type Preview struct {
	*locales.Printer
	Job    int64
	Type   string   // the kind of the job; of another than a flow nothing is shown
	Faults []string // ready to print
	Graph  Graph    // without nodes where the definition cannot be read
	Gives  []string // the outputs of the flow: a name and an expression, as in [OutputsText]
	Plan   []Wave   // what would run, where there are no faults
	Form   Form
}

// Wave are steps that start together if all that they need succeeds.
type Wave struct {
	Steps []Planned
}

// Planned is a step as it would run.
type Planned struct {
	Title string
	Kind  string // the word
	What  string // the job that it runs; empty for others
	Param string // what it would get, as far as it is known before
	Later bool   // Param hangs on what other steps give
	If    string
}
