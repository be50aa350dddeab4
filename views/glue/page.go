// Package glue draws the script editor of a job: its text, its versions, the difference between two of them.
package glue

import (
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// The names of the editor's fields.
const (
	FieldSource  = "source"
	FieldRemark  = "remark"
	FieldVersion = "version"   // hidden: the script as the editor saw it, so that a concurrent change is noticed
	FieldBase    = "base"      // hidden: the version that a merge began with
	FieldTake    = "take"      // the mark of a place that is to be as it is stored
	FieldParam   = "param"     // of a trial
	FieldAddress = "addresses" // of a trial
)

// EditPage is the editor ([Edit]). It comes back with 422 and Errors or Problem.
type EditPage struct {
	layout.Page
	JobID    int64
	Name     string // of the job
	Type     string // GLUE type as stored
	Source   string
	Remark   string
	Version  string
	Errors   map[string]string // ready to print, by field
	Problem  string            // an error that belongs to no field, ready to print
	Theirs   []Line            // what was stored meanwhile beside the text of the form; nil unless both changed
	Merge    *Merge            // of what was typed with what was stored; nil where it is not known what both began with
	Versions []Version         // newest first
	Waiting  bool              // a change waits for a second person
	Reviewed bool              // every change does, and so do trials
	Flow     *flows.Preview    // of a flow, whose definition this is; nil for a script
	Trial    *Trial            // nil for whoever may not run the job, and where Reviewed
	// Nonce lets the editor's style sheets through the page's policy.
	Nonce string
}

// Merge says what the text of the form is made of.
type Merge struct {
	Base      string // the version that both began with
	Conflicts []Conflict
}

// Conflict is a place that both changed. The text has what was typed.
type Conflict struct {
	Mark               string
	Line               int // of the text, from 1
	Base, Mine, Theirs string
}

// Trial is the form that runs a text once before it is saved.
type Trial struct {
	Param     string
	Addresses []ui.Option // where it may run: the one that is chosen is Selected
	Run       int64       // a trial that was begun by a browser without scripts
	Errors    map[string]string
}

// Version is one kept version of a script.
type Version struct {
	ID      int64
	Remark  string
	At      format.Time
	Current bool // its text is the one that runs
}

// ComparePage shows a version beside the text that runs ([Compare]).
type ComparePage struct {
	layout.Page
	JobID   int64
	Name    string
	Type    string
	Version Version
	Old     string // the version's text
	New     string // the text that runs
	Lines   []Line
	Flow    *flows.Graph // of a flow: the steps of both, with what became of them
	Nonce   string
}

// LineKind is what happened to a line between two texts.
type LineKind string

// The kinds. LineGap stands for lines that are the same and left out.
const (
	LineSame    LineKind = "same"
	LineChanged LineKind = "changed"
	LineRemoved LineKind = "removed"
	LineAdded   LineKind = "added"
	LineGap     LineKind = "gap"
)

// Line is one line of a difference, left and right. A number of 0 means that the side has no such line.
type Line struct {
	Kind        LineKind
	LeftNumber  int
	RightNumber int
	Left        string
	Right       string
	Skipped     int // of LineGap: how many lines are left out
}

// crumb is what the text of a job is called on the way to it.
func crumb(glue string) string {
	if glue == "FLOW" {
		return "flow.form.definition"
	}
	return "glue.crumb"
}
