// Package audit draws the audit log: who did what, and one entry as a readable difference.
package audit

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/saved"
	"github.com/punctual-job/punctual/views/ui"
)

// ListPage is the log ([List]; fragment ui.FragmentResults).
type ListPage struct {
	layout.Page
	Filter  link.AuditFilter
	Rows    []Row
	Pager   ui.Pager
	Swapped string // the list with the two times of its range exchanged, where that ends before it begins; otherwise empty
	Further string // where the search goes on that took too long; empty: it did not
	Reached format.Time
	Users   []ui.Option
	Groups  []ui.Option
	Actions []string
	Kinds   []string
	Views   saved.Bar
	// Unshipped are the targets that take no entries at the moment.
	Unshipped []Unshipped
}

// Unshipped is a target that takes no entries.
type Unshipped struct {
	Target string
	Since  format.Time
	Why    string
}

// Row is one thing that somebody did.
type Row struct {
	ID      int64
	At      format.Time
	User    string
	Address string
	Action  string
	Kind    string
	Object  int64
	Name    string
	What    string // its kind and number; empty: the name says them
}

type EntryPage struct {
	layout.Page
	What      Row
	ObjectURL string // empty when there is nothing to show any more
	Changes   []Change
}

// Change is one field before and after. A text of several lines has Lines instead, which mark what came and went.
type Change struct {
	Field  string // in words
	Before string
	After  string
	Lines  []Line
}

// Line is a line of a text that changed.
type Line struct {
	Mark string // LineAdded, LineRemoved or LineSame
	Text string
}

// What became of a line.
const (
	LineAdded   = "added"
	LineRemoved = "removed"
	LineSame    = "same"
	LineGap     = "gap" // so many equal lines were left out
)
