package simulate

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// mutation is a way to break the engine, through the statements it sends.
type mutation struct {
	name   string
	theme  string
	seed   uint64 // of a small scenario that shows it
	breaks string // the kind of violation that must be found
	mutate func() func(query string) (string, bool)
}

var (
	claimGuard = regexp.MustCompile(`AND trigger_next_time = (CASE|\?)`)
	slotGuard  = regexp.MustCompile(`(?s)\s+AND NOT EXISTS \(SELECT 1 FROM xxl_job_log.*\)`)
)

// named drops every statement of a name.
func named(name string) func() func(string) (string, bool) {
	return func() func(string) (string, bool) {
		return func(query string) (string, bool) { return query, !strings.HasPrefix(query, "-- name: "+name+" ") }
	}
}

// rewritten changes the text of statements.
func rewritten(change func(query string) string) func() func(string) (string, bool) {
	return func() func(string) (string, bool) {
		return func(query string) (string, bool) { return change(query), true }
	}
}

var mutations = []mutation{
	{"claims are not guarded by what was read", "commits", 1, "recorded twice", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "UPDATE xxl_job_info FORCE INDEX") {
			return q
		}
		return strings.Replace(claimGuard.ReplaceAllString(q, "AND 0 <> $1"), "claimed_until <= trigger_next_time", "1 = 1", 1)
	})},
	{"nothing of a gone node is taken over", "killed", 1, "run without an end", named("TakeOverRuns")},
	{"runs fly although their commit did not happen", "calm", 1, "sent without a row", func() func(string) (string, bool) {
		var n atomic.Int64
		return func(q string) (string, bool) { return q, q != "COMMIT" || n.Add(1)%20 > 0 }
	}},
	{"a node does not hear that it was declared gone", "frozen", 1, "sent what is another's", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "-- name: BeatNode ") {
			return q
		}
		return strings.Replace(q, "AND state = 1", "", 1)
	})},
	{"slots are given back for runs that go on", "commits", 6, "too many at a time", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "-- name: FreeSlots ") {
			return q
		}
		return slotGuard.ReplaceAllString(q, "")
	})},
	{"no run of a group counts", "calm", 1, "too many at a time", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "-- name: CountGroupSlots ") {
			return q
		}
		return strings.Replace(q, "running = 1", "running = 2", 1)
	})},
	{"nobody looks for runs whose commit was not confirmed", "commits", 1, "run without an end", named("ListUnsentRunsOfNode")},
	{"successes start no children", "calm", 1, "success without its child", named("ListJobsWithConsequences")},
}

// TestTheCheckerNotices breaks the engine in several ways and wants each to be noticed for what it is.
func TestTheCheckerNotices(t *testing.T) {
	if *forTime != 0 {
		t.Skip("TestSimulation is asked for")
	}
	t.Parallel()
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("takes a few seconds")
			}
			first, last := m.seed, m.seed+4 // which statement a fault hits is not the seed's to say
			if *seed != 0 {                 // look for a seed that shows it
				first, last = *seed, *seed+uint64(*repeat)
			}
			for s := first; s <= last; s++ {
				found := ""
				t.Run(fmt.Sprint(s), func(t *testing.T) {
					inBubble(t, draw(s, m.theme, true, 1), func(t *testing.T, w *world) {
						w.mutate, w.patience = m.mutate(), 3*time.Minute
						if err := w.play(t.Context()); err != nil {
							t.Fatal(err)
						}
						if _, err := w.check(t.Context()); err != nil {
							t.Fatal(err)
						}
						if w.counts["BROKEN: "+m.breaks] > 0 {
							found = m.breaks
						}
						t.Log(w.report())
					})
				})
				if found != "" {
					t.Logf("seed %d: %s", s, found)
					return
				}
			}
			t.Errorf("nobody noticed")
		})
	}
}
