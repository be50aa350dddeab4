// Package notes draws the form by which somebody writes a note at a run or a job.
package notes

import "github.com/punctual-job/punctual/views/layout"

// FormPage is the form of a new note ([Form]; fragment ui.FragmentDialog).
type FormPage struct {
	layout.Page
	Name    string // of the job or the run
	Action  string // where it is posted
	Back    string // the page that it leads back to
	Max     int    // characters of Text
	Text    string
	At      string // as a field of the browser has it
	AskAt   bool   // it may stand at another time than now
	Group   string // the title of the group whose jobs it may be about altogether; empty where that is not asked
	All     bool
	Errors  map[string]string
	Problem string
	May     bool
}

// Names of the fields.
const (
	FieldText = "remark"
	FieldAt   = "at"
	FieldAll  = "all" // "1"
)
