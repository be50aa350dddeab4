// Package dashboard draws the first page: what needs somebody now, what happened, and what is to come. Charts are drawn on
// the server as SVG without any style of their own; each has a table beside it that says the same.
package dashboard

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// Page is the dashboard ([Whole]; its script asks for [FragmentBody] every few seconds).
type Page struct {
	layout.Page
	Approvals string   // how many changes of scripts wait for the reader, ready to print; empty: none
	Paused    []string // what holds everything still, or a whole group, ready to print
	Troubles  []Trouble
	Counts    []Count
	Days      Chart
	Ranges    []ui.Option // Value is the address
	Pulse     Pulse       // zero for who may not see the whole installation
	Week      []WeekDay
	Ahead     Chart
	Busiest   []Busy
	AheadEnds string // up to when the forecast is complete; empty: to its end
	// AnyJobs tells a new installation from a quiet one.
	AnyJobs bool
	Running Trouble     // of the wall board: what goes on
	At      format.Time // of the wall board: when it was drawn
	Steps   []Step      // the first steps of a new installation; empty: they are done, or not for this reader
}

// Step is one of the first steps. Its words are the messages "dashboard.step.<name>" and "dashboard.step.<name>.text".
type Step struct {
	Name, URL string
	Done      bool
}

// FragmentBody is everything under the page's head.
const FragmentBody = "dashboard"

// The kinds of trouble. Their words are the messages "dashboard.<kind>" and "dashboard.<kind>.none".
const (
	Failing = "failing"
	Late    = "late"
	Long    = "long"
	Lost    = "lost"
	Alarms  = "alarms"  // open ones of jobs that do not fail now
	Running = "running" // no trouble, and on the wall board alone
)

// Trouble is one kind of exception and its first cases.
type Trouble struct {
	Kind  string
	N     int64
	Count string // N, ready to print; "500+" when there may be more
	URL   string // the list behind it
	Items []Item
	Also  Item // another list that goes with it; without a name there is none
}

// Item is one case of trouble.
type Item struct {
	Name   string
	URL    string
	Detail string
	// DetailURL is where the detail leads, such as to a run of the job that the item is about; may be empty.
	DetailURL string
	At        format.Time
	Ack       ui.Ack
	// Again leads to the dialog that runs it once more with another parameter; empty where the reader may not.
	Again string
}

// Acks reports whether the reader may say that they look after it.
func (i Item) Acks() bool { return i.Ack.By == "" && i.Ack.URL != "" }

// Count is one number with what it counts, and where that is listed.
type Count struct {
	Label   string
	Value   string
	URL     string
	Tone    string // "", "green", "red"
	Details []Detail
}

// Detail is a number beside a [Count], with its own list.
type Detail struct{ Text, URL string }

// Chart is a row of stacked bars.
type Chart struct {
	Label string // what it shows, for those who do not see it
	Max   string // what the full height stands for
	Bars  []Bar
	Marks [3]string // under the first bar, the middle one and the last
	// Before are the heights of a week before, from the first bar on; none: they are not drawn.
	Before []float64
	Notes  []ui.Noted // what people wrote down, in bars from the left edge on
	Now    float64    // where now is, in bars from the left edge on; less than 0: in none of them
}

// Bar is one bar: its parts in the heights of a chart of 100, from the bottom up.
type Bar struct {
	Title string // what it says, for the pointer and the table
	Label string // the first column of the table
	URL   string
	Parts []Part
}

// Part is a piece of a bar.
type Part struct {
	Class  string // "ok", "bad", "open", "plain"
	Height float64
	Value  string // for the table
	URL    string // the list behind this part alone; empty: the bar's
}

// Pulse is the last hour of this admin.
type Pulse struct {
	Rate, P50, P99 string
	URL            string // the runs of the time
	Minutes        Chart
	Quiet          bool // nothing was sent
}

// WeekDay is a row of the picture of the week.
type WeekDay struct {
	Label string
	URL   string
	Hours [24]Hour
}

// Hour is one field of the picture of the week.
type Hour struct {
	Level int // 0 to 5
	Runs  int64
	Title string
	URL   string // empty when it has not come yet
	Now   bool   // it is this hour
}

// Busy is one of the busiest minutes or hours ahead.
type Busy struct {
	At    string
	URL   string // the jobs that are due then
	In    format.Time
	Count string
	Jobs  string // how many jobs that are; empty: not told
}

// ForecastPage is what is due in the next days ([Forecast]; its script asks for [FragmentForecast]).
type ForecastPage struct {
	layout.Page
	Days  string // how far it reaches
	None  bool   // nothing is due
	Day   Chart  // the next 24 hours by quarters
	Hours []WeekDay
	Peaks []Busy
	Ends  string // up to when it is complete; empty: to its end

	Paused []string // as on the dashboard: why so little is due, or nothing

	From, Until string // what the form asks for at first
}

// FragmentForecast is everything under the page's head.
const FragmentForecast = "forecast"
