package flow

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/expr"
)

// Data is what expressions may read. Secrets are no part of it: ${{ secrets.NAME }} stays as it is until the run of a step leaves.
type Data struct {
	Param   string    // of the run of the flow: flow.param
	Planned time.Time // the time that the run is for: flow.planned, and ${{ planned | … }}
	Zone    *time.Location
	// Results gives what steps gave that have ended, by their ids; nil: nothing. It is asked when an expression reads them, so that a
	// decision without one costs nothing, and once for a step in a decision.
	Results func(ids []string) map[string]Result
	// Budget bounds what the expressions of a decision do together; nil: only each has its bounds.
	Budget *expr.Budget
}

// Limits of what a step gives, for whoever records it: more is cut off before it is handed to an expression.
const (
	MaxOutput     = 1<<16 - 1 // bytes of a result's message: what its column holds
	MaxResultSize = 4 << 20   // bytes of all results that a plan reads
)

// Result is what a step gave: steps.ID.code, .message and .output. The output is that of an executor of ours or of a script; where there is
// none, the message is read as JSON. Values that the executor masked are masked here too.
type Result struct {
	State   State // of an item; that of a step is in its [StepState]
	Code    int64
	Message string
	Output  map[string]string
	Items   []Result // of a foreach and of a broadcast, in the order of the items and of the shards: steps.ID.items
}

// Job is what a definition's validation asks about a job that there is.
type Job struct {
	ID     int64
	Title  string // for messages
	IsFlow bool
	MayRun bool    // whoever saves the definition may run it
	Next   []int64 // the jobs that it starts: the steps of a flow, and its child jobs
}

// Jobs knows the jobs of the installation. It is asked about each once.
type Jobs interface {
	// Find is the job that a reference means; ok is false when there is none, or whoever asks may not see it, and err when nobody can say.
	Find(ref JobRef) (job Job, ok bool, err error)
	// Get is a job that another starts, whoever may see it; ok is false when it is gone.
	Get(id int64) (job Job, ok bool, err error)
}
