package jobs

import (
	"maps"
	"slices"
	"strconv"

	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// BulkPage asks before something is done to many jobs, or says what became of each ([Bulk], [BulkDone]; fragment
// ui.FragmentDialog). The words are the messages "jobs.bulk.<Do>" and so on.
type BulkPage struct {
	layout.Page
	Do     string // start, stop, pause, move, tag, edit, spread, delete; rerun, kill
	Items  []BulkItem
	Count  int         // how many of them change, or have changed
	Groups []ui.Option // of a move
	// Undo is what takes it back, by job; nil if nothing can.
	UndoDo string
	Undo   []BulkWas
	// Of a deed for all jobs under a filter: see [BulkPage.Fix] and [BulkPage.GoOn].
	All       bool
	Rest      []Marked   // what is still to do
	Told      []BulkTold // what became of the others
	Undoing   bool
	Group     int64
	Add, Drop string
	// Of an edit: what can be changed, what is, and to what.
	Fields, Calendars []string
	Field, To         string
	// Of a spread: over how long, and what it comes to before it is done.
	Window  string
	Windows []ui.Option // Value is the address of the same question with another one
	Spread  *SpreadPicture
	// Of a pause: what was typed, what may become of what falls in, and the zone in which times are typed.
	Reason, Until, Pausing string
	Pausings               []ui.Option
	Zone                   string
	Errors                 map[string]string // why what was typed cannot be, by field, ready to print
	// Of runs that are run again: items are runs, with the new one in Was. What names the wish, so that it is done once.
	Batch string
}

// FragmentPart is the part of [BulkGoesOn] that each answer draws anew, and PartID the id by which htmx asks for it.
const (
	FragmentPart = "part"
	PartID       = "bulk-part"
)

// deedRerun and deedKill are done to runs; the others are done to jobs.
const (
	deedRerun = "rerun"
	deedKill  = "kill"
)

func (p BulkPage) ofRuns() bool { return p.Do == deedRerun || p.Do == deedKill }

// title asks whether it is to be done. Where it can be done to nothing, nothing is asked.
func (p BulkPage) title() string {
	if p.Count == 0 {
		return p.T("jobs.bulk." + p.Do)
	}
	return p.T("jobs.bulk."+p.Do+".title", "Count", p.Count)
}

func (p BulkPage) path() string {
	switch p.Do {
	case deedRerun:
		return link.RunsRerun
	case deedKill:
		return link.RunsKill
	}
	return link.JobsBulk
}

// list is where the page comes from.
func (p BulkPage) list() string {
	if p.ofRuns() {
		return link.RunsPath
	}
	return link.JobsPath
}

func (p BulkPage) nav() layout.Nav {
	if p.ofRuns() {
		return layout.NavRuns
	}
	return layout.NavJobs
}

// itemWords are the keys of texts that say what the items are: of jobs, and of runs.
var itemWords = map[string][2]string{
	"title": {"jobs.title", "runs.title"}, "more": {"jobs.bulk.more", "jobs.bulk.rerun.more"},
	"progress": {"jobs.bulk.progress", "jobs.bulk.rerun.progress"}, "halt": {"jobs.bulk.halt", "jobs.bulk.rerun.halt"},
}

func (p BulkPage) word(name string) string {
	if p.Do == deedRerun || p.Do == deedKill && name != "halt" {
		return itemWords[name][1]
	}
	return itemWords[name][0]
}

func (p BulkPage) newRun(i BulkItem) string {
	id, _ := strconv.ParseInt(i.Was, 10, 64) // an admin wrote it
	return link.Run(id)
}

// SpreadPicture is what the jobs of a spread are due in each minute of an hour, before and after.
type SpreadPicture struct {
	Before, After string // the busiest minutes, in words
	From, Until   string
	Bars          []SpreadBar
}

// SpreadBar is a minute: heights of 100.
type SpreadBar struct {
	Title         string
	Before, After float64
}

// FieldWindow is over how many minutes jobs are spread.
const FieldWindow = "window"

// FieldField and FieldTo, with a field's name behind it, are what an edit changes and to what.
const (
	FieldField = "field"
	FieldTo    = "to_"
)

// fields are the choice of an edit.
func (p BulkPage) fields() (list []ui.Option) {
	for _, name := range p.Fields {
		list = append(list, ui.Option{Value: name, Label: p.T(jobspec.Named(name).Label), Selected: name == p.Field})
	}
	return list
}

// value is the control for the value of a field, as it is in the form of a job. It is seen while its field is chosen.
func (p BulkPage) value(name string) ui.Field {
	form := FormPage{Page: p.Page, Calendars: p.Calendars, Values: FormValues{p.Field: p.To}, Errors: p.Errors}
	f := form.field(name)
	if name == jobspec.FieldCalendar {
		f = form.calendar()
	}
	f.Name, f.ID, f.Wrap = FieldTo+name, "bulk-"+name, "edit-"+name
	f.Required = false // a browser sends no form with an empty one, seen or not
	return f
}

// BulkItem is one of the jobs.
type BulkItem struct {
	ID      int64
	Name    string // empty for one that the user may not see
	Changes bool
	Problem string // why it cannot be done, ready to print
	Later   string // why it is done only later, ready to print
	Was     string // what an undo goes back to
	Version string
	Uses    []string // of a deletion: what does without it, a sentence each
}

// BulkWas is what an undo of a job goes back to.
type BulkWas struct {
	ID  int64
	Was string
}

// sentences says one after the other.
func (p BulkPage) sentences(all []string) string {
	text := all[0]
	for _, next := range all[1:] {
		text = p.T("list.sentence", "First", text, "Then", next)
	}
	return text
}

// The names of the bulk form's fields.
const (
	FieldDo   = "do"
	FieldID   = "id"
	FieldAdd  = "add"
	FieldDrop = "drop"
	FieldUndo = "undo"
	// FieldBatch is BulkPage.Batch.
	FieldBatch = "batch"
	// Of a pause.
	FieldReason     = "pause_reason"
	FieldPauseUntil = "pause_until"
	FieldPausing    = "pause_strategy"

	FieldAll   = "all"  // all jobs under the filter beside it
	FieldSet   = "set"  // the jobs of a preview; see [ReadSet]
	FieldTold  = "told" // see [ReadTold]
	FieldWas   = "was_" // and the job's id
	bulkFormID = "bulk"
)

// deed is something that is done to the rows that are picked, those with which it may be done.
type deed struct {
	do, image string
	may       func(Row) bool
}

func canSchedule(r Row) bool { return r.CanSchedule }
func canEdit(r Row) bool     { return r.CanEdit }

// bulkDeeds are offered in this order.
var bulkDeeds = []deed{
	{"start", "play", canSchedule}, {"stop", "circle-stop", canSchedule}, {"pause", "hourglass", canSchedule},
	{"move", "folder-input", canEdit}, {"tag", "tag", canEdit}, {"edit", "pencil", canEdit}, {"spread", "unfold-horizontal", canEdit}, {"delete", "trash-2", canEdit},
}

// deeds are those that may be done to some row of the page.
func (p ListPage) deeds() (list []deed) {
	for _, d := range bulkDeeds {
		if slices.ContainsFunc(p.Rows, d.may) {
			list = append(list, d)
		}
	}
	return list
}

// filtered are the names of the filter's fields.
func (p ListPage) filtered() []string { return slices.Sorted(maps.Keys(p.Filter.Values())) }

// every is what stands for the number of all jobs under the filter.
func (p ListPage) every() string {
	if p.More {
		return format.Number(p.Total) + "+"
	}
	return format.Number(p.Total)
}

// bulkLook is the icon of an item and its class, which says how it stands.
func bulkLook(i BulkItem) (image, class string) {
	switch {
	case i.Problem != "":
		return "circle-x", "bad"
	case i.Later != "":
		return "clock", "later"
	case i.Changes:
		return "circle-check", "good"
	}
	return "circle-minus", "same"
}

func spreadX(minute, inset int) string { return strconv.Itoa(10*minute + inset) }

func spreadY(height float64) string { return strconv.FormatFloat(100-height, 'f', 1, 64) }

func spreadHeight(height float64) string { return strconv.FormatFloat(height, 'f', 1, 64) }
