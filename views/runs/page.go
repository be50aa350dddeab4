// Package runs draws the run pages: the list with its live rows, and a run's timeline with its output.
package runs

import (
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/saved"
	"github.com/punctual-job/punctual/views/ui"
)

// ListPage is the run list ([List]; htmx gets [ListFragment], which brings the jobs of the chosen group along).
type ListPage struct {
	layout.Page
	Chips     []ui.Chip // filters of the dashboard
	Filter    link.RunFilter
	Groups    []ui.Option // the groups the user may see, without an "all" entry
	Jobs      []ui.Option // the jobs of the chosen group; empty while none is chosen
	Executors []ui.Option // addresses, of the chosen group if there is one
	Rows      []Row
	Pager     ui.Pager // Previous leads to newer runs, Next to older ones
	// Further is set when the search stopped because it took long: it goes on from there. Reached is how far back it came.
	Further string
	Reached format.Time
	// Swapped is set when the range ends before it begins, and nothing was looked for: the list with the two times exchanged.
	Swapped string
	// Live subscribes to link.RunsLive: set it on the first page (neither Before nor After) of an open-ended range.
	Live bool
	// AnyRuns tells an empty installation from a filter without a match.
	AnyRuns  bool
	CanClear bool // somewhere, if perhaps not here
	Views    saved.Bar
	Look     ui.Look
	// Sorted is among how many runs a list in another order was sorted: all under the filter, or with Reached the newest.
	Sorted int
}

// Row is one run of the list. The live stream sends [LiveRow] for new and changed runs.
type Row struct {
	LogID    int64
	JobID    int64
	JobName  string
	NoJob    bool // the job was deleted, or the reader may not see it: it has no page for them
	GroupID  int64
	Group    string
	State    runstate.State
	Trigger  string // trigger type as stored: CRON, MANUAL, RETRY, PARENT, API, MISFIRE, TRIAL; may be empty
	Shard    string // "1/3" of a broadcast; empty otherwise
	At       format.Time
	Lateness string // "+12 ms" between planned and sent; empty when unknown
	Late     bool   // it was late enough to be worth a colour
	Duration string // from sent to finished, or so far; empty while not sent
	Address  string
	Message  string // the first line of what there is to say; empty on plain success
	CanKill  bool
	Faults   string // how many lines with errors its kept output has, ready to print; empty for none, or where there is no copy
	CanRerun bool   // it has ended, and its job may be run
}

// DetailPage is one run ([Detail]).
type DetailPage struct {
	layout.Page
	Timeline Timeline
	Log      Log
	// Live subscribes to link.RunEvents from Log.Next on. Its events are "state" ([TimelineFragment]), "log" ([LogChunk],
	// with the next line number as event id) and "end".
	Live bool
}

// TimelinePage is the part of the detail page that changes while the run goes on.
type TimelinePage struct {
	layout.Page
	Timeline Timeline
}

// Timeline is everything known about a run except its output.
type Timeline struct {
	Row
	Handler     string
	Glue        string // as stored
	Param       string
	SentParam   string // Param as it was sent, where it has the planned time in it
	Planned     format.Time
	PlannedFor  format.Time // the time of the schedule that it is for, where that is not Planned
	RetriesLeft int
	Again       bool     // it repeats one that was lost, beyond the retries of its job
	OriginID    int64    // the run this one retries or was started by; 0 for none
	Follows     []Follow // retries and child runs that came of it
	Steps       []Step
	SendNote    []string       // what an XXL-JOB admin wrote down while sending, line by line; plain text
	ResultNote  []string       // what the executor reported, line by line; plain text
	Killing     string         // who wants it ended while that is not done yet, ready to print; may be empty
	Why         string         // one line: what this outcome came of; may be empty
	Advice      string         // one line: what an operator may do about it; may be empty
	Turn        ui.Turn        // for which it waits
	Shards      []Shard        // the runs of the broadcast this one belongs to, itself among them; empty for none
	Broadcast   runstate.State // of all of them: a success when each is one
	ShardsDone  string         // "2 of 3 succeeded"
	Attempts    []Attempt      // the runs of its fire, itself among them, the first one first; empty for one that was tried once
	Past        Past           // only of a run's own page
	Runbook     ui.Runbook     // of its job
	Ack         *ui.Ack        // who looks after the alarm that it is part of; nil: it is part of none
	// EndedBetween says of a run whose end is not known exactly between which times it ended; empty for all others.
	EndedBetween string
	DoneBy       string // the time by which it has to be done, ready to print, where it is late for that or may be
	Cause        Cause  // what its output says of a failure
	Notes        []ui.Note
	CanNote      bool     // the reader may write more
	CanRun       bool     // "run again" leads to the job's run-once dialog
	Flow         *FlowRun // of a run of a flow; nil for any other
	StepOf       *StepOf  // of a run that is a step of one; nil for any other
	Tried        string   // the script that a trial ran, for whoever may see it
	ShowsTried   bool
}

// Follow is a run that came of another.
type Follow struct {
	LogID   int64
	Trigger string // RETRY or PARENT
	JobName string
	State   runstate.State
}

// Attempt is one run of a fire that was tried several times.
type Attempt struct {
	LogID int64
	State runstate.State
}

// Past is the run among those of its job.
type Past struct {
	Bars           ui.RunBars
	Usual          string // "usually 1.4 s, p95 2.1 s"; empty where that is unknown
	Times          string // "×6.3" the usual duration; empty where that is unknown
	Unlike         bool   // that is unlike the job's past
	Previous, Next int64  // 0: none
	Good           int64  // the last success before it; 0: none is known
	Against        *Comparison
}

// Comparison is what is unlike the last good run, ready to print.
type Comparison struct {
	Good    int64
	At      format.Time
	Rows    []Difference
	Same    string // what both have in common; may be empty
	Changes []ui.Change
}

// Difference is one thing that two runs have otherwise. One of the values may be empty.
type Difference struct {
	Label, Good, This string
	Code              bool
}

// Shard is one run of a broadcast.
type Shard struct {
	LogID   int64
	Shard   string // "1/3"
	Address string
	State   runstate.State
}

// StepState is how far a step of the timeline has come.
type StepState string

// The states of a step.
const (
	StepDone    StepState = "done"
	StepActive  StepState = "active"  // going on now
	StepWaiting StepState = "waiting" // nothing goes on yet
	StepPending StepState = "pending" // still to come
	StepFailed  StepState = "failed"
	StepSkipped StepState = "skipped" // will not happen
)

// The steps of a run's timeline. Labels are the messages "step.<value>".
const (
	StepPlanned    = "planned"
	StepTriggered  = "triggered" // by somebody
	StepClaimed    = "claimed"
	StepStandsFor  = "stands"   // it stands for fires that passed unseen
	StepTakeover   = "takeover" // another admin has it now
	StepWaited     = "waited"
	StepWaitsTurn  = "turn" // it waits for a slot
	StepWaitsTime  = "time" // its planned time has not come
	StepLate       = "late"
	StepAsked      = "asked" // an executor was asked what it knows
	StepRouted     = "routed"
	StepFilled     = "filled" // the planned time was put into its parameter
	StepSent       = "sent"
	StepAnswered   = "answered"
	StepPassed     = "passed" // left out
	StepKill       = "kill"
	StepNotTold    = "nottold" // results of it were refused before they were read
	StepFlow       = "flow"    // it is a run of a flow, or of one of its steps
	StepAwaited    = "awaited" // the target of an asynchronous call reports the end
	StepLost       = "lost"
	StepEnded      = "ended" // where that was not when its executor could tell
	StepCalledBack = "calledback"
	StepResult     = "result" // one that came late
	StepFollow     = "follow" // what came of its end
	StepOther      = "other"
)

// Step is one line of the timeline, with the reason for what was decided there.
type Step struct {
	Name   string // one of those above
	State  StepState
	At     string // 02:00:00.003; empty when unknown
	Delta  string // "+3 ms" since the step before; empty when unknown
	Detail string // "round robin: 2 of 3 addresses", "HTTP 200", …; may be empty
}

// LogStatus says what can be said about a run's output.
type LogStatus string

// The states of an output.
const (
	LogLive        LogStatus = "live"        // more is to come
	LogComplete    LogStatus = "complete"    // all of it is here
	LogNone        LogStatus = "none"        // the run was never sent, so there is none
	LogMissing     LogStatus = "missing"     // the executor has none of the run any more
	LogUnavailable LogStatus = "unavailable" // the executor cannot be asked
)

// Log is a run's output, or a piece of it.
type Log struct {
	Status LogStatus
	First  int // number of the first line in Lines, from 1
	Next   int // the line to ask for next
	Lines  []string
	JumpAt int    // from this one of Lines on
	Jump   int    // the numbers are so much higher: what is between is not kept
	Before Level  // of the line above the first
	Note   string // why it is unavailable or cut short, ready to print
}

// Number is that of one of its lines.
func (l *Log) Number(i int) int {
	if i >= l.JumpAt {
		i += l.Jump
	}
	return l.First + i
}

// Cause is [CauseOf] its lines.
func (l *Log) Cause() Cause {
	c := CauseOf(l.Lines, 1)
	if c.Line > 0 {
		c.Line = l.Number(c.Line - 1)
	}
	return c
}

// LogPage is a piece of output on its own ([LogChunk]).
type LogPage struct {
	layout.Page
	LogID int64
	Log   Log
}

// KillPage asks before a run is ended ([Kill]; fragment ui.FragmentDialog).
type KillPage struct {
	layout.Page
	Row     Row
	Problem string      // why it could not be ended, ready to print; empty at first
	Ended   bool        // there is nothing left to end
	Flow    bool        // it is a run of a flow, which no executor runs
	Scopes  []ui.Option // what may be ended along with it; one entry when there is nothing else
	// Beside is how many more open runs of the job are at the same executor. Executors of XXL-JOB know no run ids: they end
	// whatever the job runs and has queued there.
	Beside int
}

// FieldScope says which runs are ended, by one of the scopes below.
const FieldScope = "scope"

// What is ended: the run, all that is open of its broadcast, all that is open of its job. Labels are "runs.kill.scope.<value>".
const (
	KillOne       = "run"
	KillBroadcast = "broadcast"
	KillJob       = "job"
)

// ClearPage clears runs by age or number, and says how long they are kept ([Clear]; fragment [FragmentClearings] shows how
// far clearings have come).
type ClearPage struct {
	layout.Page
	Group, Job, Type string // as chosen
	Groups           []ui.Option
	Jobs             []ui.Option // of the chosen group
	Types            []ui.Option
	NeedGroup        bool // the user may not clear everything
	Errors           map[string]string
	Preview          *ClearPreview // nil: not asked for yet
	Clearings        []Clearing
	DaysText         string // for how long runs are kept
}

// FragmentClearings is the part of [Clear] that shows how far clearings have come.
const FragmentClearings = "clearings"

// Names of the fields of [Clear].
const (
	FieldGroup = "group"
	FieldJob   = "job"
	FieldType  = "type"
	// FieldPreviewed carries the choice that the preview was of ([ClearPage.Previewed]): nothing else is deleted.
	FieldPreviewed = "previewed"
)

// ClearPreview says what a clearing would do, ready to print.
type ClearPreview struct {
	Nothing bool
	Text    string
	Open    string // what is spared; may be empty
}

// Clearing is one clearing somebody asked for.
type Clearing struct {
	ID      int64
	What    string // the group and the job, or everything
	User    string
	At      format.Time
	State   string // "open", "done" or "stopped"
	Percent string // "42"
	Deleted string
	CanStop bool
}

// AnyOpen says whether a clearing is still going on.
func (p ClearPage) AnyOpen() bool {
	for _, c := range p.Clearings {
		if c.State == "open" {
			return true
		}
	}
	return false
}
