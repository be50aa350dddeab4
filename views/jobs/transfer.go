package jobs

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// ExportPage asks in which format jobs are exported ([Export]; fragment ui.FragmentDialog).
type ExportPage struct {
	layout.Page
	Query   url.Values // what is exported: a filter, or FieldID
	Count   int
	Groups  int    // that stand in the file, those without jobs too
	Scripts int    // left out
	Orphans int    // left out
	Problem string // why nothing can be exported, ready to print
}

// filterFormID is the list's filter: what it says now is exported, which may be more than the address of the page said.
const filterFormID = "filters"

// The names of the fields of an export and of an import.
const (
	FieldFormat  = "format"
	FieldFile    = "file"
	FieldText    = "text"
	FieldMatch   = "match"  // MatchName or MatchID
	FieldStates  = "states" // StatesStopped or StatesFile
	FieldCreate  = "create_groups"
	FieldConfirm = "confirm" // the digest of the plan that was seen
)

// The values of FieldMatch and FieldStates; the first of each is the default.
const (
	MatchName     = "name"
	MatchID       = "id"
	StatesStopped = "stopped"
	StatesFile    = "file"
)

// ImportPage takes a file, shows what it would do, and what it has done ([Import]).
type ImportPage struct {
	layout.Page
	Text      string // as it was uploaded or typed
	Match     string
	States    string
	Create    bool
	CanCreate bool   // executors
	Error     string // that there is no file, ready to print
	Problem   string
	Faults    []ImportFault // of the file as a whole
	Notes     []ImportFault // what became of the lines of a crontab that the file was made of
	Plan      *ImportPlan   // nil before there is one
}

// CrontabPage makes a file for the import of a crontab ([Crontab]).
type CrontabPage struct {
	layout.Page
	Text   string
	System bool
	Groups []ui.Option
	Errors map[string]string // by field, ready to print
}

// FieldSystem is set where the lines of a crontab have a user.
const FieldSystem = "system"

// ImportFault is what is wrong in a line of the file, ready to print.
type ImportFault struct {
	Line int
	Text string
}

// ImportPlan is what a file would do, or has done.
type ImportPlan struct {
	Items     []ImportItem // those that are not unchanged
	Unchanged []ImportItem
	Counts    []ImportCount
	NewGroups []string
	Missing   []string // executors that are not there, and that the reader may have created with the jobs
	Starts    int      // jobs that it starts
	Work      int      // jobs that would be created or changed, or with Done were
	Digest    string
	Done      bool
}

// ImportCount is how many jobs have an outcome.
type ImportCount struct {
	Outcome string // refuse, change, create, same or done
	Count   int
}

// ImportItem is one job of the file.
type ImportItem struct {
	Line    int
	ID      int64 // 0 for one that does not exist
	Name    string
	Group   string
	Outcome string // as in ImportCount
	Changes []ImportChange
	Faults  []ImportFault
	Waits   bool // its script waits for a second person, or will
	Starts  bool
}

// ImportChange is a field that changes: two short values, or the lines in which long ones differ.
type ImportChange struct {
	Label string
	Was   string
	Now   string
	Lines []glue.Line
}

// outcomes are the icon and the colour of each outcome, which its word says too.
var outcomes = map[string]struct{ icon, class string }{
	"refuse": {"circle-x", "failed"}, "change": {"pencil", "changed"}, "create": {"plus", "success"}, "done": {"circle-check", "success"},
}

func outcomeImage(outcome string) string { return cmp.Or(outcomes[outcome].icon, "circle-minus") }

func (p ImportPage) heading() string {
	if p.Plan != nil && p.Plan.Done {
		return p.T("import.done.title")
	}
	return p.T("import.title")
}

func (p ImportPage) done() bool { return p.Plan != nil && p.Plan.Done }

func (p ImportPage) matches() []ui.Option {
	return ui.Labelled(p.Printer, "import.match.", []string{MatchName, MatchID}, p.Match, false)
}

func (p ImportPage) states() []ui.Option {
	return ui.Labelled(p.Printer, "import.state.", []string{StatesStopped, StatesFile}, p.States, false)
}

// pair is one hidden field.
type pair struct{ name, value string }

func (p ExportPage) pairs() []pair {
	var list []pair
	for name, values := range p.Query {
		for _, v := range values {
			list = append(list, pair{name, v})
		}
	}
	slices.SortStableFunc(list, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	return list
}

// shortChanges says whether an item has changes that stand in a table.
func shortChanges(item ImportItem) bool {
	return slices.ContainsFunc(item.Changes, func(c ImportChange) bool { return c.Lines == nil })
}

// textRows gives a text that is there more room than an empty field.
func textRows(p ImportPage) int {
	if p.Text == "" {
		return 8
	}
	return 20
}

// wrong says of the text that it has the faults that are listed.
func (p ImportPage) wrong() templ.Attributes {
	if len(p.Faults) == 0 {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": FieldText + "-help import-faults"}
}
