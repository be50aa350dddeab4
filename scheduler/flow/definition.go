package flow

import "cmp"

// Limits of a definition.
const (
	MaxSteps    = 200
	MaxItems    = 10_000 // of a foreach
	MaxParallel = 1000   // items of a foreach at a time
	MaxID       = 64     // characters of a step's id
	MaxName     = 255    // characters of what a step is called
	MaxMessage  = 2000   // characters of what an approval says
	MaxSeconds  = 31_536_000
	MaxRetries  = 9999
	MaxBackoff  = 128     // characters of a back-off, as of that of a job
	MaxBytes    = 1 << 20 // of a definition as a text
	MaxOutputs  = 100     // of a flow
)

// DefaultParallel is how many items of a foreach run at a time when it does not say.
const DefaultParallel = 10

// Definition is a flow. Its zero value is none.
type Definition struct {
	OnFailure OnFailure
	Steps     []Step // in the order in which they are written, which decides nothing
	Outputs   []Output

	line, stepsLine, outputsLine int // of OnFailure, Steps and Outputs
}

// Output is what a run of the flow gives when it has succeeded.
type Output struct {
	Name  string // as a step's id
	Value string // an expression over all steps, with or without ${{ }}

	line int
	cut  string // what a comment left of it
}

// OnFailure says what becomes of steps that wait when another has failed.
type OnFailure string

// What a failure may do. An empty one is OnFailureStop.
const (
	OnFailureStop     OnFailure = "stop"     // none starts any more, but those whose condition asks how others ended
	OnFailureContinue OnFailure = "continue" // those that do not need it go on
)

// AllOnFailures are they in display order; the first is the form's default.
var AllOnFailures = []OnFailure{OnFailureStop, OnFailureContinue}

// Step is a part of a flow. It does exactly one thing: Job, Flow, Approve or Wait.
type Step struct {
	ID    string   // letters, digits and _, not a digit first; unique without regard to case
	Name  string   // what people call it; may be empty
	Needs []string // the steps that must have ended first
	Join  Join     // how many of them must have succeeded
	If    string   // the condition, with or without ${{ }}; empty: success()

	Job     *JobRef
	Flow    *JobRef
	Approve *Approve
	Wait    *Wait

	// Of a job or flow only:
	Param          *string // with ${{ expressions }}; nil: the job's own parameter
	Foreach        *Foreach
	TimeoutSeconds int64  // 0: the job's own
	Retries        *int64 // nil: the job's own
	RetryBackoff   string // how long they wait, see package backoff; empty: the job's own

	// ContinueOnError says that a failure of the step counts as a success, for what needs it and for the flow.
	ContinueOnError bool

	Line   int            // in the text that it was read from; 0 without one
	lines  map[string]int // of its fields
	cuts   []cut          // what a comment ended
	unsaid Kind           // it is to be of this kind, but its job is still to be named
}

// Kind is what a step does.
type Kind string

// The kinds of steps; the words are those of the file.
const (
	KindJob     Kind = "job"
	KindFlow    Kind = "flow"
	KindApprove Kind = "approve"
	KindWait    Kind = "wait"
)

// AllKinds are they in display order.
var AllKinds = []Kind{KindJob, KindFlow, KindApprove, KindWait}

// Kind is the first of the things that the step says it does, empty for none. A valid step says one.
func (s *Step) Kind() Kind {
	switch {
	case s.Job != nil:
		return KindJob
	case s.Flow != nil:
		return KindFlow
	case s.Approve != nil:
		return KindApprove
	case s.Wait != nil:
		return KindWait
	}
	return ""
}

// Ref is the job or flow that the step runs, nil for none.
func (s *Step) Ref() *JobRef {
	if s.Job != nil {
		return s.Job
	}
	return s.Flow
}

// Title is what people call the step: its name, and where it has none its id.
func (s *Step) Title() string { return cmp.Or(s.Name, s.ID) }

// Allows says whether a state of the step is a failure that counts as a success.
func (s *Step) Allows(state State) bool { return s.ContinueOnError && state.IsFailure() }

// LineOf is the line of one of its fields, or that of the step.
func (s *Step) LineOf(field string) int {
	if line, ok := s.lines[field]; ok {
		return line
	}
	return s.Line
}

// Join says how many of a step's needs must have succeeded: 0 all, n that many (1 is "any"). With a number, the step starts as soon as it
// is reached.
type Join int

// The joins that have names.
const (
	JoinAll Join = 0
	JoinAny Join = 1
)

// JobRef names a job: by its id in this installation, by its executor and description in a file, or by both.
type JobRef struct {
	ID          int64
	AppName     string
	Description string
}

// Approve waits for a person who may run the flow.
type Approve struct {
	Message        string // what is asked, with ${{ expressions }}
	TimeoutSeconds int64  // 0: for ever
	Default        Answer // what holds when nobody has answered in time
}

// Answer is what becomes of an approval.
type Answer string

// The answers. An empty one is AnswerReject.
const (
	AnswerReject  Answer = "reject"
	AnswerApprove Answer = "approve"
)

// AllAnswers are they in display order; the first is the form's default.
var AllAnswers = []Answer{AnswerReject, AnswerApprove}

// Wait waits for so long after its needs, or for a moment.
type Wait struct {
	Seconds int64
	Until   string // RFC 3339, or 2006-01-02 15:04:05 in the zone of the flow; with ${{ expressions }}
}

// Foreach makes one run of each item of a list, and joins them.
type Foreach struct {
	Items    string // an expression whose value is a list
	Parallel int    // items at a time; 0: DefaultParallel
	Max      int    // a longer list fails the step; 0: MaxItems
}
