package jobs

import (
	"cmp"
	"github.com/punctual-job/punctual/views/flows"
	"strings"

	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/backfills"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// DetailPage is one job ([Detail]; fragment [FragmentJob] is all that changes while one looks).
type DetailPage struct {
	layout.Page
	Row         Row
	Executors   *groups.Row // how its group stands; nil for a flow, which no executor runs
	Kept        Kept        // in files
	Runbook     ui.Runbook
	Paused      []string // what holds it back now, ready to print
	Coming      []string // pauses that are to begin, ready to print
	Waits       bool     // a change of its script waits for a second person, which its reader may look at
	Missing     string   // which days to come its calendar does not know; empty: all is known
	Failing     *Failing // nil while its newest run that counts did not fail
	Runs        ui.RunBars
	Good        string // "48 of 50" of the runs shown
	Usual       Usual
	Open        []RunLine      // under way, newest first
	Turn        ui.Turn        // for which one of them waits
	Backfills   backfills.Page // that are not over
	Failures    []RunLine      // the latest, newest first
	Quiet       *Quiet         // of the runs shown; nil: none
	When        When
	MayChain    bool // a flow can be made of it and its children
	MayUnchain  bool // it is a flow that was made so, which can be undone
	Parents     []Relative
	Flows       []Relative // those with a step that runs it
	FlowsHidden int        // as many more that the reader may not see
	Children    []Relative
	Hearing     Hearing
	Changes     []ui.Change
	Config      []Fact
	Notes       []ui.Note
	CanCopy     bool
	Flow        *flows.Graph // of a flow, its steps
	FlowEdit    bool         // the reader may change them
}

// FragmentJob is the part of [Detail] that changes.
const FragmentJob = "job"

// Quiet says that runs wrote errors and succeeded all the same.
type Quiet struct {
	Text string  // how many did, ready to print
	Run  RunLine // the newest
}

// Failing says that a job fails, and since when.
type Failing struct {
	Run      RunLine
	Count    int         // failures in a row
	Of       int         // runs that were looked at and have ended
	More     bool        // there may have been more before those that were looked at
	Since    format.Time // the first of them
	LastGood RunLine     // LogID 0: none among those that were looked at
	Ack      ui.Ack
}

// RunLine is one run in a short list.
type RunLine struct {
	LogID    int64
	State    runstate.State
	Mark     Mark
	At       format.Time
	Duration string
	Message  string
	Faults   string // how many lines with errors its kept output has, ready to print; empty for none, or where there is no copy
	CanKill  bool
}

// Usual is how long the job usually takes, ready to print; empty texts where that is unknown.
type Usual struct {
	P50, P95 string
	Runs     int    // successes that it is known from
	Trend    string // what is unlike its past; may be empty
	Slower   bool
}

// When is the job's schedule.
type When struct {
	Times  []NextTime
	Error  string // why there are no times, ready to print
	Facts  []Fact // of the schedule, besides its times
	Cron   string // the text, for a script to put it in words; empty for other schedules
	Ends   bool   // there are no more than Times
	Delay  bool   // where further times lie, the runs decide
	Zone   string // in which the times are
	Manual bool   // it has no schedule
}

// Relative is a job that starts this one, or that this one starts.
type Relative struct {
	ID   int64
	Name string // empty for one that is gone or that the user may not see
}

// Hearing is who is told of the job's alarms.
type Hearing struct {
	Told    []Told
	Nobody  bool
	Unheard bool // its own addresses get no mail
	Mend    bool // the user may have it told to somebody
}

// Told is a channel that hears of the job's alarms, ready to print.
type Told struct {
	Name, Kind, Icon string
	URL              string // empty for who does not look after it
	Why              []string
	Causes           string
	Off, Broken      bool
}

// Fact is one part of a definition, ready to print.
type Fact struct {
	Label, Value string
	Code         bool // it is a text for programs
	URL          string
}

func (r Relative) title() string { return cmp.Or(r.Name, "#"+format.Digits(r.ID)) }

// maxRelatives is how many jobs of a side the picture of the family shows.
const maxRelatives = 6

func shownRelatives(all []Relative) []Relative { return all[:min(len(all), maxRelatives)] }

// framed is the page with the ways to what lies below its head and its executors.
func (p DetailPage) framed() layout.Page {
	whole := p.Page
	whole.Parts = []layout.Part{{ID: "job-runs", Name: p.T("job.runs")}, {ID: "job-config", Name: p.T("job.config")}, {ID: "job-told", Name: p.T("job.told")}}
	if len(p.Changes) > 0 {
		whole.Parts = append(whole.Parts, layout.Part{ID: "job-changes", Name: p.T("job.changes")})
	}
	return whole
}

func (p DetailPage) scheduleTone() string {
	if p.Row.Running {
		return "online"
	}
	return ""
}

func (p DetailPage) scheduleIcon() string {
	if p.Row.Running {
		return "circle-check"
	}
	return "circle-minus"
}

// hasSchedule says whether there is anything to start.
func (p DetailPage) hasSchedule() bool { return p.Row.hasSchedule() }

func (t Told) why() string { return strings.Join(t.Why, " · ") }

// noteURL is where a note is written, for whoever may.
func (p DetailPage) noteURL() string {
	if !p.Row.CanRun {
		return ""
	}
	return link.JobNote(p.Row.ID)
}

// failingText says how long it has been failing.
func (p DetailPage) failingText() string {
	f := p.Failing
	switch {
	case f.Count == 1:
		return p.T("job.failing.once")
	case f.More:
		return p.T("job.failing.more", "N", f.Count)
	}
	return p.T("job.failing.since", "Count", f.Count, "Since", f.Since.Absolute)
}

// FieldBack names the page that a form stands on, where it should lead back to it.
const FieldBack = "back"

// BackToJob is its value on the page of a job.
const BackToJob = "job"
