// Package wire is the executor/admin protocol of XXL-JOB (docs/compat.md §1): the bodies that cross the network in both
// directions, the block strategies and GLUE types an executor acts on, and a small net/http client for each direction.
// It imports only the standard library, so that a program which embeds the executor gets nothing else with it.
package wire

import (
	"strings"
	"time"
)

// Headers of the protocol (docs/compat.md §1.2).
const (
	HeaderToken    = "XXL-JOB-ACCESS-TOKEN"
	HeaderRPCToken = "XXL-RPC-ACCESS-TOKEN" // era R2 (2.1.1, 2.1.2) only
	HeaderAppName  = "XXL-JOB-APPNAME"      // era J4 (3.5); older peers ignore it
)

// Result codes (docs/compat.md §1.3).
const (
	CodeSuccess = 200
	CodeFail    = 500
	CodeTimeout = 502 // only as a handle code: the job ran longer than its time-out

	// CodeNameTaken is ours: it refuses a pull under a name that another executor has.
	CodeNameTaken = 409
)

// Block strategy: what the executor does with a run whose job is already running there (docs/compat.md §3.2).
type Block string

const (
	BlockSerial       Block = "SERIAL_EXECUTION"
	BlockDiscardLater Block = "DISCARD_LATER"
	BlockCoverEarly   Block = "COVER_EARLY"
)

// RunRequest asks an executor to run a job: the body of /run (J1–J3) and /trigger (J4), docs/compat.md §1.7.
type RunRequest struct {
	JobID           int64  `json:"jobId"`
	ExecutorHandler string `json:"executorHandler,omitempty"`
	ExecutorParams  string `json:"executorParams"`
	BlockStrategy   Block  `json:"executorBlockStrategy,omitempty"`
	TimeoutSeconds  int    `json:"executorTimeout"`
	LogID           int64  `json:"logId"`
	LogDateTime     int64  `json:"logDateTime"` // trigger time, epoch milliseconds
	GlueType        Glue   `json:"glueType"`
	GlueSource      string `json:"glueSource,omitempty"`
	GlueUpdateTime  int64  `json:"glueUpdatetime"` // epoch milliseconds
	BroadcastIndex  int    `json:"broadcastIndex"`
	BroadcastTotal  int    `json:"broadcastTotal"`

	// What follows is ours; executors of XXL-JOB read past it. Environment is for the programs of a script, and Masks are texts that
	// must not stand in the run's output and result.
	Environment map[string]string `json:"environment,omitempty"`
	Masks       []string          `json:"masks,omitempty"`
	// PlannedAt is the time of the schedule that the run is for, in epoch milliseconds, where that is not LogDateTime; else 0. Only
	// executors that take an environment are told.
	PlannedAt int64 `json:"plannedAt,omitempty"`
	// KeepOutput says that the executor is to push the run's output when it ends; nil: it is not. Only executors that take an environment
	// are told.
	KeepOutput *OutputWish `json:"keepOutput,omitempty"`
	// Node is the number of the admin that asks, as it names itself to who reports results; 0: there is no other. Only executors that take
	// an environment are told.
	Node int64 `json:"node,omitempty"`
	// TraceParent is where the run belongs in a trace, as [ParseTraceParent] takes it. It travels as a header, so that whatever
	// instruments an executor of XXL-JOB finds it; as a member it stands only in what our executor keeps of the request.
	TraceParent string `json:"traceparent,omitempty"`
}

// IdleBeatRequest asks whether a job's thread is free (docs/compat.md §1.7).
type IdleBeatRequest struct {
	JobID int64 `json:"jobId"`
}

// KillRequest ends a job's run. LogID is our extension: our executor ends only that run; upstream ignores the member.
type KillRequest struct {
	JobID int64 `json:"jobId"`
	LogID int64 `json:"logId,omitempty"`
}

// LogRequest reads a run's log from a line on. Both spellings of the time are sent (docs/compat.md §1.11 point 5).
type LogRequest struct {
	LogDateTim  int64 `json:"logDateTim"`
	LogDateTime int64 `json:"logDateTime"`
	LogID       int64 `json:"logId"`
	FromLineNum int   `json:"fromLineNum"`
}

// LogResult is a piece of a run's log.
type LogResult struct {
	FromLineNum int    `json:"fromLineNum"`
	ToLineNum   int    `json:"toLineNum"`
	LogContent  string `json:"logContent"`
	IsEnd       bool   `json:"isEnd"`
	// Remembers is for how many milliseconds the executor remembers whatever it was asked to run, said with [LogMissing] when it was asked
	// from [PastEnd] on. Ours alone say so.
	Remembers int64 `json:"remembers,omitempty"`
}

// PastEnd is a line that no log has: asked for from there, an executor says whether it has a log of a run, and sends none
// of its text.
const PastEnd = 1 << 30

// LogMissing is what an executor returns as the content of a log that it does not have.
const LogMissing = "readLog fail, logFile not exists"

// Missing says that the executor has no log of the run. One of ours then does not remember the run, see [LogResult.NeverHad]; one of
// upstream may still have it waiting.
func (r LogResult) Missing() bool {
	return r.ToLineNum == 0 && strings.HasPrefix(r.LogContent, "readLog fail")
}

// NeverHad says that a run which was first sent so long ago has not come to the executor. It is false where the executor does not say so:
// it may have been begun anew since.
func (r LogResult) NeverHad(sent time.Duration) bool {
	return r.Missing() && r.Remembers > sent.Milliseconds()
}

// RegistryRequest is the body of /api/registry and /api/registryRemove (docs/compat.md §1.4).
type RegistryRequest struct {
	RegistryGroup string `json:"registryGroup"`
	RegistryKey   string `json:"registryKey"`
	RegistryValue string `json:"registryValue"`
	// CodeHandlers are the executor's handlers whose parameter is code, so that the admin lets only those change it who may write
	// scripts. Ours alone say so; XXL-JOB's admins read past it.
	CodeHandlers []string `json:"codeHandlers,omitempty"`
	// TakesEnvironment says that [RunRequest.Environment] is understood. Ours alone say so.
	TakesEnvironment bool `json:"takesEnvironment,omitempty"`
}

// FullReport is how many results an executor of 3.4.1 or later reports at once at most (docs/compat.md §1.5): more wait then.
const FullReport = 50

// Callback reports how a run ended (docs/compat.md §1.5).
type Callback struct {
	LogID       int64  `json:"logId"`
	LogDateTim  int64  `json:"logDateTim"`
	LogDateTime int64  `json:"logDateTime"`
	HandleCode  int    `json:"handleCode"`
	HandleMsg   string `json:"handleMsg,omitempty"`
	// Undone says of a failure that its executor was shutting down. Ours alone say so; XXL-JOB's admins read past it.
	Undone Undone `json:"undone,omitempty"`
	// Outputs is what the run gives to steps of a flow that come after it. Ours alone say so; XXL-JOB's admins read past it.
	Outputs map[string]string `json:"outputs,omitempty"`
	// Pushed says that an admin has taken what the run wrote, so that nobody need ask for it. Ours alone say so, to admins that wanted it.
	Pushed bool `json:"outputPushed,omitempty"`
	// Waited is for how many milliseconds the result has waited to be sent, at least 1: the admin's clock less that is when the run ended,
	// however long no admin could be reached. 0: its executor does not say. Ours alone say so; XXL-JOB's admins read past it.
	Waited int64 `json:"waitedMs,omitempty"`
	// Ended is when the run ended by its executor's clock, in epoch milliseconds, for the executor itself. It is not sent.
	Ended int64 `json:"endedAt,omitempty"`
	// Node is [RunRequest.Node] of the run, for the executor itself: the admin of that number is told first. It is not sent.
	Node int64 `json:"-"`
}

// MaxWaited is how long a result may have waited, in milliseconds: 30 days, beyond any executor's memory of its runs.
const MaxWaited = 30 * 24 * 3600 * 1000

// Undone is how far a run had come when its executor shut down.
type Undone string

// The values of [Callback.Undone].
const (
	UndoneWaiting Undone = "WAITING" // it had not begun, and is handed back
	UndoneRunning Undone = "RUNNING" // it was cut off
)

// What an executor of ours reports of a run's outputs at most, in bytes.
const (
	MaxOutputKey = 128
	MaxOutputs   = 32 << 10 // of all keys and values
)
