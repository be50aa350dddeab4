// Package nodes draws the page of the cluster: the admins that share the work, with what each has in hand.
package nodes

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// State is how an admin stands.
type State string

const (
	StateLive     State = "live"
	StateDraining State = "draining"
	StateSilent   State = "silent"
	StateGone     State = "gone"
)

// ListPage is the whole page ([List]; fragment ui.FragmentResults).
type ListPage struct {
	layout.Page
	Rows []Row
	// Conditions are what is wrong with any of them.
	Conditions []Condition
	// LogLost says of each of them that has lost lines of its log how many, ready to print. It stands until that one starts anew, and is no trouble
	// that the tab has to show.
	LogLost []Condition
	Hold    *Hold    // the admin that answers waits for somebody to say go; nil: it does not
	Adopted bool     // the database was XXL-JOB's, and there is a way back
	Idle    bool     // the admin that answers may neither claim nor send
	Output  []string // how the keeping of outputs stands, ready to print; none: they are not kept
	Lease   string   // after which a silent admin is gone
}

// FieldOwnStore of the form that says go: the output store is no other installation's.
const FieldOwnStore = "own_store"

// Hold says who wanted a database held, since when, and why.
type Hold struct {
	By, Reason string
	Since      format.Time
	Outside    bool // outputs are kept outside the database, where another installation may have them
}

// Condition is something that is wrong with a node.
type Condition struct {
	Node  string
	ID    int64
	Text  string
	Stops bool // it does not schedule for it
}

// Row is one admin.
type Row struct {
	ID      int64
	Name    string
	Address string
	Version string
	State   State
	Self    bool
	Started format.Time
	Beat    format.Time
	Load    Load
	HasLoad bool
}

// Load is what an admin has in hand, ready to print. Its fields are the columns of [figures].
type Load struct {
	Sent, Claimed string // in a second
	Late          string // 99 of 100 were sent within this
	Planned       string
	Queued        string
	InFlight      string
	Unsent        string
	Results       string
	Memory        string
}
