package runs

import (
	"cmp"
	"strconv"

	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// SearchPage looks for a text in what is kept of the outputs of runs ([Search]; [SearchFragment] is what has been found since, and how
// far the search has come).
type SearchPage struct {
	layout.Page
	Filter  link.OutputSearch
	Groups  []ui.Option
	Chips   []ui.Chip // the job
	Errors  map[string]string
	Off     bool   // outputs are not kept
	Asked   bool   // something is looked for
	Swapped string // of a range that ends before it begins: leads to the search with the two exchanged
	Matches []Match
	// Further goes on with the search; empty when it is through. By itself, as long as Going is set; Stop is what ends that.
	Further, Stop string
	Going         bool
	Progress      string // how far it has come, ready to print
	Unreadable    string // that copies could not be read; empty: all could
}

// Match is a run that has the text.
type Match struct {
	LogID, JobID int64
	JobName      string
	NoJob        bool // as in a Row
	State        runstate.State
	At           format.Time
	Lines        []MatchLine
	More         string // that other lines have it too, ready to print; may be empty
}

// MatchLine is a line that has it.
type MatchLine struct {
	Number int
	Parts  []MatchPart
}

// MatchPart is a piece of a line.
type MatchPart struct {
	Text string
	Hit  bool // what is looked for
}

// Names of the fields of [Search].
const (
	FieldSearchText  = "q"
	FieldSearchGroup = "group"
)

// searchProgress is the id of the part of the page that says how far a search has come.
const searchProgress = "search-progress"

func (l MatchLine) number() string { return strconv.Itoa(l.Number) }

// ofSearch is what a search takes over of the list's filter.
func (p ListPage) ofSearch() link.RunFilter {
	f := link.RunFilter{Group: p.Filter.Group, Job: p.Filter.Job, Range: p.Filter.Range, From: p.Filter.From, To: p.Filter.To}
	if f.Job != 0 {
		f.Group = 0
	}
	return f
}

func (p SearchPage) job() string {
	if p.Filter.Job == 0 {
		return ""
	}
	return strconv.FormatInt(p.Filter.Job, 10)
}

func (p SearchPage) rangeShown() string { return cmp.Or(p.Filter.Range, link.RangeDefault) }

// nothing says that the search is over, and that nothing was found.
func (p SearchPage) nothing() bool {
	return p.Asked && len(p.Errors) == 0 && len(p.Matches) == 0 && p.Filter.Hits == 0 && p.Further == ""
}
