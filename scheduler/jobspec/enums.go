package jobspec

import (
	"fmt"
	"slices"

	"github.com/punctual-job/punctual/executor/wire"
)

// ScheduleType says how a job's due times come about (docs/compat.md §3.4); it gives xxl_job_info.schedule_conf its meaning.
type ScheduleType string

// The schedule types, spelled as the table has them.
const (
	ScheduleNone     ScheduleType = "NONE"      // never due by itself; such a job cannot be started
	ScheduleCron     ScheduleType = "CRON"      // the conf is a cron text
	ScheduleFixRate  ScheduleType = "FIX_RATE"  // the conf is whole seconds, at least 1
	ScheduleFixDelay ScheduleType = "FIX_DELAY" // the conf is whole seconds from the end of a run to the next; XXL-JOB names it and never ran it
	ScheduleOnce     ScheduleType = "ONCE"      // the conf is a moment; not XXL-JOB's, which leaves such a job stopped
)

// AllScheduleTypes are the types a person can choose, in display order.
var AllScheduleTypes = []ScheduleType{ScheduleNone, ScheduleCron, ScheduleFixRate, ScheduleFixDelay, ScheduleOnce}

// Valid reports whether a job may be saved with t.
func (t ScheduleType) Valid() bool { return slices.Contains(AllScheduleTypes, t) }

// Schedules reports whether a job of type t becomes due by itself, and so can be started.
func (t ScheduleType) Schedules() bool {
	switch t {
	case ScheduleCron, ScheduleFixRate, ScheduleFixDelay, ScheduleOnce:
		return true
	case ScheduleNone:
		return false
	default:
		return false // as XXL-JOB does with a stored type that it does not know
	}
}

// Route says which executor of the group gets a run (docs/compat.md §3.1).
type Route string

// The route strategies, spelled as the table has them.
const (
	RouteFirst               Route = "FIRST"
	RouteLast                Route = "LAST"
	RouteRound               Route = "ROUND"
	RouteRandom              Route = "RANDOM"
	RouteConsistentHash      Route = "CONSISTENT_HASH"
	RouteLeastFrequentlyUsed Route = "LEAST_FREQUENTLY_USED"
	RouteLeastRecentlyUsed   Route = "LEAST_RECENTLY_USED"
	RouteFailover            Route = "FAILOVER"
	RouteBusyover            Route = "BUSYOVER"
	RouteShardingBroadcast   Route = "SHARDING_BROADCAST"
)

// AllRoutes are the route strategies in display order; the first is the form's default.
var AllRoutes = []Route{
	RouteFirst, RouteLast, RouteRound, RouteRandom, RouteConsistentHash,
	RouteLeastFrequentlyUsed, RouteLeastRecentlyUsed, RouteFailover, RouteBusyover, RouteShardingBroadcast,
}

// Valid reports whether r is a known route strategy.
func (r Route) Valid() bool { return slices.Contains(AllRoutes, r) }

// Scan reads the nullable column executor_route_strategy; NULL becomes "", which is not [Route.Valid].
func (r *Route) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*r = ""
	case string:
		*r = Route(v)
	case []byte:
		*r = Route(v)
	default:
		return fmt.Errorf("scan route strategy: unexpected type %T", src)
	}
	return nil
}

// Misfire says what happens to due times that passed while nobody was looking (docs/compat.md §3.3).
type Misfire string

// The misfire strategies. The table has the first two as XXL-JOB spells them; the others are [Misfire.Plain] there, with [Misfire.More] in
// a column of ours.
const (
	MisfireDoNothing   Misfire = "DO_NOTHING"
	MisfireFireOnceNow Misfire = "FIRE_ONCE_NOW"
	MisfireFireAll     Misfire = "FIRE_ALL"    // each has its run, at most MaxMissed
	MisfireFireLast    Misfire = "FIRE_LAST"   // the last so many
	MisfireFireWithin  Misfire = "FIRE_WITHIN" // those that are not older than so long
)

// AllMisfires are the misfire strategies in display order; the first is the form's default.
var AllMisfires = []Misfire{MisfireDoNothing, MisfireFireOnceNow, MisfireFireAll, MisfireFireLast, MisfireFireWithin}

// Valid reports whether m is a known misfire strategy.
func (m Misfire) Valid() bool { return slices.Contains(AllMisfires, m) }

// Each reports whether missed fires have runs of their own.
func (m Misfire) Each() bool {
	return m == MisfireFireAll || m == MisfireFireLast || m == MisfireFireWithin
}

// Plain is the strategy as an XXL-JOB admin knows it, which makes one run of what would be several.
func (m Misfire) Plain() Misfire {
	if m.Each() {
		return MisfireFireOnceNow
	}
	return m
}

// More is what [Misfire.Plain] leaves out.
func (m Misfire) More() string {
	if m.Each() {
		return string(m)
	}
	return ""
}

// With is the strategy that was stored in two parts. An XXL-JOB admin changes only the first: what is not FIRE_ONCE_NOW any more holds.
func (m Misfire) With(more string) Misfire {
	if each := Misfire(more); m == MisfireFireOnceNow && each.Each() {
		return each
	}
	return m
}

// Concurrency says what happens to a run when its job already has as many as it may have in the whole cluster.
type Concurrency string

// The concurrency policies. An empty one is ConcurrencyQueue.
const (
	ConcurrencyQueue   Concurrency = "QUEUE"   // it waits until another ends
	ConcurrencyDiscard Concurrency = "DISCARD" // it is not run, and says so
)

// AllConcurrencies are the concurrency policies in display order; the first is the form's default.
var AllConcurrencies = []Concurrency{ConcurrencyQueue, ConcurrencyDiscard}

// Valid reports whether c is a known policy.
func (c Concurrency) Valid() bool { return slices.Contains(AllConcurrencies, c) }

// WhenLost says what becomes of a run of which nobody can say how it went on. An empty one is WhenLostFail.
type WhenLost string

// What a job may want then, beyond its retries.
const (
	WhenLostFail  WhenLost = "FAIL"  // nothing
	WhenLostAgain WhenLost = "AGAIN" // it is run once more: the job would rather be done twice than not at all
)

// AllWhenLost are they in display order; the first is the default.
var AllWhenLost = []WhenLost{WhenLostFail, WhenLostAgain}

// Priority is how a job's runs stand to those of other jobs that wait, as they do, for the limit of their executor. An empty one is PriorityNormal.
type Priority string

// The priorities of jobs.
const (
	PriorityHighest Priority = "HIGHEST"
	PriorityHigh    Priority = "HIGH"
	PriorityNormal  Priority = "NORMAL"
	PriorityLow     Priority = "LOW"
	PriorityLowest  Priority = "LOWEST"
)

// AllPriorities are they in display order.
var AllPriorities = []Priority{PriorityHighest, PriorityHigh, PriorityNormal, PriorityLow, PriorityLowest}

// Line is in which line the runs wait: those of lower ones are first, and 0 is that of normal jobs, as of those whose priority nobody knows.
func (p Priority) Line() int64 {
	if i := slices.Index(AllPriorities, p); i >= 0 {
		return int64(i - slices.Index(AllPriorities, PriorityNormal))
	}
	return 0
}

// Keep says of which runs the output is kept beyond its executor. An empty one is KeepInherit.
type Keep string

// What a job, a group or the installation may want kept.
const (
	KeepInherit Keep = "INHERIT" // as the group says, and it as the installation
	KeepAll     Keep = "ALL"
	KeepFailed  Keep = "FAILED" // of every run that did not succeed
	KeepNone    Keep = "NONE"
)

// AllKeeps are they in display order; the first is the form's default.
var AllKeeps = []Keep{KeepInherit, KeepAll, KeepFailed, KeepNone}

// Inherits reports whether somebody else decides.
func (k Keep) Inherits() bool { return k == "" || k == KeepInherit }

// Or is k, or where it inherits what others say, the nearest first.
func (k Keep) Or(others ...Keep) Keep {
	for _, other := range others {
		if !k.Inherits() {
			break
		}
		k = other
	}
	return k
}

// Wants reports whether the output of a run is kept that failed, or did not.
func (k Keep) Wants(failed bool) bool { return k == KeepAll || k == KeepFailed && failed }

// TriggerType says what caused a run (docs/compat.md §3.6).
type TriggerType string

// The trigger types. A fixed-rate fire is a TriggerCron too, as XXL-JOB has it.
const (
	TriggerManual  TriggerType = "MANUAL"
	TriggerCron    TriggerType = "CRON"
	TriggerRetry   TriggerType = "RETRY"
	TriggerParent  TriggerType = "PARENT"
	TriggerAPI     TriggerType = "API"
	TriggerMisfire TriggerType = "MISFIRE"
	// TriggerTrial is a script that is tried before it is saved: no fire of its job (scheduler/trial.go). Queries name it.
	TriggerTrial TriggerType = "TRIAL"
	// TriggerFlow is a step of a flow, which is ours too.
	TriggerFlow TriggerType = "FLOW"
)

// TriggerStatus is xxl_job_info.trigger_status: whether the schedule is switched on.
type TriggerStatus int

// The trigger statuses.
const (
	StatusStopped TriggerStatus = 0
	StatusRunning TriggerStatus = 1
	// StatusMoved is running too, and not for XXL-JOB admins, which look for jobs of no other value than StatusRunning and show this one as
	// stopped. Flows have it, which no executor could run, and while XXL-JOB admins work on the same database all jobs that are
	// Punctual's, so that no job is ever both's (db/beside.go).
	StatusMoved TriggerStatus = 2
)

// Started reports whether a stored status is that of a job whose schedule is switched on, whoever goes by it.
func Started(status int64) bool {
	return status == int64(StatusRunning) || status == int64(StatusMoved)
}

// AllBlocks are the block strategies in display order; the first is the form's default.
var AllBlocks = []wire.Block{wire.BlockSerial, wire.BlockDiscardLater, wire.BlockCoverEarly}

// GlueFlow is a job whose work is done by the engine: its source is the definition of a flow (package flow). No executor is called for it.
const GlueFlow wire.Glue = "FLOW"

// IsScript says whether a kind is that of a job whose source is a program, which only who may write scripts sees and changes.
func IsScript(g wire.Glue) bool { return g != wire.GlueBean && g != GlueFlow }

// HasSource says whether jobs of a kind have a source, with versions: a script, or the definition of a flow.
func HasSource(g wire.Glue) bool { return g != wire.GlueBean }

// AllGlues are the kinds of job code in display order; the first is the form's default.
var AllGlues = func() (all []wire.Glue) {
	for _, info := range wire.Glues() {
		all = append(all, info.Glue)
	}
	return append(all, GlueFlow)
}()
