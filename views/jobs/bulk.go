package jobs

import (
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

// bulkDeeds are offered in this order.
var bulkDeeds = []struct{ do, image string }{
	{"start", "play"}, {"stop", "circle-stop"}, {"move", "folder-input"}, {"tag", "tag"}, {"delete", "trash-2"},
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
