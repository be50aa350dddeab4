// Package route chooses which executor address of a group gets a run: one rule per route strategy (docs/compat.md §4.7). It holds
// the small state some strategies need and does no I/O of its own; FAILOVER and BUSYOVER ask through the probe they are
// handed ([Probe]).
package route

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Table picks addresses and keeps what ROUND, LEAST_FREQUENTLY_USED and LEAST_RECENTLY_USED must remember of each job.
// It may be used by many goroutines.
type Table struct {
	mu    sync.Mutex
	round map[int64]int
	used  map[int64]*usage
	rings ringCache
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{round: make(map[int64]int), used: make(map[int64]*usage)}
}

// Probing reports whether a strategy must ask executors before it can choose, so that it cannot be planned ahead.
func Probing(s jobspec.Route) bool { return s == jobspec.RouteFailover || s == jobspec.RouteBusyover }

// Pick chooses one of addresses for a run of the job. The order of addresses matters: it is the group's stored order.
// An unknown strategy is an error, and so is a strategy that is not a choice of one (FAILOVER, BUSYOVER and
// SHARDING_BROADCAST). It panics when addresses is empty: no rule can answer that.
func (t *Table) Pick(s jobspec.Route, jobID int64, addresses []string) (string, error) {
	n := len(addresses)
	switch s {
	case jobspec.RouteFirst:
		return addresses[0], nil
	case jobspec.RouteLast:
		return addresses[n-1], nil
	case jobspec.RouteRandom:
		return addresses[rand.IntN(n)], nil
	case jobspec.RouteRound:
		return addresses[t.nextRound(jobID)%n], nil
	case jobspec.RouteConsistentHash:
		return t.rings.pick(jobID, addresses), nil
	case jobspec.RouteLeastFrequentlyUsed:
		return t.leastFrequent(jobID, addresses), nil
	case jobspec.RouteLeastRecentlyUsed:
		return t.leastRecent(jobID, addresses), nil
	default:
		return "", &StrategyError{s}
	}
}

// StrategyError is a strategy that chooses no address: it is not known, or is no choice of one.
type StrategyError struct{ Strategy jobspec.Route }

func (e *StrategyError) Error() string {
	return fmt.Sprintf("route strategy %q cannot choose an address", e.Strategy)
}

// nextRound counts a job's uses from a random start, so that many jobs do not all begin at the first executor.
func (t *Table) nextRound(jobID int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.round[jobID]
	if !ok || i > 1_000_000 {
		i = rand.IntN(100)
	}
	t.round[jobID] = i + 1
	return i
}

// Forget drops what is remembered of every job, so that the table cannot grow with jobs that are long gone. Upstream does
// the same once a day.
func (t *Table) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.round)
	clear(t.used)
}
