// Package adoption draws the page about a database that was XXL-JOB's: what is another thing now, and the way back.
package adoption

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// FieldSure is the box that somebody ticks who ends the way back, FieldGroup the id of the group that is handed over.
const (
	FieldSure  = "sure"
	FieldGroup = "group"
)

// Page is the whole page ([Show]).
type Page struct {
	layout.Page
	Release  string // "2.3.0–2.4.2"
	At       format.Time
	Hash     string // in which passwords are kept for the old admin: "MD5"; "" when there is no way back
	Finished format.Time
	By       string // who said so
	Backoffs int64
	Unheard  int64
	// Retention is for how many days runs are kept; 0: for ever.
	Retention int
	Jobs      []Job
	More      bool // there are more
	Error     string

	Beside  bool // XXL-JOB admins go on working
	Groups  []Group
	Refused string // why a group was not handed over
}

// Group is an executor group beside XXL-JOB admins.
type Group struct {
	ID      int64
	AppName string
	Title   string
	Ours    bool
	Since   format.Time
	By      string
	Jobs    int64 // started
	Strays  int64 // of a group of ours, started in XXL-JOB
	Open    int64 // runs of ours
	Stays   bool  // XXL-JOB cannot have it
}

// Job is one whose times are not what they were. Finding is the end of a message's key, "adoption.finding.<finding>".
type Job struct {
	ID      int64
	Name    string
	Conf    string
	Finding string
	Started bool
}

// retention says how long runs are kept.
func (p Page) retention() string {
	if p.Retention > 0 {
		return p.T("adoption.kept.days", "Count", p.Retention, "N", format.Number(int64(p.Retention)))
	}
	return p.T("adoption.kept.ever")
}
