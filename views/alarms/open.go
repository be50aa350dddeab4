package alarms

import (
	"slices"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// OpenAlarm is an alarm that has not recovered.
type OpenAlarm struct {
	Cause string
	Since format.Time
	Count int
	Run   int64 // the newest; 0: it is about no run
}

// OpenJob is a job with such alarms.
type OpenJob struct {
	ID     int64
	Name   string
	Group  string
	Alarms []OpenAlarm
	Ack    ui.Ack
}

// OpenPage lists them ([OpenList]; its script asks for [FragmentOpen]).
type OpenPage struct {
	layout.Page
	Jobs []OpenJob
	More bool // there are others
}

// Left are the jobs that nobody looks after, where the reader may say that they do.
func (p OpenPage) Left() []OpenJob {
	return slices.DeleteFunc(slices.Clone(p.Jobs), func(j OpenJob) bool { return j.Ack.By != "" || j.Ack.URL == "" })
}

// AllPage is the form by which somebody says that they look after all of them ([AcknowledgeAll]; fragment ui.FragmentDialog).
type AllPage struct {
	layout.Page
	Jobs    []OpenJob
	Remark  string
	Max     int // characters of Remark
	Error   string
	Problem string
}

// FragmentOpen is the part of [OpenList] that changes.
const FragmentOpen = "open"

// AckPage is the form by which somebody says that they look after the alarms of a job, or takes it back ([Acknowledge]; fragment
// ui.FragmentDialog).
type AckPage struct {
	layout.Page
	Job     OpenJob
	May     bool
	Back    string // where to go on
	Remark  string
	Max     int // characters of Remark
	Error   string
	Problem string
}

// LinkPage is what the link of a message opens ([Linked]).
type LinkPage struct {
	layout.Page
	URL, Name, Cause, State string
	Job                     string // the page of the job, for who may sign in
	Since                   format.Time
	Reader                  string // as whom its reader is noted
	Ack                     ui.Ack
	Remark                  string
	Max                     int
	Error                   string
	Problem                 string
}
