// Package accounts draws what became of the fires that were planned for a job in a time.
package accounts

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// JobPage is the whole page ([Job]; fragment ui.FragmentResults).
type JobPage struct {
	layout.Page
	ID      int64
	Name    string
	Filter  link.RunFilter // of which the range counts
	TooLong bool           // the account was given up
	BadTime bool           // the time has not begun, or ends before it begins

	Fires    string // how many were planned
	From, To string
	Faulty   bool
	Counts   []Count
	Entries  []Entry
	Left     string // how many fires the list leaves out; "" for none
	Notes    []string
}

// Count is how many fires became something.
type Count struct {
	Class string
	N     string
	None  bool
}

// Entry is a stretch of fires with the same fate.
type Entry struct {
	Class  string
	From   format.Time
	To     format.Time // zero: one fire
	Fires  string      // "" for one
	Run    int64       // 0: none
	Reason string
}
