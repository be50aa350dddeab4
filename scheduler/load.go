package scheduler

import (
	"encoding/json"
	runtimemetrics "runtime/metrics"
	"time"

	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/cluster"
)

// Load is how this admin stands at a moment, for people who look after the cluster.
type Load struct {
	Node   int64         // its id in punctual_node; 0 before the start
	Living []int64       // the admins that beat, as this one sees them, also those that are stopping
	Alive  []int64       // those of them that share the work
	MayAct bool          // its lease is fresh: it claims and sends
	Lease  time.Duration // after which a silent admin is gone
	Open   []int64       // the runs that were open at the last sweep, in their order
	Figures
}

// Figures are what an admin has in hand. It writes them to its row of punctual_node with every beat, so that each admin can
// show them of all; the field names are what the row holds.
type Figures struct {
	Claimed  float64       `json:"claimed"`             // fires claimed in a second, over the last beats
	Sent     float64       `json:"sent"`                // runs sent in a second, over the last beats
	Planned  int           `json:"planned"`             // claimed runs that wait for their time
	Queued   int           `json:"queued"`              // due runs that wait for their executor's queue
	InFlight int           `json:"in_flight"`           // calls to executors under way
	Unsent   int           `json:"unsent"`              // runs that are committed and not yet recorded as sent
	Results  int           `json:"results"`             // results and outcomes that wait to be written
	Late     time.Duration `json:"late_p99"`            // of the last two minutes' runs, 99 in 100 were sent within this; 0 while none was
	Memory   int64         `json:"memory"`              // bytes the process holds
	Held     bool          `json:"held_back,omitempty"` // its lease was stale when it wrote this
	LogLost  int64         `json:"log_lost,omitempty"`  // lines of its log that are lost since its start

	cluster.Told // what the others go by

	Conditions []Condition    `json:"conditions,omitempty"` // what is not as it should be
	Output     *OutputFigures `json:"output,omitempty"`     // nil: outputs are not kept
}

// OutputFigures tell how the keeping of outputs stands, as an admin sees it.
type OutputFigures struct {
	Outside bool    `json:"outside,omitempty"`  // the store is not the database
	Rate    float64 `json:"rate"`               // bytes that it copies in a second
	Waiting int64   `json:"waiting"`            // runs whose output is to be copied, of all admins
	Objects int64   `json:"objects"`            // in the store
	Bytes   int64   `json:"bytes"`              // of these
	Today   int64   `json:"today,omitempty"`    // of these, written since midnight
	Pushed  int64   `json:"pushed,omitempty"`   // since its start: outputs that executors pushed,
	Copied  int64   `json:"copied,omitempty"`   // those that it asked for,
	LeftOut int64   `json:"left_out,omitempty"` // those not kept because too many waited,
	Lost    int64   `json:"lost,omitempty"`     // those of which nothing, or not the end, could be kept,
	Cut     int64   `json:"cut,omitempty"`      // and those of which only the beginning and the end are
	Held    int64   `json:"held,omitempty"`     // objects of no use that the store does not let be deleted
	Unseen  int     `json:"unseen,omitempty"`   // long runs that it does not follow because there are too many
}

// ParseFigures reads the figures of another admin; ok is false where it has written none.
func ParseFigures(text string) (f Figures, ok bool) {
	return f, text != "" && json.Unmarshal([]byte(text), &f) == nil
}

// Load tells how this admin stands. The figures are read one after another: they need not add up.
func (e *Engine) Load() Load {
	return Load{Node: e.node.ID(), Living: e.node.Living(), Alive: e.node.Alive(), MayAct: e.node.MayAct(), Lease: e.cfg.Lease, Open: e.OpenRuns(), Figures: e.figures()}
}

func (e *Engine) figures() Figures {
	queued, inFlight := e.queues.depth()
	claimed, sent := e.rates.read()
	clocks := e.node.Clocks()
	lost := int64(0)
	if e.cfg.LogLost != nil {
		lost = e.cfg.LogLost()
	}
	return Figures{
		LogLost:    lost,
		Told:       cluster.Told{Draining: e.draining.Load(), Stuck: e.stuck(), Lead: &clocks.Database, Own: clocks.Machine},
		Conditions: e.Conditions(),
		Claimed:    claimed, Sent: sent, Planned: e.timer.len(), Queued: queued, InFlight: inFlight, Unsent: e.pending.len(),
		Results: len(e.recorder.items) + len(e.finisher.items), Late: e.pulse.late(e.now()), Memory: heldMemory(),
		Held: !e.node.MayAct(), Output: outputFigures(e.archive),
	}
}

func outputFigures(kept *archive.Service) *OutputFigures {
	if kept == nil {
		return nil
	}
	s := kept.Status()
	return &OutputFigures{Outside: s.Outside, Rate: s.Rate, Waiting: s.Waiting, Objects: s.Objects, Bytes: s.Bytes, LeftOut: s.LeftOut, Lost: s.Lost, Cut: s.Cut, Today: s.Today, Pushed: s.Pushed, Copied: s.Copied, Unseen: s.Unseen, Held: s.Held}
}

// figuresText is what a beat writes.
func (e *Engine) figuresText() string {
	text, err := json.Marshal(e.figures())
	if err != nil {
		return "" // numbers and flags always marshal, but for a rate that is no number
	}
	return string(text)
}

// heldMemory is what the process holds of the machine's memory, which unlike reading all statistics stops nobody.
func heldMemory() int64 {
	samples := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() != runtimemetrics.KindUint64 {
			return 0
		}
	}
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
