// Package palette draws the search over everything that Ctrl+K opens, and the list of keys. Both are pages of their own for
// browsers without script.
package palette

import (
	"strconv"

	"github.com/punctual-job/punctual/views/layout"
)

// FragmentHits is the list of hits alone.
const FragmentHits = "hits"

// Page is the palette ([Palette]; fragments ui.FragmentDialog and [FragmentHits]).
type Page struct {
	layout.Page
	Text     string
	Sections []Section
	Box      bool // a script walks through the hits: they are the list of a combobox, and else links
}

// Section is the hits of one kind. Its title is the message "palette.<Name>".
type Section struct {
	Name string
	Hits []Hit
}

// The sections.
const (
	Deeds   = "deeds" // on jobs
	Actions = "actions"
	Jobs    = "jobs"
	Groups  = "groups"
	Runs    = "runs"
	Views   = "views"
)

// Hit is something to go to.
type Hit struct {
	Icon  string
	Title string
	Sub   string
	URL   string
	// With a script the hit opens URL in a dialog, or posts to an address. Without one it leads to URL, where the same is done.
	Dialog bool
	Post   string
}

// keys are the keys of the console by section, each with the message that says what it does.
var keys = []struct {
	title string
	keys  []key
}{
	{"keys.anywhere", []key{{"Ctrl K", "keys.palette"}, {"?", "keys.help"}, {"Ctrl Enter", "keys.send"}, {"Esc", "keys.close"}}},
	{"keys.go", []key{{"g d", "nav.dashboard"}, {"g j", "nav.jobs"}, {"g r", "nav.runs"}, {"g e", "nav.executors"}, {"g h", "help.title"}}},
	{"keys.lists", []key{{"/", "keys.search"}, {"j", "keys.down"}, {"k", "keys.up"}, {"Enter", "keys.open"}, {"x", "keys.pick"}, {"r", "jobs.run"}, {"s", "keys.switch"}, {"e", "action.edit"}}},
	{"keys.job", []key{{"r", "jobs.run"}, {"s", "keys.switch"}, {"e", "action.edit"}, {"f", "jobs.favourite"}}},
	{"keys.run", []key{{"[", "keys.run.previous"}, {"]", "keys.run.next"}, {"l", "keys.run.good"}, {"r", "runs.again"}}},
	{"keys.output", []key{{"/", "log.find"}, {"Enter", "log.find.next"}, {"Shift Enter", "log.find.previous"}, {"Esc", "keys.output.end"}}},
	{"keys.editor", []key{{"Ctrl S", "keys.save"}, {"Ctrl F", "keys.find"}}},
}

type key struct{ combination, text string }

// undoVals has the answer to a deed bring its message alone, and the lists behind it look for themselves.
const undoVals = `{"` + layout.FieldUndo + `":"1"}`

func sectionID(i int) string { return "palette-" + strconv.Itoa(i) }

func hitID(section, i int) string { return sectionID(section) + "-" + strconv.Itoa(i) }

func (p Page) count() (n int) {
	for _, s := range p.Sections {
		n += len(s.Hits)
	}
	return n
}
