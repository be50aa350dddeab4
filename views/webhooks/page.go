// Package webhooks draws the pages of events for programs.
package webhooks

import (
	"slices"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// Row is a webhook.
type Row struct {
	ID       int64
	Name     string
	Place    string // empty: its settings cannot be read
	State    string // on, off, gone
	Trouble  string // why its receiver fails; empty: it does not
	Status   int    // of the latest answer that failed
	Failing  format.Time
	Rests    format.Time // until when nothing is sent to it
	Waiting  string
	Oldest   format.Time
	GivenUp  int64
	Dropped  int64
	LastOK   format.Time
	Types    []string
	Groups   []string
	Tags     []string
	Unsealed bool
}

// tone is the badge's colour.
func (r *Row) tone() string {
	switch {
	case r.State != "on":
		return ""
	case r.Trouble != "":
		return "failed"
	}
	return "online"
}

func (r *Row) image() string {
	switch {
	case r.State != "on":
		return "ban"
	case r.Trouble != "":
		return "triangle-alert"
	}
	return "circle-check"
}

// standing is its state in a word.
func (r *Row) standing(p layout.Page) string {
	switch {
	case r.State == "on" && r.Trouble == "refused":
		return p.T("webhooks.refusing")
	case r.State == "on" && r.Trouble != "":
		return p.T("webhooks.failing")
	}
	return p.Word("webhooks.state.", r.State)
}

// why is what its state in a word leaves open.
func (r *Row) why(p layout.Page) string {
	if r.Trouble == "refused" {
		return p.T("webhooks.status", "Status", r.Status)
	}
	return because(p, r.Trouble, int64(r.Status))
}

// holds says that what was not tried yet waits for its receiver: one that refuses events is sent the others all the same.
func (r *Row) holds() bool { return r.State == "on" && r.Trouble != "" && r.Trouble != "refused" }

// told is what events it is told of.
func (r *Row) told(p layout.Page) string {
	if len(r.Types) == 0 {
		return p.T("webhooks.types.all")
	}
	words := make([]string, len(r.Types))
	for i, t := range r.Types {
		words[i] = p.Word("webhooks.type.", t)
	}
	return p.List(words)
}

// only is of whose jobs; empty: of all.
func (r *Row) only(p layout.Page) string {
	return p.List(slices.Concat(r.Groups, r.Tags))
}

// because is why a try failed.
func because(p layout.Page, reason string, status int64) string {
	why := p.Word("webhooks.reason.", reason)
	if status > 0 {
		why = p.T("webhooks.because", "Why", why, "Status", status)
	}
	return why
}

// ListPage is every webhook.
type ListPage struct {
	layout.Page
	Rows []Row
}

// Tick is something that can be chosen.
type Tick struct {
	Value, Label string
	On           bool
}

// FormPage is the form of a webhook; ID is 0 for a new one.
type FormPage struct {
	layout.Page
	ID      int64
	Version string
	Name    string
	URL     string
	Place   string // where it is now
	Types   []Tick
	Groups  []Tick
	Tags    string
	Off     bool
	Errors  map[string]string
	Problem string
	Differs []ui.Differing // from what somebody else stored meanwhile
}

// The names of the fields.
const (
	FieldName    = "name"
	FieldURL     = "url"
	FieldTypes   = "types"
	FieldGroups  = "groups"
	FieldTags    = "tags"
	FieldOff     = "off"
	FieldVersion = "version"
)

func (p *FormPage) heading() string {
	if p.ID == 0 {
		return p.T("webhooks.new")
	}
	return p.T("webhooks.edit")
}

// trail leads to the form: over the webhook, if there is one.
func (p *FormPage) trail() []string {
	if p.ID == 0 || p.Name == "" {
		return []string{p.heading()}
	}
	return []string{p.Name, p.heading()}
}

// Delivery is an event on its way.
type Delivery struct {
	ID     int64
	Event  string // what the receiver knows it by
	Type   string
	About  string // a job's name, or the number of what it is about
	Link   string // to that; empty: it is gone, or nothing
	At     format.Time
	Tries  int64
	Next   format.Time
	Status int64
	Reason string
	Answer string
	Again  bool // it can be sent again
}

// ShowPage is a webhook with its deliveries.
type ShowPage struct {
	layout.Page
	Row
	Tab        string // waiting, taken, given_up
	From       string // the address of just these, whatever state has deliveries by then
	Deliveries []Delivery
	More       string // address of the next page; empty: none
}

// FragmentList and FragmentShow are the parts of [List] and [Show] that change.
const (
	FragmentList = "list"
	FragmentShow = "show"
)

// Tabs are the states of deliveries, in their order.
var Tabs = []string{"waiting", "taken", "given_up"}

// MadePage shows a secret.
type MadePage struct {
	layout.Page
	ID      int64
	Name    string
	Secret  string
	Rotated bool
}

// DeletePage asks before a webhook is deleted.
type DeletePage struct {
	layout.Page
	ID      int64
	Name    string
	Waiting string
}
