package glue

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// WaitingPage is a change of a script that waits for a second person ([Waiting]).
type WaitingPage struct {
	layout.Page
	JobID      int64
	Name       string
	Type       string
	Author     string
	Remark     string
	At         format.Time
	Old        string // the text that runs
	New        string // the text that waits
	Lines      []Line
	Version    string
	MayApprove bool // otherwise its reader is its author
	Moved      bool // what runs has changed since
	Trial      *Trial
	Nonce      string
}

// FieldDecision is DecisionApprove or DecisionReject.
const (
	FieldDecision   = "decision"
	DecisionApprove = "approve"
	DecisionReject  = "reject"
)

func (p WaitingPage) rejectWord() string {
	if p.MayApprove {
		return p.T("glue.reject")
	}
	return p.T("glue.withdraw")
}
