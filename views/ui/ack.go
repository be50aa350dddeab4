package ui

import (
	"net/url"

	"github.com/punctual-job/punctual/views/format"
)

// Runbook is the address of what to do about the trouble of a job; empty for none.
type Runbook string

// Host is where it is, which says more than that it is one.
func (r Runbook) Host() string {
	u, err := url.Parse(string(r))
	if err != nil {
		return string(r)
	}
	return u.Host
}

// Ack says who looks after the trouble of a job, or leads to where somebody says so ([Acked]).
type Ack struct {
	Name   string // of the job
	By     string // empty: nobody
	At     format.Time
	Remark string
	URL    string // of the form; empty where the reader may not
}
