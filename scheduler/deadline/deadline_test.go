package deadline

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/scheduler/runtimes"
)

// TestHowAJobStands is a fire at 05:00 that has to be done by 06:00, of a job that usually takes up to 40 minutes.
func TestHowAJobStands(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 3, 2, hour, minute, 0, 0, time.UTC) }
	usual := runtimes.Durations{Runs: 9, P50: 30 * time.Minute, P95: 40 * time.Minute}
	run := func(state runstate.State, began, ended time.Time) Run {
		return Run{ID: 7, Due: at(5, 0), State: state, Began: began, Ended: ended}
	}
	part := func(name string, r Run) Run { r.Part = name; return r }
	earlier := run(runstate.Success, at(4, 0), at(4, 30))
	earlier.Due = at(4, 0)
	var none time.Time
	for _, c := range []struct {
		name     string
		now      time.Time
		runs     []Run
		unknown  bool // there is no history
		state    State
		expected time.Time
	}{
		{"still to come", at(4, 59), nil, false, Ahead, at(5, 40)},
		{"begun in time", at(5, 10), []Run{run(runstate.Sent, at(5, 0), none)}, false, OnTime, at(5, 40)},
		{"begun too late", at(5, 25), []Run{run(runstate.Sent, at(5, 21), none)}, false, AtRisk, at(6, 1)},
		{"waits, and has time", at(5, 20), []Run{run(runstate.Waiting, none, none)}, false, OnTime, at(6, 0)},
		{"waits too long", at(5, 21), []Run{run(runstate.Waiting, none, none)}, false, AtRisk, at(6, 1)},
		{"takes longer than usual, and may still be in time", at(5, 59), []Run{run(runstate.Sent, at(5, 0), none)}, false, OnTime, at(5, 59)},
		{"takes longer", at(6, 0), []Run{run(runstate.Sent, at(5, 0), none)}, false, Missed, at(6, 0)},
		{"did not begin", at(5, 21), nil, false, AtRisk, at(6, 1)},
		{"an earlier success is none", at(5, 21), []Run{earlier}, false, AtRisk, at(6, 1)},
		{"failed, and there is time to run it again", at(5, 20), []Run{run(runstate.Failed, at(5, 0), at(5, 1))}, false, OnTime, at(6, 0)},
		{"failed", at(5, 21), []Run{run(runstate.Failed, at(5, 0), at(5, 1))}, false, AtRisk, at(6, 1)},
		{"skipped", at(5, 21), []Run{run(runstate.Skipped, none, none)}, false, AtRisk, at(6, 1)},
		{"failed, and was run again", at(5, 50), []Run{run(runstate.Success, at(5, 30), at(5, 45)), run(runstate.Failed, at(5, 0), at(5, 1))}, false, Done, at(5, 45)},
		{"succeeded, and somebody runs it once more", at(5, 50), []Run{run(runstate.Sent, at(5, 40), none), run(runstate.Success, at(5, 0), at(5, 30))}, false, Done, at(5, 30)},
		{"done", at(7, 0), []Run{run(runstate.Success, at(5, 0), at(6, 0))}, false, Done, at(6, 0)},
		{"done too late", at(7, 0), []Run{run(runstate.Success, at(5, 0), at(6, 1))}, false, Late, at(6, 1)},
		{"no history, and time", at(5, 59), []Run{run(runstate.Sent, at(5, 0), none)}, true, OnTime, none},
		{"no history", at(6, 0), []Run{run(runstate.Sent, at(5, 0), none)}, true, Missed, none},
		{"one part of a broadcast", at(5, 30), []Run{part("0/2", run(runstate.Success, at(5, 0), at(5, 9))), part("1/2", run(runstate.Sent, at(5, 25), none))}, false, AtRisk, at(6, 5)},
		{"one part has failed", at(6, 0), []Run{part("0/2", run(runstate.Success, at(5, 0), at(5, 9))), part("1/2", run(runstate.Failed, at(5, 0), at(5, 1)))}, false, Missed, at(6, 40)},
		{"all parts", at(6, 0), []Run{part("0/2", run(runstate.Success, at(5, 0), at(5, 9))), part("1/2", run(runstate.Success, at(5, 0), at(5, 20)))}, false, Done, at(5, 20)},
	} {
		known := usual
		if c.unknown {
			known = runtimes.Durations{}
		}
		s := Judge(jobspec.Deadline{Fire: at(5, 0), By: at(6, 0)}, c.now, c.runs, known)
		if s.State != c.state || !s.Expected.Equal(c.expected) {
			t.Errorf("%s: %s, expected at %v; want %s, %v", c.name, s.State, s.Expected, c.state, c.expected)
		}
	}
	if s := Judge(jobspec.Deadline{By: at(6, 0)}, at(7, 0), nil, usual); s.State != None {
		t.Errorf("a day without a fire: %s", s.State)
	}
}
