// Package timeline draws runs against time: a row for each job or executor, a bar for each run. The picture is made on the server as SVG whose
// lengths are shares of its width, so that it is as sharp on a phone as on a wall, and needs no script and no style of its own. A list beside
// it says the same.
package timeline

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// Page is a timeline ([Whole]; its script and its filter ask for [FragmentTimeline]).
type Page struct {
	layout.Page
	Filter link.TimelineFilter
	Groups []ui.Option
	Chips  []ui.Chip
	Wrong  string // why there is no picture; empty: there is
	Live   bool   // its right edge moves
	From   string // when it begins and ends, to the minute
	Until  string
	Grid
	More string // what is left out; empty: nothing is
}

// Grid is the picture ([Drawing]), whatever runs it is of, and what it says as a list ([Listing]).
type Grid struct {
	Ticks []Tick
	Now   float64 // where now is; less than 0: outside
	Rows  []Row
}

// FragmentTimeline is everything under the filter.
const FragmentTimeline = "timeline"

// Tick is a line of the grid.
type Tick struct {
	X     float64 // like all places of the picture, of 100
	Label string  // may be empty
}

// Row is a job or an address.
type Row struct {
	Name  string
	URL   string
	Note  string // what else is said of it, such as how many runs there were at a time
	Cut   float64
	CutBy Left // why nothing is drawn before Cut; without a text it is not cut
	Lanes int  // how many bars stand above each other
	Bars  []Bar
	Dues  []Due
	Notes []ui.Noted // of 100
	Held  []Held     // when the schedule is paused
	Ends  Left       // what is not drawn behind the last fire
}

// Left is what is left out, and where it is listed.
type Left struct{ Text, URL string }

// Bar is a run, or several of one kind that lie too close to be told apart.
type Bar struct {
	URL    string
	Title  string
	Tone   string // as of [ui.RunBar]
	Again  bool   // another attempt of a run that failed
	Lane   int
	X      float64 // from when it was planned, or where nothing was waited for, from its sending
	Run, W float64 // where the sending is, and how long it took from there
}

// Due is one fire or several that are to come.
type Due struct {
	X          float64
	URL, Title string
}

// Held is a time in which a schedule is paused.
type Held struct {
	X, W       float64
	URL, Title string
}

// The heights of a row's picture, in pixels.
const (
	laneHeight = 14
	barHeight  = 10
	rowPadding = 6
)

func (r Row) height() int {
	return 2*rowPadding + max(1, r.Lanes)*laneHeight - (laneHeight - barHeight)
}

func pixels(n int) string { return strconv.Itoa(n) }

func (b Bar) y() string { return strconv.Itoa(rowPadding + b.Lane*laneHeight) }

// painted are the bars as they are drawn, one over the other: no success hides a failure beside it.
func (r Row) painted() []Bar {
	bars := slices.Clone(r.Bars)
	slices.SortStableFunc(bars, func(a, b Bar) int { return cmp.Compare(a.failed(), b.failed()) })
	return bars
}

func (b Bar) failed() int {
	if b.Tone == "bad" {
		return 1
	}
	return 0
}

// waitY is the upper edge of the thin part before the sending.
func (b Bar) waitY() string { return strconv.Itoa(rowPadding + b.Lane*laneHeight + barHeight/2 - 1) }

func (b Bar) class() string {
	if b.Again {
		return b.Tone + " again"
	}
	return b.Tone
}

// waited says that the part before the sending can be seen.
func (b Bar) waited() bool { return b.Run-b.X >= 0.15 }

// width is never 0: of a bar without a width SVG draws nothing, not even its stroke, which is what is seen of a short run.
func (b Bar) width() string { return percent(max(b.W, 0.01)) }

func percent(x float64) string { return strconv.FormatFloat(min(100, max(0, x)), 'f', 2, 64) + "%" }

// rangeShown is the range that the filter shows as chosen.
func (p Page) rangeShown() string { return cmp.Or(p.Filter.Range, link.TimelineRanges()[0]) }

func (p Page) by() string { return cmp.Or(p.Filter.By, link.TimelineRows()[0]) }

// foot is the lower edge of a bar.
func (b Bar) foot() string { return strconv.Itoa(rowPadding + b.Lane*laneHeight + barHeight) }

// noted says that there is a note in the picture.
func (p Page) paused() bool {
	return slices.ContainsFunc(p.Rows, func(r Row) bool { return len(r.Held) > 0 })
}

func (p Page) noted() bool {
	return slices.ContainsFunc(p.Rows, func(r Row) bool { return len(r.Notes) > 0 })
}
