package ui

import "github.com/punctual-job/punctual/views/format"

// Ack says who looks after the trouble of a job, or leads to where somebody says so ([Acked]).
type Ack struct {
	Name   string // of the job
	By     string // empty: nobody
	At     format.Time
	Remark string
	URL    string // of the form; empty where the reader may not
}
