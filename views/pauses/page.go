// Package pauses draws the times in which schedules hold still.
package pauses

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// ListPage is the pauses, and the form of a new one ([List]). It comes back with 422 and Errors.
type ListPage struct {
	layout.Page
	Rows   []Row
	Zone   string // in which times are typed
	Scopes []ui.Option
	Groups []ui.Option    // that may be paused
	Tags   []string       // that jobs have
	Picked []ui.PickedJob // of Values.Target, if it is an id
	Do     []ui.Option    // strategies
	CanAdd bool
	Values Values
	Errors map[string]string
}

// Values are what was typed.
type Values struct {
	Scope    string `form:"scope"`
	Target   string `form:"target"` // a job
	Group    string `form:"group"`
	Tag      string `form:"tag"`
	From     string `form:"from"`
	Until    string `form:"until"`
	Strategy string `form:"strategy"`
	Cron     string `form:"cron"`
	Minutes  string `form:"length"`
	Zone     string `form:"zone"`
	Reason   string `form:"reason"`
	Batch    string `form:"batch"` // new for each form: what is sent again is the same wish
}

// Row is one pause.
type Row struct {
	ID      int64
	State   string // manage.PauseState
	What    string // what it is about, ready to print
	Link    string // the page of the job or group; empty for none
	When    string // of a repeated one: its windows, ready to print
	From    format.Time
	Until   format.Time // zero: until somebody ends it
	Ends    format.Time // of the window that goes on
	Next    format.Time // when the next window of a repeated one begins
	Do      string      // what becomes of what falls in
	Reason  string
	By      string
	EndedBy string
	CanEnd  bool
}

// tone is the badge of a state.
func (r Row) tone() string {
	if r.State == "active" {
		return "stopped"
	}
	return "neutral"
}

// jobPicker is the field of the job to pause.
func (p ListPage) jobPicker() ui.JobPicker {
	return ui.JobPicker{
		Field:  ui.Field{Name: "target", Label: p.T("pauses.field.target"), Value: p.Values.Target, Help: p.T("pick.id.help"), Error: p.Errors["target"], Max: 19, Data: map[string]any{"inputmode": "numeric"}},
		Single: true, Plain: p.Values.Target != "" && len(p.Picked) == 0, Chosen: p.Picked, Search: link.PauseJobsPath, Hint: p.T("jobs.children.search"),
	}
}
