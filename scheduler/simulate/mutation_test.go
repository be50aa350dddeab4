package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// mutation is a way to break the engine, through the statements it sends.
type mutation struct {
	name   string
	theme  string
	shape  func(s *scenario) // gives a small scenario what shows it, whatever has been drawn
	breaks string            // the kind of violation that must be found
	mutate func() func(query string) (string, bool)
}

// soon ends a scenario early whose fault shows at the first runs.
func soon(s *scenario) {
	s.length = 20 * time.Second
	late := func(at time.Duration) bool { return at > s.length }
	s.acts = slices.DeleteFunc(s.acts, func(a act) bool { return late(a.at) })
	s.faults = slices.DeleteFunc(s.faults, func(f fault) bool { return late(f.at + f.lasts) })
}

// allAlong is a fault of all nodes for as long as there are any.
func allAlong(t trouble) func(*scenario) {
	return func(s *scenario) {
		soon(s)
		s.faults = []fault{{at: 2 * time.Second, lasts: s.length, what: "trouble", node: -1, trouble: t}}
	}
}

// inTurn is a fault of one node after the other.
func inTurn(what string, lasts time.Duration) func(*scenario) {
	return func(s *scenario) {
		s.faults = nil
		for i := range s.nodes {
			s.faults = append(s.faults, fault{at: time.Duration(5000+9700*i) * time.Millisecond, lasts: lasts, what: what, node: i})
		}
	}
}

// queues gives jobs whose work takes longer than it is until the next is due a limit of two at a time.
func queues(s *scenario) {
	soon(s)
	for _, j := range s.jobs {
		j.when.kind, j.when.every, j.block = jobspec.ScheduleFixRate, 1, wire.BlockSerial
		j.limit, j.policy, j.takes, j.spread = 2, jobspec.ConcurrencyQueue, 1500*time.Millisecond, time.Second
	}
}

// narrow gives every group less than its jobs need.
func narrow(s *scenario) {
	soon(s)
	for i := range s.groups {
		s.groups[i].limit = 1
	}
	for _, j := range s.jobs {
		j.crowded, j.takes, j.spread = true, 1500*time.Millisecond, time.Second
	}
}

// families lets jobs that are due every second start the first one.
func families(s *scenario) {
	soon(s)
	s.jobs[0].when.kind, s.jobs[0].when.every = jobspec.ScheduleFixRate, 60
	for _, j := range s.jobs[1:] {
		j.when.kind, j.when.every, j.fails, j.children = jobspec.ScheduleFixRate, 1, 0, []int{0}
	}
}

var (
	claimGuard = regexp.MustCompile(`AND trigger_next_time = (CASE|\?)`)
	ofTheRuns  = regexp.MustCompile(`(?s)WHERE (log_id IN \([^)]*\)).*`)
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
	{"claims are not guarded by what was read", "commits", allAlong(trouble{cutBefore: 0.05, cutAfter: 0.05, conflict: 0.1}), "recorded twice", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "UPDATE xxl_job_info FORCE INDEX") {
			return q
		}
		return strings.Replace(claimGuard.ReplaceAllString(q, "AND 0 <> $1"), "claimed_until <= trigger_next_time", "1 = 1", 1)
	})},
	{"nothing of a gone node is taken over", "killed", inTurn("kill", time.Minute), "run without an end", named("TakeOverRuns")},
	{"runs fly although their commit did not happen", "calm", families, "sent without a row", func() func(string) (string, bool) {
		var n atomic.Int64
		return func(q string) (string, bool) { return q, q != "COMMIT" || n.Add(1)%5 > 0 }
	}},
	{"a node does not hear that it was declared gone", "frozen", inTurn("freeze", 40*time.Second), "sent what is another's", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "-- name: BeatNode ") {
			return q
		}
		return strings.Replace(q, "AND state = 1", "", 1)
	})},
	{"slots are given back for runs that go on", "calm", queues, "too many at a time", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "-- name: FreeSlots ") {
			return q
		}
		return ofTheRuns.ReplaceAllString(q, "WHERE running = 1 AND job_id IN (SELECT job_id FROM punctual_slot WHERE $1)")
	})},
	{"no run of a group counts", "calm", narrow, "too many at a time", rewritten(func(q string) string {
		if !strings.HasPrefix(q, "-- name: CountGroupSlots ") {
			return q
		}
		return strings.Replace(q, "running = 1", "running = 2", 1)
	})},
	{"nobody looks for runs whose commit was not confirmed", "commits", allAlong(trouble{cutAfter: 0.2}), "run without an end", named("ListUnsentRunsOfNode")},
	{"successes start no children", "calm", families, "success without its child", named("ListJobsWithConsequences")},
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
			broken := func(t *testing.T, seed uint64, mutate func(string) (string, bool)) (found bool) {
				t.Run(fmt.Sprint(seed, mutate != nil), func(t *testing.T) {
					s := draw(seed, m.theme, true, 1)
					m.shape(s)
					inBubble(t, s, func(t *testing.T, w *world) {
						w.mutate, w.patience = mutate, 3*time.Minute
						if err := w.play(t.Context()); err != nil {
							t.Fatal(err)
						}
						if _, err := w.check(t.Context()); err != nil {
							t.Fatal(err)
						}
						found = w.counts["BROKEN: "+m.breaks] > 0
						t.Log(w.report())
					})
				})
				return found
			}
			first, last := uint64(1), uint64(5) // which statement a fault hits is not the seed's to say
			if *seed != 0 {
				first, last = *seed, *seed+uint64(*repeat)
			}
			if broken(t, first, nil) {
				t.Fatal("it is so without being broken")
			}
			for s := first; s <= last; s++ {
				if broken(t, s, m.mutate()) {
					return
				}
			}
			t.Errorf("nobody noticed")
		})
	}
}
