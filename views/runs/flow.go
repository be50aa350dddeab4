package runs

import (
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
)

// FlowRun is what the page of a run of a flow has of its steps.
type FlowRun struct {
	Graph flows.Graph
	Steps []FlowStep
	Time  timeline.Grid // without rows: nothing has begun
	// Began and Ended are the edges of Time, ready to print.
	Began, Ended string
	Asked        string // that it is to end, and why, ready to print; may be empty
	Unread       string // why its definition cannot be read, ready to print; empty where it can be
	Repeats      int64  // the run that it does a part of again; 0 for none
	CanRepeat    bool   // what failed, and what hangs on it
}

// FlowStep is a step of such a run.
type FlowStep struct {
	ID       string
	Title    string
	Kind     flow.Kind
	State    flow.State
	Allowed  bool     // it failed, and that counts as a success
	Needs    []string // ids
	After    []string // what those steps are called
	If       string
	RunID    int64 // the newest attempt; 0 for none
	RunGone  bool  // it has been deleted
	JobName  string
	Began    format.Time
	Duration string
	Attempt  string      // "attempt 2"; empty for the first
	Items    string      // of a foreach: how far they are
	ItemsURL string      // the list of them; empty for none
	Until    format.Time // when it is decided without anybody
	Text     string      // what an approval asks
	Param    string      // what its run got
	Output   string
	Message  string // why it stands where it does
	Decided  string // who answered, skipped it or set it to success, and the remark
	Deeds    []Deed
}

// hasMore says whether there is something to unfold.
func (s FlowStep) hasMore() bool {
	return s.Param != "" || s.Output != "" || s.If != "" || len(s.Needs) > 0
}

// answers are the deeds that a step which waits for somebody asks for.
func (s FlowStep) answers() []Deed {
	var list []Deed
	for _, d := range s.Deeds {
		if d == DeedApprove || d == DeedReject {
			list = append(list, d)
		}
	}
	return list
}

// Deed is what somebody may do to a step, or to the run of a flow. The words are those of the address.
type Deed string

const (
	DeedApprove Deed = "approve"
	DeedReject  Deed = "reject"
	DeedSkip    Deed = "skip"
	DeedSuccess Deed = "success"
	DeedRerun   Deed = "rerun" // from the step on; without a step: what failed
)

// AllDeeds are they in display order.
var AllDeeds = []Deed{DeedApprove, DeedReject, DeedSkip, DeedSuccess, DeedRerun}

func deedIcon(d Deed) string {
	switch d {
	case DeedApprove, DeedSuccess:
		return "circle-check"
	case DeedReject:
		return "octagon-x"
	case DeedSkip:
		return "skip-forward"
	case DeedRerun:
		return "rotate-ccw"
	}
	return "circle-help"
}

// DeedPage asks before a deed ([DeedForm]; fragment ui.FragmentDialog).
type DeedPage struct {
	layout.Page
	LogID   int64
	Name    string // of the flow
	Step    FlowStep
	Deed    Deed
	Again   []string // of a repetition: the titles of the steps that run again
	Remark  string
	Problem string
}

// remarked says whether the deed takes a remark.
func (p DeedPage) remarked() bool { return p.Deed != DeedRerun }

// FieldStepRemark is the remark of a deed.
const FieldStepRemark = "remark"

// MaxStepRemark is how long it may be, in characters.
const MaxStepRemark = 500

// ItemsPage are the runs of a foreach ([Items]).
type ItemsPage struct {
	layout.Page
	LogID int64
	Name  string // of the flow
	Step  FlowStep
	Rows  []Item
	Pager ui.Pager
}

// Item is one of them.
type Item struct {
	Number   string // from 1
	State    flow.State
	RunID    int64
	RunGone  bool // it has been deleted
	Param    string
	Duration string
	Message  string
}

// StepOf says of which step of which run of a flow a run is.
type StepOf struct {
	LogID int64
	Name  string // of the flow
	Step  string // its title
	Item  string // "item 3"; empty for a step that has none
}
