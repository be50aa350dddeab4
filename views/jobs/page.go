// Package jobs draws the job pages: the list, the form, the run-once and delete dialogs, and the schedule preview.
package jobs

import (
	"github.com/punctual-job/punctual/views/flows"
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/saved"
	"github.com/punctual-job/punctual/views/ui"
)

// ListPage is the job list ([List]; fragment ui.FragmentResults).
type ListPage struct {
	layout.Page
	Chips  []ui.Chip // filters of the dashboard
	Filter link.JobFilter
	Groups []ui.Option // the groups the user may see, without an "all" entry
	Rows   []Row
	Total  int64 // jobs under the filter
	More   bool  // there are more than Total
	Pager  ui.Pager
	// CanCreate shows the "new job" button.
	CanCreate bool
	// AnyJobs tells an empty installation from a filter without a match.
	AnyJobs bool
	Views   saved.Bar
	Look    ui.Look
	// SortEnds says that more jobs follow, up to which the list is not sorted.
	SortEnds bool
}

// Row is one job of the list. After starting or stopping a job htmx gets [RowSwap].
type Row struct {
	ID           int64
	Name         string
	GroupID      int64
	Group        string // title
	ScheduleType string // NONE, CRON, FIX_RATE, FIX_DELAY
	Schedule     string // the cron text, or "every 10 s" ready to print; empty for NONE
	Glue         string // GLUE type as stored: BEAN, GLUE_SHELL …
	Handler      string
	Author       string
	Running      bool        // the schedule is started
	Next         format.Time // zero when stopped, waiting or never again
	Waiting      bool        // its next time follows from the end of the run that goes on
	Paused       string      // until when a pause holds it still, by whom and why, ready to print; empty: none does
	PausedUntil  format.Time // zero: until somebody ends it
	Zone         string      // of its own; empty for the installation's
	Tags         []string
	Deadline     *Deadline // in a list only while it may be missed, or is; nil: none
	Last         LastRun   // zero when it never ran or is unknown
	CanEdit      bool      // edit, copy, delete
	CanRun       bool      // run once
	CanSchedule  bool      // start, stop
	Startable    bool      // it becomes due by itself once it is started
	History      History   // its newest runs, oldest first
	CanScript    bool      // it is a script that may be edited here
	Favourite    bool      // the reader has marked it
}

// shownTags is how many tags of a job its row shows, if they are no longer than tagRoom together, counted in letters: what has more is read on its
// page, and every row stays in sight.
const (
	shownTags = 6
	tagRoom   = 80
	wideFrom  = '\u1100' // from there on a character takes the room of two letters, as Chinese does
)

// tagsInRow are the tags that the row shows, one at least, and those that it does not.
func (r Row) tagsInRow() (shown, others []string) {
	room := tagRoom
	for i, t := range r.Tags {
		for _, c := range t {
			if room--; c >= wideFrom {
				room--
			}
		}
		if i == shownTags || i > 0 && room < 0 {
			return r.Tags[:i], r.Tags[i:]
		}
	}
	return r.Tags, nil
}

// Deadline is the time of day by which a job has to be done, and how it stands.
type Deadline struct {
	By   string      // "06:00", in the job's zone
	At   format.Time // the deadline that Text is about
	Mark string      // "May miss 06:00", ready to print; empty where it will not
	Text string      // "usually ends at 05:40", ready to print; empty where nothing is known
	Late bool        // it will probably be missed, or was
}

// LastRun is the newest run of a job.
type LastRun struct {
	LogID int64
	State runstate.State
	At    format.Time
}

// RowPage is one row swapped in after start or stop, with a message about it.
type RowPage struct {
	layout.Page // its Flashes are added to the page's messages
	Row         Row
}

// FormPage is the form for a new job, a copy, or a change ([Form]). It comes back with 422 and Errors.
type FormPage struct {
	layout.Page
	ID        int64  // 0 for a new job
	Name      string // the stored name of the job being edited or copied, for the heading
	CopyOf    int64  // 0 unless it is a copy
	Values    FormValues
	Errors    FieldErrors
	Problem   string // an error that belongs to no field, ready to print
	Groups    []ui.Option
	Preview   Preview        // the next times of Values, as for the preview
	Zone      string         // in which the schedule is read
	CanScript bool           // the script editor is open to the user
	CanRun    bool           // so is the dialog to run it once
	Changes   []Change       // what differs where somebody else stored something meanwhile
	Saved     []ui.Change    // who stored it, and when; at most the newest
	Children  []ui.PickedJob // of Values
	Pickable  bool           // nothing but ids stands in Values.Children, so that they can be picked by a search
	Back      bool           // it leads back to the job's page, and not to the list
	NoGroups  bool           // there is no executor group yet: the page leads to creating one
	Zones     []string       // suggested names of time zones
	Calendars []string       // that there are
	NoMail    bool           // no channel carries the mails to a job's addresses
	Declared  Declared       // by the program that brought the job
	Kept      Kept           // in files
	Curl      Curl           // a command to fill the form from
	HTTPGroup int64          // the group of HTTP jobs, if the user may edit there
	Secrets   []string       // names of those of that group
	Flow      flows.Preview  // what the definition of a flow means; of another job nothing
}

// Curl is the box of the form that takes a curl command.
type Curl struct {
	Offered bool     // there is a group of HTTP jobs that the user may edit
	Text    string   // as typed, where it was not taken
	Error   string   // why it was not
	Done    bool     // the form is filled
	Notes   []string // of what is otherwise than in the command, ready to print
	Secrets []string // to be made, ready to print
}

// Kept is where a job is kept in files.
type Kept struct {
	Source   string // empty: nowhere
	Revision string // empty: not known
	At       format.Time
	Changed  bool // by hand, since it was applied
	Held     bool // it cannot be changed here
}

// Declared is what a program has said of a job that it brought with it.
type Declared struct {
	Program string   // its app name; empty if no program brought the job
	Dropped bool     // and it declares the job no more
	Fields  []string // it decides, in the words of a job file
}

func (d Declared) decides(f *jobspec.Field) bool {
	return !d.Dropped && slices.Contains(d.Fields, f.File)
}

// The names of the form's fields; FormValues and FieldErrors are keyed by them. Those of a definition are the table's.
const (
	FieldGroup        = "group"
	FieldName         = jobspec.FieldName
	FieldAuthor       = jobspec.FieldAuthor
	FieldAlarmEmail   = jobspec.FieldAlarmEmail
	FieldScheduleType = jobspec.FieldScheduleType
	FieldCron         = jobspec.FieldCron
	FieldSeconds      = jobspec.FieldSeconds
	FieldMoment       = jobspec.FieldMoment // of ONCE: 2006-01-02T15:04 or with seconds, as browsers send it
	FieldMisfire      = jobspec.FieldMisfire
	FieldRoute        = jobspec.FieldRoute
	FieldBlock        = jobspec.FieldBlock
	FieldGlue         = jobspec.FieldGlue
	FieldHandler      = jobspec.FieldHandler
	FieldParam        = jobspec.FieldParam
	FieldParamFixed   = jobspec.FieldParamFixed // "1"
	FieldParamForm    = jobspec.FieldParamForm
	FieldSource       = jobspec.FieldSource
	FieldRemark       = jobspec.FieldRemark
	FieldChildren     = jobspec.FieldChildren
	FieldTimeout      = jobspec.FieldTimeout
	FieldRetries      = jobspec.FieldRetries
	FieldZone         = jobspec.FieldZone
	FieldFrom         = jobspec.FieldStart // as FieldMoment
	FieldUntil        = jobspec.FieldEnd   // as FieldMoment
	// FieldVersion is hidden: the job's last change as the form saw it, so that a concurrent edit is noticed.
	FieldVersion = "version"
	// FieldBase is hidden: marks of what the form began with (manage.JobMarks), by which it is merged after such an edit.
	FieldBase = "base"
	// FieldBoth is hidden: the names of the fields, separated by commas, that both changed.
	FieldBoth = "both"
	// FieldTake is a submit button: the name of a field in which the form is to say what is stored.
	FieldTake = "take"
	// FieldStart is the second submit button of a new job: save and start ("1").
	FieldStart = "start"
	// FieldCurl is a curl command to fill the form from.
	FieldCurl = "curl"
	// FieldCallAs says how the call of an HTTP job is typed: CallAsFields, or CallAsText, the parameter itself.
	FieldCallAs  = "call_as"
	CallAsFields = "fields"
	CallAsText   = "text"
	// PartOfCall begins the names of the parts of a call.
	PartOfCall        = "call_"
	FieldCallURL      = "call_url"
	FieldCallMethod   = "call_method"
	FieldCallHeaders  = "call_headers" // a "Name: value" a line
	FieldCallAuth     = "call_auth"
	FieldCallType     = "call_type"
	FieldCallBody     = "call_body"
	FieldCallExpected = "call_expected"
	FieldCallText     = "call_text"
	FieldCallTimeout  = "call_timeout" // ms
	FieldCallAsync    = "call_async"   // "1"
	// FieldAddresses belongs to the run-once dialog only.
	FieldAddresses = "addresses"
	// FieldPlanned is its planned time, and FieldMeant the moment that was drawn there, epoch ms: a time of an hour that comes twice is two.
	FieldPlanned = "planned"
	FieldMeant   = "meant"
)

// MeantBy is the hidden field of a moment's field, of the hour that comes twice: the moment that was drawn there, in RFC 3339.
func MeantBy(field string) string { return field + "_meant" }

// FieldErrors are messages ready to print, by field name.
type FieldErrors map[string]string

// FormValues are the values as typed, or as stored on the first visit, by field name.
type FormValues map[string]string

// PreviewPage answers link.SchedulePreview, which htmx posts the schedule's fields to
// ([SchedulePreview]). It answers 200 also when the schedule is wrong: that is what it is there to say.
type PreviewPage struct {
	layout.Page
	Preview Preview
}

// Preview says how a schedule was understood. The zero value draws a hint.
type Preview struct {
	Error    string // why the schedule is not accepted, ready to print
	Reading  string // the text as the parser understood it, when that differs from what was typed
	Times    []NextTime
	Warnings []string // accepted, but perhaps not meant
	Others   int64    // jobs that fire at the first of these times too
	Note     string   // what follows the times, such as that each counts from the end of a run
	Pauses   []string // into which some of the times fall, ready to print
	Zone     string
}

// NextTime is one coming fire.
type NextTime struct {
	format.Time
	At      time.Time
	Weekday string
	Param   string // what a run of this time is sent, where the parameter has the planned time in it
	Held    string // what becomes of it, where it falls into a pause
	HeldWhy string // until when, by whom and why it is paused then
}

// RunPage asks for the parameter and addresses of a run by hand ([RunOnce]; fragment ui.FragmentDialog).
type RunPage struct {
	layout.Page
	ID        int64
	Name      string
	Param     string
	OwnParam  bool             // the job can be run with its own parameter only
	Form      []RunField       // what the parameter consists of, in place of Param; empty: any text
	Flow      bool             // no executor runs it
	Planned   string           // as typed, of a form's date and time; empty means now
	Meant     string           // the moment of the run that is run again, epoch ms; empty: it is none
	Addresses string           // as typed, separated by commas or lines; empty means the registered ones
	Online    []groups.Address // the group's live addresses, and those that were typed, offered as suggestions
	Batch     string           // keeps it from being run twice when its answer is lost and it is sent again
	Errors    FieldErrors
	Problem   string
}

// RunField is a field of a parameter.
type RunField struct {
	jobspec.ParamField
	Value string // as typed
}

// DeletePage asks before a job is deleted ([Delete]; fragment ui.FragmentDialog).
type DeletePage struct {
	layout.Page
	ID      int64
	Name    string
	Running bool     // its schedule is started
	Runs    int64    // log rows that go with it; -1 when not counted
	Uses    []string // what starts or runs it, a sentence each
}

// from is the source with its state.
func (k Kept) from() string {
	if k.Revision == "" {
		return k.Source
	}
	return k.Source + "@" + k.Revision
}
