package scheduler

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/tick"
)

// Whether an admin schedules is measured against the schedule, and not by its loops going round: fires that are due and not
// claimed, runs that are claimed and not sent, results that are not written. All of it is read from memory, so that a
// database that does not answer cannot keep anybody from hearing of it.
const (
	// healthEvery is how often the conditions are looked at. One begins when two looks in a row find it, and ends when two
	// do not.
	healthEvery = 500 * time.Millisecond
	// lateBound is from when on something that should be done at once is late.
	lateBound = 3 * time.Second
	// answerBound is how late a beat may be.
	answerBound = 1500 * time.Millisecond
)

// ConditionKey names something that is not as it should be. The console has a sentence for each.
type ConditionKey string

// The conditions. The first ones keep an admin from scheduling, see [Condition.Stops].
const (
	ConditionStopping ConditionKey = "stopping" // it finishes what it has
	ConditionHeld     ConditionKey = "held"     // it was started on a database that is held, see [Engine.Hold]
	ConditionLease    ConditionKey = "lease"    // it could not renew its lease in time and does nothing
	ConditionDatabase ConditionKey = "database" // the database does not answer, or answers with errors; Late: for how long
	ConditionReading  ConditionKey = "reading"  // what is due has not been read for Late
	ConditionDue      ConditionKey = "due"      // fires of its share are overdue by Late, and not claimed
	ConditionFull     ConditionKey = "full"     // Count runs are unsent, so that nothing more is claimed
	ConditionCrowded  ConditionKey = "crowded"  // for Late more has been due than the executors of Count groups take, so that their jobs wait
	ConditionShort    ConditionKey = "short"    // for Late this machine has had no sockets or memory left to call executors with
	ConditionUnsent   ConditionKey = "unsent"   // claimed runs are overdue by Late, and not on their way to an executor
	ConditionOutcomes ConditionKey = "outcomes" // what became of a sent run waits for Late to be written; Count wait in the queue
	ConditionResults  ConditionKey = "results"  // an executor's result waits for Late to be written; Count wait in the queue
	ConditionClock    ConditionKey = "clock"    // this machine's clock is ahead of the cluster's by Late
	ConditionDBClock  ConditionKey = "db_clock" // the database's clock is ahead of the time the jobs go by, by Late
	ConditionForeign  ConditionKey = "foreign"  // another scheduler makes runs from this database
	ConditionBuilding ConditionKey = "building" // indexes of the log are being built beside the work; Count: percent that are done, 0 where that is not known
	ConditionOutput   ConditionKey = "output"   // the store of outputs has taken nothing for Late; Count runs wait
	ConditionAdopted  ConditionKey = "adopted"  // Count runs that an XXL-JOB admin had left open were closed since the start
)

// Condition is something that is not as it should be with an admin.
type Condition struct {
	Key   ConditionKey  `json:"key"`
	Late  time.Duration `json:"late,omitempty"`
	Count int           `json:"n,omitempty"`
	Why   db.Refusal    `json:"why,omitempty"` // of ConditionDatabase: why the database takes nothing, where it says so
}

// Stops reports whether the admin does not schedule for it; otherwise it does, and somebody should look.
func (c Condition) Stops() bool {
	switch c.Key {
	case ConditionClock, ConditionDBClock, ConditionForeign, ConditionAdopted, ConditionBuilding, ConditionOutput, ConditionCrowded:
		return false
	case ConditionStopping, ConditionHeld, ConditionLease, ConditionDatabase, ConditionReading, ConditionDue, ConditionFull, ConditionShort,
		ConditionUnsent, ConditionOutcomes, ConditionResults:
		return true
	}
	return true
}

// String is the condition for logs and probes.
func (c Condition) String() string {
	var s strings.Builder
	s.WriteString(string(c.Key))
	if c.Late != 0 {
		fmt.Fprintf(&s, " %s", c.Late.Round(100*time.Millisecond))
	}
	if c.Count != 0 {
		fmt.Fprintf(&s, " (%d)", c.Count)
	}
	if c.Why != "" {
		s.WriteString(" " + string(c.Why))
	}
	return s.String()
}

// inHand times what is under way.
type inHand struct {
	mu    sync.Mutex
	last  int
	began map[int]time.Time
}

// begin notes something that has been waited for since then; what it gives is called when that has ended.
func (h *inHand) begin(since time.Time) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.began == nil {
		h.began = make(map[int]time.Time)
	}
	h.last++
	n := h.last
	h.began[n] = since
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.began, n)
	}
}

// oldest is for how long the oldest is under way; 0 when nothing is.
func (h *inHand) oldest() (age time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, began := range h.began {
		age = max(age, time.Since(began))
	}
	return age
}

// health is what is known to be wrong with this admin.
type health struct {
	now  atomic.Pointer[[]Condition]
	seen map[ConditionKey]bool // at the last look; used by the loop only
}

// conditions is what is wrong at this moment.
func (e *Engine) conditions() (list []Condition) {
	add := func(when bool, c Condition) {
		if when {
			list = append(list, c)
		}
	}
	beat := e.node.Silence()
	add(e.lastError() != nil || beat > answerBound, Condition{Key: ConditionDatabase, Late: beat, Why: db.RefusalOf(e.lastError())})
	acts := e.node.MayAct()
	reading := e.claimer.sinceRead()
	draining := e.draining.Load()
	full := e.full()
	add(acts && !draining && !full && reading > lateBound, Condition{Key: ConditionReading, Late: reading})
	behind := e.claimer.lag()
	add(!draining && behind > lateBound, Condition{Key: ConditionDue, Late: behind + reading})
	add(full, Condition{Key: ConditionFull, Count: e.pending.len()})
	if groups, since := e.crowd.waiting(); groups > 0 {
		add(true, Condition{Key: ConditionCrowded, Late: e.now().Sub(since), Count: groups})
	}
	short := e.shortage.lasts()
	add(short > 0, Condition{Key: ConditionShort, Late: short})
	unsent := e.timer.overdue()
	add(unsent > lateBound, Condition{Key: ConditionUnsent, Late: unsent})
	outcomes := e.recorder.oldest()
	add(outcomes > lateBound, Condition{Key: ConditionOutcomes, Late: outcomes, Count: len(e.recorder.items)})
	results := e.finisher.oldest()
	add(results > lateBound, Condition{Key: ConditionResults, Late: results, Count: len(e.finisher.items)})
	clocks := e.node.Clocks()
	add(clocks.MachineOff, Condition{Key: ConditionClock, Late: clocks.Machine})
	add(clocks.DatabaseOff, Condition{Key: ConditionDBClock, Late: clocks.Database})
	add(e.foreignSeen(), Condition{Key: ConditionForeign})
	percent, building := e.cfg.Pool.Building()
	add(building, Condition{Key: ConditionBuilding, Count: percent})
	closed := e.leftOpen.Load()
	add(closed > 0, Condition{Key: ConditionAdopted, Count: int(closed)})
	out := e.archive.Status()
	add(out.Trouble != "", Condition{Key: ConditionOutput, Late: out.For, Count: int(out.Waiting)})
	return list
}

// healthLoop looks at the conditions and says which begin and which end.
func (e *Engine) healthLoop(ctx context.Context) {
	for range tick.Every(ctx, healthEvery) {
		e.lookAtHealth()
	}
}

func (e *Engine) lookAtHealth() {
	found := make(map[ConditionKey]Condition)
	all := e.conditions()
	for _, c := range all {
		found[c.Key] = c
	}
	before := make(map[ConditionKey]Condition)
	var list []Condition
	for _, c := range e.standing() {
		before[c.Key] = c
		if now, ok := found[c.Key]; ok {
			list = append(list, now)
		} else if e.health.seen[c.Key] { // one look alone did not find it
			list = append(list, c)
		} else {
			e.log.Info("a condition has ended", "condition", string(c.Key))
		}
	}
	for _, c := range all {
		if _, stands := before[c.Key]; !stands && e.health.seen[c.Key] {
			list = append(list, c)
			e.log.Warn("a condition has begun", "condition", string(c.Key), "late", c.Late.String(), "count", c.Count, "stops", c.Stops())
		}
	}
	e.health.seen = make(map[ConditionKey]bool, len(found))
	for key := range found {
		e.health.seen[key] = true
	}
	e.health.now.Store(&list)
	for _, key := range conditionKeys {
		stands := 0.0
		for _, c := range list {
			if c.Key == key {
				stands = 1
			}
		}
		e.metrics.conditions.WithLabelValues(string(key)).Set(stands)
	}
}

var conditionKeys = []ConditionKey{ConditionDatabase, ConditionReading, ConditionDue, ConditionFull, ConditionCrowded, ConditionShort, ConditionUnsent,
	ConditionOutcomes, ConditionResults, ConditionClock, ConditionDBClock, ConditionForeign, ConditionAdopted, ConditionBuilding, ConditionOutput}

// standing are the conditions that the loop has found.
func (e *Engine) standing() []Condition {
	if p := e.health.now.Load(); p != nil {
		return *p
	}
	return nil
}

// Conditions tells what is wrong with this admin: nothing when it schedules as it should. It asks nobody.
func (e *Engine) Conditions() (list []Condition) {
	if e.Held() {
		return []Condition{{Key: ConditionHeld}}
	}
	if e.draining.Load() {
		list = append(list, Condition{Key: ConditionStopping})
	}
	if !e.node.MayAct() {
		list = append(list, Condition{Key: ConditionLease})
	}
	standing := e.standing()
	if err := e.lastError(); err != nil { // as sure as can be
		list = append(list, Condition{Key: ConditionDatabase, Late: e.node.Silence(), Why: db.RefusalOf(err)})
		for _, c := range standing {
			if c.Key != ConditionDatabase {
				list = append(list, c)
			}
		}
		return list
	}
	return append(list, standing...)
}

// lastError is what the database answered last, if that was an error.
func (e *Engine) lastError() error {
	if p := e.lastErr.Load(); p != nil {
		return *p
	}
	return nil
}
