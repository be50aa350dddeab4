package scheduler

import (
	"math"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

func TestWhatFailuresAreRetried(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  db.ListRunsByIDRow
		want bool
	}{
		{"of a run that is being sent, with one left", db.ListRunsByIDRow{ExecutorFailRetryCount: 1}, true},
		{"of one that was sent", db.ListRunsByIDRow{ExecutorFailRetryCount: 1, TriggerCode: wire.CodeSuccess}, true},
		{"without one left", db.ListRunsByIDRow{TriggerCode: wire.CodeSuccess}, false},
		{"with less than none", db.ListRunsByIDRow{ExecutorFailRetryCount: -1, TriggerCode: wire.CodeSuccess}, false},
		{"of one whose sending failed", db.ListRunsByIDRow{ExecutorFailRetryCount: 1, TriggerCode: wire.CodeFail}, false},
		{"of one that somebody wanted ended", db.ListRunsByIDRow{ExecutorFailRetryCount: 1, TriggerCode: wire.CodeSuccess, KillAskedAt: 1}, false},
		{"of one that somebody wanted ended before it was sent", db.ListRunsByIDRow{ExecutorFailRetryCount: 1, KillAskedAt: 1}, false},
	}
	for _, tt := range tests {
		if got := retriable(&tt.run); got != tt.want {
			t.Errorf("a failure %s: retried %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestWhatAResultMeans(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		result finishing
		asked  int64
		want   event.Outcome
	}{
		{"success", finishing{code: wire.CodeSuccess}, 0, event.Succeeded},
		{"failure", finishing{code: wire.CodeFail}, 0, event.Failed},
		{"timeout", finishing{code: wire.CodeTimeout}, 0, event.TimedOut},
		{"a code of its own", finishing{code: 1}, 0, event.Failed},
		{"what the engine says counts more than the code", finishing{code: wire.CodeSuccess, given: event.Lost}, 0, event.Lost},
		{"a run that somebody wanted ended is killed by any code", finishing{code: wire.CodeSuccess}, 1, event.Killed},
		{"and whatever the engine says", finishing{code: wire.CodeFail, given: event.Lost}, 1, event.Killed},
	}
	for _, tt := range tests {
		if got := tt.result.outcome(&db.ListRunsByIDRow{KillAskedAt: tt.asked}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCodesThatTheColumnDoesNotHold: a job may end with any number, and one result must not keep a batch from being written.
func TestCodesThatTheColumnDoesNotHold(t *testing.T) {
	t.Parallel()
	got := finishings([]wire.Callback{{LogID: 1, HandleCode: math.MaxInt32, HandleMsg: "a\xff"}, {LogID: 2, HandleCode: math.MaxInt32 + 1}})
	if len(got) != 2 || got[0].id != 1 || got[0].code != math.MaxInt32 || got[0].msg != "a\uFFFD" || got[1].id != 2 || got[1].code != wire.CodeFail {
		t.Errorf("got %+v", got)
	}
}

func TestWhoseRunsAReporterSpeaksFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		by    finishing
		group int64
		want  bool
	}{
		{"anybody, of any", finishing{}, 7, true},
		{"one group's, of its own", finishing{group: 7}, 7, true},
		{"one group's, of another's", finishing{group: 7}, 8, false},
		{"anybody, of a group with a token of its own", finishing{not: map[int64]bool{7: true}}, 7, false},
		{"one group's, of its own for which it may not", finishing{group: 7, not: map[int64]bool{7: true}}, 7, false},
		{"anybody, of another than that", finishing{not: map[int64]bool{7: true}}, 8, true},
	} {
		if got := tt.by.speaksFor(tt.group); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestEachRetryWaitsItsTurn: the first retry of three waits the first time of the back-off, the last the third.
func TestEachRetryWaitsItsTurn(t *testing.T) {
	t.Parallel()
	j := &job{retries: 3, backoff: "1s,5s,20s"}
	for left, want := range map[int64]time.Duration{3: time.Second, 2: 5 * time.Second, 1: 20 * time.Second} {
		if got := (&Engine{}).backoff(j, left); got != want {
			t.Errorf("with %d left it waits %v, want %v", left, got, want)
		}
	}
}

// TestARunIsEndedByItsOwnGroupOnly: whoever speaks for another group is told "success", as for a run that nobody knows, and ends nothing.
func TestARunIsEndedByItsOwnGroupOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		run := b.trigger(b.addJob(nil))
		b.await("the run is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		for _, tt := range []struct {
			app  string
			want int64
		}{{"bills", 0}, {"orders", wire.CodeSuccess}} {
			speaks := func(app string) bool { return app == tt.app }
			if err := b.engine.CompleteBy(t.Context(), Caller{Address: "10.1.2.3"}, speaks, []wire.Callback{{LogID: run, HandleCode: wire.CodeSuccess}}); err != nil {
				t.Fatal(err)
			}
			if got := b.run(run).HandleCode; int64(got) != tt.want {
				t.Errorf("reported by %s: result %d, want %d", tt.app, got, tt.want)
			}
		}
	})
}
