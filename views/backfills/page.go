// Package backfills draws the page on which a job is run for planned times that are over.
package backfills

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// FragmentList is the list of backfills, which is drawn anew while somebody looks.
const FragmentList = "backfills"

// Page is the backfills of a job, and the form of a new one ([List]).
type Page struct {
	layout.Page
	JobID  int64
	Job    string
	Zone   string // in which times are typed
	CanRun bool
	Held   bool   // the job is paused: what is left waits
	Busy   string // what the job does to a run that is too many, ready to print; empty: it waits
	Rows   []Row
	Values Values
	Kinds  []ui.Option
	Orders []ui.Option
	Plan   *Plan // what was asked for; nil: nothing yet
	Errors map[string]string
}

// Values is the form as it was typed.
type Values struct {
	Kind   string `form:"kind"`
	From   string `form:"from"`
	Until  string `form:"until"`
	Order  string `form:"order"`
	AtOnce string `form:"at_once"`
	Shown  string `form:"shown"` // what was shown before (manage.BackfillPlan); empty: show it first
	Batch  string `form:"batch"` // new for each plan that is shown: what is sent again is the same wish
}

// Plan is what would be run.
type Plan struct {
	Count       int
	First, Last format.Time
	Param       string
	Shown       string
	Changed     string // how it is not what was shown before, ready to print; empty: it is
}

// Row is one backfill.
type Row struct {
	ID          int64
	State       string
	Ended       bool
	Failed      bool // of runs that failed
	From, Until string
	Total       int64
	Sent        int64
	Good, Bad   int64
	By          string
	At          format.Time
}

// Done is how many planned times are over.
func (r Row) Done() int64 { return r.Good + r.Bad }

func (r Row) tone() string {
	switch {
	case r.Bad > 0 && r.Ended:
		return "failed"
	case r.State == "done":
		return "success"
	case r.State == "running":
		return "sent"
	}
	return ""
}

func (p Page) open() bool {
	for _, r := range p.Rows {
		if !r.Ended {
			return true
		}
	}
	return false
}

// goesOn says that the page is about what goes on, before it is about a new one: nobody has begun to fill the form in.
func (p Page) goesOn() bool { return p.open() && p.Plan == nil && len(p.Errors) == 0 }

// every is how often the list is drawn anew, in ms: as long as something goes on, often.
func every(p Page) string {
	if p.open() {
		return "2000"
	}
	return "10000"
}
