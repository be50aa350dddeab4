// Package alarms draws the pages of alarms: the channels that carry them, what leads to each, and what was sent.
package alarms

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// State is how a channel does.
type State string

const (
	StateOK     State = "ok"     // its latest message arrived
	StateBroken State = "broken" // its latest message failed
	StateNew    State = "new"    // nothing was ever sent
	StateOff    State = "off"    // switched off
)

// Channel is one channel as lists show it.
type Channel struct {
	ID      int64
	Name    string
	Kind    Kind
	Group   string // title of the executor that it belongs to; empty: the installation's
	State   State
	Target  string // host or recipients of a mail channel, the conversation of a bot; nothing of a webhook, whose address is secret
	ForJobs bool   // carries the mails to the addresses that jobs name
	Quiet   string // "22:00–07:00"; empty for none
	OKAt    format.Time
	ErrorAt format.Time
	Error   string // of the latest message, as the server put it: text
	Routes  []Route
	Before  []string // names of the channels whose alarms come here when nobody looks after them
}

// before says whose alarms escalate to the channel.
func (c Channel) before(p layout.Page) string {
	return p.T("alarms.before", "Channels", p.List(c.Before))
}

// Route is what leads to a channel.
type Route struct {
	ID      int64
	Scope   string // all, group, job
	ScopeID int64
	Name    string // of the group or job; empty when it is gone
	Of      string // title of the executor that the channel belongs to: "all" are its jobs
	Causes  []string
	Usual   bool // the causes are those of a route without a choice
	After   int  // minutes after which Second is told of what nobody looks after; 0: never
	Second  string
}

// ListPage lists the channels ([List]; fragment [FragmentList]).
type ListPage struct {
	layout.Page
	Channels []Channel
	Messages []Message // the latest
}

// DetailPage is one channel ([Detail]; fragments [FragmentDetail] and [FragmentTest], the answer to a test).
type DetailPage struct {
	layout.Page
	Channel  Channel
	Messages []Message
	Test     Test
}

const (
	// FragmentList is the part of the list of channels that changes, and FragmentDetail that of a channel's page.
	FragmentList   = "list"
	FragmentDetail = "detail"
	// FragmentTest is the part of a channel's page that a test changes.
	FragmentTest = "test"
)

// Test is what became of a test message.
type Test struct {
	Done  bool
	Error string // what the server had against it; empty when it was taken
	To    string
	Wrong string // what is wrong with To
}

// Message is one message to one recipient.
type Message struct {
	ID        int64
	Channel   string // empty when it has been deleted
	ChannelID int64
	Recipient string
	State     string // link.MessageWaiting …
	Tries     int
	NextAt    format.Time
	Error     string
	At        format.Time
	Cause     string
	Acked     bool // it says that somebody looks after the alarm
	Escalated bool // it says that nobody does
	Count     int
	JobID     int64
	Job       string // empty when it has been deleted
	LogID     int64
	CanRetry  bool
}

// MessagesPage lists messages ([Messages]; fragment ui.FragmentResults).
type MessagesPage struct {
	layout.Page
	Filter   link.MessageFilter
	Channels []ui.Option
	Rows     []Message
	Pager    ui.Pager
}

// Kind is a kind of channel, as its form needs it.
type Kind struct {
	Name, Icon string
	Mail       bool
	Example    string // how its address begins
	Default    bool   // an address need not be given
	Signs      bool   // a secret signs messages
	Token      bool   // a secret is sent along, and needed
	Chat       bool   // it names a conversation
	Template   bool   // its body can be
}

// FormPage is the form for a new channel or a change ([Form]). It comes back with 422 and Errors.
type FormPage struct {
	layout.Page
	ID          int64 // 0 for a new channel
	Name        string
	Kinds       []Kind // to choose from for a new channel
	Kind        Kind
	Groups      []ui.Option // to choose from for a new channel: whose it is
	Group       string      // title of the executor that it belongs to; empty: the installation's
	Owned       bool        // it belongs to an executor, or will
	Job         Job         // that a new channel is made for; zero: for many
	Existing    []Channel   // that could tell of the job, and do not
	Values      FormValues
	HasURL      bool // a secret is stored: an empty field keeps it
	HasSecret   bool
	HasPassword bool
	Errors      map[string]string // ready to print, by field name
	Problem     string            // what stands against the change as a whole
	Differs     []ui.Differing    // from what somebody else stored meanwhile
	Preview     *Preview          // of the words that were typed; nil: nobody asked
}

// FragmentPreview is the part of a channel's form that shows what its words make.
const FragmentPreview = "preview"

// Preview is a message in a channel's words.
type Preview struct {
	Title, Text string
	At          format.Time // of the message that it is made of; without one it is invented
}

// NameLength is how many characters the name of a channel has at most.
const NameLength = 64

// Job is a job that a channel is made for.
type Job struct {
	ID   int64
	Name string
}

// FormValues are the values as typed, or as stored on the first visit. Secrets are never among the stored ones.
type FormValues struct {
	Name           string     `form:"name"`
	Kind           string     `form:"kind"`
	Group          string     `form:"group"`
	Language       string     `form:"language"`
	Enabled        ui.Checked `form:"enabled"`
	ForJobs        ui.Checked `form:"for_jobs"`
	EveryJob       ui.Checked `form:"every_job"`
	Job            string     `form:"job"`
	QuietFrom      string     `form:"quiet_from"` // "22:00"; both empty for none
	QuietTo        string     `form:"quiet_to"`
	QuietMode      string     `form:"quiet_mode"`
	Host           string     `form:"host"`
	Port           string     `form:"port"`
	Security       string     `form:"security"`
	SkipVerify     ui.Checked `form:"skip_verify"`
	Username       string     `form:"username"`
	Password       string     `form:"password"`
	From           string     `form:"from"`
	Recipients     string     `form:"recipients"`
	URL            string     `form:"url"`
	Secret         string     `form:"secret"`
	Chat           string     `form:"chat"`
	Template       string     `form:"template"`
	Subject        string     `form:"subject"`
	Text           string     `form:"text"`
	RemoveSecret   ui.Checked `form:"remove_secret"`
	RemovePassword ui.Checked `form:"remove_password"`
	Version        string     `form:"version"` // of the channel as it was drawn
}

// The names of the form's fields.
const (
	FieldName           = "name"
	FieldKind           = "kind"
	FieldLanguage       = "language"
	FieldEnabled        = "enabled"
	FieldForJobs        = "for_jobs"
	FieldEveryJob       = "every_job"
	FieldQuiet          = "quiet"
	FieldQuietFrom      = "quiet_from"
	FieldQuietTo        = "quiet_to"
	FieldQuietMode      = "quiet_mode"
	FieldVersion        = "version"
	FieldHost           = "host"
	FieldPort           = "port"
	FieldSecurity       = "security"
	FieldSkipVerify     = "skip_verify"
	FieldUsername       = "username"
	FieldPassword       = "password"
	FieldRemovePassword = "remove_password"
	FieldFrom           = "from"
	FieldRecipients     = "recipients"
	FieldURL            = "url"
	FieldSecret         = "secret"
	FieldRemoveSecret   = "remove_secret"
	FieldChat           = "chat"
	FieldTemplate       = "template"
	FieldSubject        = "subject"
	FieldText           = "text"
	FieldTo             = "to"
	FieldScope          = "scope"
	FieldGroup          = "group"
	FieldJob            = "job"
	FieldCause          = "cause"
	FieldEscalateAfter  = "escalate_after"
	FieldEscalateTo     = "escalate_to"
	FieldCauses         = "causes" // what is wrong with the choice of them
)

// RoutePage is the form for a route ([RouteForm]; fragment ui.FragmentDialog).
type RoutePage struct {
	layout.Page
	ChannelID int64
	Channel   string
	ID        int64 // 0 for a new route
	Version   string
	Scope     string
	Group     string // title of the executor that the channel belongs to; empty: the installation's
	Groups    []ui.Option
	Job       string         // as typed
	Picked    []ui.PickedJob // of Job, if it is a number
	Causes    []Cause
	After     string      // minutes, as typed
	Seconds   []ui.Option // channels that could be told then
	Errors    map[string]string
	Problem   string
	Differs   []ui.Differing // as in [FormPage]
}

// jobPicker is the field of the job that a rule is about.
func (p RoutePage) jobPicker() ui.JobPicker {
	return ui.JobPicker{
		Field:  ui.Field{Name: FieldJob, ID: "route-job", Label: p.T("alarms.route.job"), Value: p.Job, Help: p.T("pick.id.help"), Error: p.scopeError("job"), Max: 19, Data: map[string]any{"inputmode": "numeric"}},
		Single: true, Plain: p.Job != "" && len(p.Picked) == 0, Chosen: p.Picked, Search: link.AlarmJobs(p.ChannelID), Hint: p.T("alarms.route.search"),
	}
}

// Cause is one thing that a route may tell of.
type Cause struct {
	Name    string
	Checked bool
}

// DeletePage asks before a channel is deleted ([Delete]; fragment ui.FragmentDialog).
type DeletePage struct {
	layout.Page
	ID     int64
	Name   string
	Routes int
}
