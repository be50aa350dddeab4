package jobs

import (
	"slices"

	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// BulkPage asks before something is done to many jobs, or says what became of each ([Bulk], [BulkDone]; fragment
// ui.FragmentDialog). The words are the messages "jobs.bulk.<Do>" and so on.
type BulkPage struct {
	layout.Page
	Do     string // start, stop, move, tag, delete
	Items  []BulkItem
	Count  int         // how many of them change, or have changed
	Groups []ui.Option // of a move
	// Undo is what takes it back, by job; nil if nothing can.
	UndoDo string
	Undo   []BulkWas
}

// BulkItem is one of the jobs.
type BulkItem struct {
	ID      int64
	Name    string // empty for one that the user may not see
	Changes bool
	Problem string // why it cannot be done, ready to print
}

// BulkWas is what an undo of a job goes back to.
type BulkWas struct {
	ID  int64
	Was string
}

// The names of the bulk form's fields.
const (
	FieldDo    = "do"
	FieldID    = "id"
	FieldAdd   = "add"
	FieldDrop  = "drop"
	FieldUndo  = "undo"
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
	{"start", "play", canSchedule}, {"stop", "circle-stop", canSchedule},
	{"move", "folder-input", canEdit}, {"tag", "tag", canEdit}, {"delete", "trash-2", canEdit},
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

func bulkImage(i BulkItem) string {
	switch {
	case i.Problem != "":
		return "circle-x"
	case i.Changes:
		return "circle-check"
	default:
		return "circle-minus"
	}
}

func bulkClass(i BulkItem) string {
	switch {
	case i.Problem != "":
		return "bad"
	case i.Changes:
		return "good"
	default:
		return "same"
	}
}
