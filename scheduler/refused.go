package scheduler

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
)

// What executors say and nobody takes is told to nobody by the protocol: an executor with a wrong token logs it on its own
// machine, and here its runs are lost and its registration is not there. So it is remembered for a while, and shown.

// Refusal is why a call of an executor was not taken.
type Refusal string

const (
	RefusedToken  Refusal = "token"  // its access token is wrong
	RefusedRun    Refusal = "run"    // it reported results of runs that are not here, or not its group's
	RefusedName   Refusal = "name"   // it asks for work under a name that another executor has
	RefusedCopy   Refusal = "copy"   // it asks for work with a copy of another one's data folder
	RefusedTooOld Refusal = "tooold" // it speaks the protocol of XXL-JOB 2.1 and older
	// RefusedUnknown is of a registration that is taken, as by XXL-JOB, and leads nowhere: no group has its app name.
	RefusedUnknown Refusal = "unknown"
)

// Caller is who calls, as far as is known.
type Caller struct {
	Address  string // of the connection, without its port
	AppName  string // as it says itself; "" when it does not
	Executor string // its own address, where it asks for work under it
	Scope    string // the only group it may speak for; "" for any
}

// RefusedCalls are the calls of one caller that were refused for one reason.
type RefusedCalls struct {
	Caller Caller
	Why    Refusal
	Count  int64
	Last   time.Time
}

const (
	warnEvery     = time.Minute      // how often one caller is warned about
	unknownEvery  = time.Hour        // and one that loses nothing: executors of another environment may be left here for good
	refusedFor    = 15 * time.Minute // how long it is shown
	maxRefused    = 500              // callers
	maxRefusedIDs = 10_000           // runs of which a result was refused
)

type refusedKey struct {
	address, appName string
	why              Refusal
}

type refusedEntry struct {
	RefusedCalls
	warned time.Time
	saved  int64   // how many of its calls all admins can see
	runs   []int64 // of which it reported results that were refused for its token, the newest first
}

// refusedResult is a result that was not taken.
type refusedResult struct {
	from string
	at   time.Time
}

// refusals remembers what was refused. It is bounded: who fills it is a stranger.
type refusals struct {
	cfg     refusalsConfig
	queries *db.Queries
	saving  sync.RWMutex // held from writing calls down until they count as written, and for reading while both are added up

	mu      sync.Mutex
	callers map[refusedKey]*refusedEntry
	results map[int64]refusedResult
	order   []int64 // of results, oldest first
}

// refusalsConfig is what refusals are made of.
type refusalsConfig struct {
	Pool   *db.Pool
	Logger *slog.Logger
	Now    func() time.Time
	Calls  *prometheus.CounterVec // by reason
}

func newRefusals(cfg refusalsConfig) *refusals {
	return &refusals{cfg: cfg, queries: db.New(), callers: make(map[refusedKey]*refusedEntry), results: make(map[int64]refusedResult)}
}

// Refused notes a call that was not taken, and the runs of which it reported results.
func (e *Engine) Refused(by Caller, why Refusal, runs []int64) {
	e.refusals.add(by, why, runs)
}

// RefusedCalls are the calls that the admins refused lately, the newest first.
func (e *Engine) RefusedCalls(ctx context.Context) ([]RefusedCalls, error) {
	return e.refusals.list(ctx)
}

func (r *refusals) add(by Caller, why Refusal, runs []int64) {
	now := r.cfg.Now()
	every := warnEvery
	if why == RefusedUnknown { // it was taken, so nobody is called for it
		every = unknownEvery
	} else {
		r.cfg.Calls.WithLabelValues(string(why)).Inc()
	}
	by = by.name()
	r.mu.Lock()
	defer r.mu.Unlock()
	key := refusedKey{by.Address, strings.ToLower(by.AppName), why}
	c := r.callers[key]
	if c == nil {
		if len(r.callers) >= maxRefused {
			r.forget(now)
		}
		c = &refusedEntry{RefusedCalls: RefusedCalls{Caller: by, Why: why}}
		r.callers[key] = c
	}
	c.Count++
	c.Last, c.Caller.Executor = now, by.Executor
	if why == RefusedToken {
		r.noteResults(now, by.Address, runs)
		c.note(runs)
	}
	if now.Sub(c.warned) < every {
		return
	}
	c.warned = now
	args := []any{"remote", by.Address, "group", by.AppName, "calls", c.Count}
	if by.Executor != "" {
		args = append(args, "executor", by.Executor)
	}
	if len(runs) > 0 {
		args = append(args, "log_id", runs[0], "runs", len(runs))
	}
	r.cfg.Logger.Warn(refusalText[why], args...)
}

// refusalText is the line in the log.
var refusalText = map[Refusal]string{
	RefusedToken:  "an executor calls with a wrong access token; it is not taken",
	RefusedRun:    "an executor reports results of runs that are not here or not its group's; they are ignored (executors of XXL-JOB 3.3 on one machine share their folder of unsent results)",
	RefusedName:   "an executor asks for work under a name that another one has; give each a name of its own",
	RefusedCopy:   "an executor asks for work with a copy of another one's data folder; give each a folder of its own",
	RefusedTooOld: "an executor of XXL-JOB 2.1 or older calls; it must be upgraded to 2.2.0 or later",

	RefusedUnknown: "an executor registers under an app name that no group has, so nothing is sent to it; create the group or mend the name",
}

// forget makes room: what is no longer shown goes, and if that is nothing, the caller that was silent longest.
func (r *refusals) forget(now time.Time) {
	var oldest refusedKey
	var at time.Time
	for key, c := range r.callers {
		if now.Sub(c.Last) > refusedFor {
			delete(r.callers, key)
		} else if at.IsZero() || c.Last.Before(at) {
			oldest, at = key, c.Last
		}
	}
	if len(r.callers) >= maxRefused {
		delete(r.callers, oldest)
	}
}

func (r *refusals) noteResults(now time.Time, from string, runs []int64) {
	for _, id := range runs {
		if _, known := r.results[id]; !known {
			if len(r.order) >= maxRefusedIDs {
				delete(r.results, r.order[0])
				r.order = r.order[1:]
			}
			r.order = append(r.order, id)
		}
		r.results[id] = refusedResult{from, now}
	}
}

// note keeps the newest of the runs that a caller reported.
func (c *refusedEntry) note(runs []int64) {
	for _, id := range runs[max(len(runs)-savedRuns, 0):] {
		if !slices.Contains(c.runs, id) {
			c.runs = slices.Insert(c.runs, 0, id)
		}
	}
	c.runs = c.runs[:min(len(c.runs), savedRuns)]
}

// result is the last result of a run that was refused for its token.
func (r *refusals) result(logID int64) (refusedResult, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res, ok := r.results[logID]
	return res, ok
}
