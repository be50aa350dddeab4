// Package nodes draws the page of the cluster: the admins that share the work, and what this one has in hand.
package nodes

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// State is how an admin stands.
type State string

// The states.
const (
	StateLive   State = "live"
	StateSilent State = "silent"
	StateGone   State = "gone"
)

// ListPage is the whole page ([List]; fragment ui.FragmentResults).
type ListPage struct {
	layout.Page
	Rows []Row
	Load Load
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
	Low     int64 // from this run on it may have something unsent; 0: nothing is
}

// Load is what the admin that answers has in hand.
type Load struct {
	Name   string
	MayAct bool   // it claims and sends
	Lease  string // after which a silent admin is gone

	Planned, Queued, InFlight, Unsent, Results int
}
