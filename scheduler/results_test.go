package scheduler

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

func TestWhatFailuresAreRetried(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  db.ListRunsToEndRow
		want bool
	}{
		{"of a run that is being sent, with one left", db.ListRunsToEndRow{ExecutorFailRetryCount: 1}, true},
		{"of one that was sent", db.ListRunsToEndRow{ExecutorFailRetryCount: 1, TriggerCode: wire.CodeSuccess}, true},
		{"without one left", db.ListRunsToEndRow{TriggerCode: wire.CodeSuccess}, false},
		{"with less than none", db.ListRunsToEndRow{ExecutorFailRetryCount: -1, TriggerCode: wire.CodeSuccess}, false},
		{"of one whose sending failed", db.ListRunsToEndRow{ExecutorFailRetryCount: 1, TriggerCode: wire.CodeFail}, false},
		{"of one that somebody wanted ended", db.ListRunsToEndRow{ExecutorFailRetryCount: 1, TriggerCode: wire.CodeSuccess, KillAskedAt: 1}, false},
		{"of one that somebody wanted ended before it was sent", db.ListRunsToEndRow{ExecutorFailRetryCount: 1, KillAskedAt: 1}, false},
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
		if got := tt.result.outcome(&db.ListRunsToEndRow{KillAskedAt: tt.asked}); got != tt.want {
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

// TestAnExecutorWithoutItsGroupsTokenKeepsItsResults: it is refused, and the rest of what it reports is written; with the token all of it
// is. So is the result that comes twice in a report. A caller that is of another group is told "success", as above.
func TestAnExecutorWithoutItsGroupsTokenKeepsItsResults(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		bills := b.addGroup("bills", addressB)
		run, other := b.trigger(b.addJob(nil)), b.trigger(b.addJob(func(p *db.InsertJobParams) { p.JobGroup = bills }))
		b.await("both are sent", func() bool {
			return b.run(run).TriggerCode == wire.CodeSuccess && b.run(other).TriggerCode == wire.CodeSuccess
		})
		report := []wire.Callback{{LogID: run, HandleCode: wire.CodeSuccess}, {LogID: other, HandleCode: wire.CodeSuccess}, {LogID: run, HandleCode: wire.CodeSuccess}, {LogID: 1 << 40, HandleCode: wire.CodeSuccess}}
		own := false // the token counts for orders
		speaks := func(app string) bool { return own || app != "orders" }
		refused := func(why Refusal) (n int64) {
			calls, err := b.engine.RefusedCalls(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				if c.Why == why && c.Caller.AppName == "Orders" {
					n += c.Count
				}
			}
			return n
		}
		by := Caller{Address: "10.1.2.3", AppName: "Orders"}
		if err := b.engine.CompleteBy(t.Context(), by, speaks, report); !errors.Is(err, ErrNotTheirs) {
			t.Errorf("without the group's token: %v", err)
		}
		if b.run(run).HandleCode != 0 || b.run(other).HandleCode != wire.CodeSuccess {
			t.Errorf("results %d and %d", b.run(run).HandleCode, b.run(other).HandleCode)
		}
		if _, noted := b.engine.refusals.result(run); !noted || refused(RefusedToken) == 0 || refused(RefusedRun) == 0 {
			t.Errorf("noted %t; for the token %d, for the run %d", noted, refused(RefusedToken), refused(RefusedRun))
		}
		if _, noted := b.engine.refusals.result(other); noted {
			t.Error("the other's result counts as refused")
		}
		if err := b.engine.CompleteBy(t.Context(), Caller{Address: "10.1.2.3", AppName: "bills"}, speaks, report); err != nil || b.run(run).HandleCode != 0 {
			t.Errorf("of another group: %v, result %d", err, b.run(run).HandleCode)
		}
		own = true
		if err := b.engine.CompleteBy(t.Context(), by, speaks, report); err != nil || b.run(run).HandleCode != wire.CodeSuccess {
			t.Errorf("with it: %v, result %d", err, b.run(run).HandleCode)
		}
	})
}

// TestTheFirstReportOfABatchCounts, where it holds two of a run, and whoever watches a run learns of its result.
func TestTheFirstReportOfABatchCounts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addJob(nil)
		run, other := b.trigger(job), b.trigger(job)
		b.await("both are sent", func() bool {
			return b.run(run).TriggerCode == wire.CodeSuccess && b.run(other).TriggerCode == wire.CodeSuccess
		})
		changed, err := b.engine.finishOnce(t.Context(), finishings([]wire.Callback{{LogID: run, HandleCode: wire.CodeSuccess}, {LogID: run, HandleCode: wire.CodeFail}}), true, nil)
		if r := b.run(run); err != nil || r.Outcome != event.Succeeded || r.HandleCode != wire.CodeSuccess || !slices.Equal(changed, []int64{run}) {
			t.Errorf("the run is %v with code %d; changed %v, %v", r.Outcome, r.HandleCode, changed, err)
		}
		watched, cancel := b.engine.SubscribeRun(other)
		defer cancel()
		b.complete(other, wire.CodeSuccess)
		<-watched // what others watch is the hub's test: of their sending they may be told only now
	})
}

func TestWhatABatchIsRefusedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"a value that the column does not hold", &mysql.MySQLError{Number: 1366}, true},
		{"a broken connection", driver.ErrBadConn, false},
		{"a locked row", &mysql.MySQLError{Number: 1205}, false},
		{"no answer in time", context.DeadlineExceeded, false},
		{"the stop", ErrStopping, false},
	} {
		if got := refused(fmt.Errorf("record: %w", tt.err)); got != tt.want {
			t.Errorf("%s: refused for what is in it: %v", tt.name, got)
		}
		if tt.want && passes(tt.err) {
			t.Errorf("%s: it passes", tt.name)
		}
	}
	for _, err := range []error{driver.ErrBadConn, errRaced, context.DeadlineExceeded, &mysql.MySQLError{Number: 1213}} {
		if !passes(err) {
			t.Errorf("%v does not pass", err)
		}
	}
	if passes(errors.New("no")) {
		t.Error("anything passes")
	}
}

func TestHowLongARunTook(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tt := range []struct {
		name string
		sent int64
		ends event.Outcome
		want time.Duration
	}{
		{"a success", sent.UnixMilli(), event.Succeeded, time.Minute},
		{"a failure", sent.UnixMilli(), event.Failed, time.Minute},
		{"a time-out", sent.UnixMilli(), event.TimedOut, time.Minute},
		{"one that somebody ended", sent.UnixMilli(), event.Killed, 0},
		{"one that was lost", sent.UnixMilli(), event.Lost, 0},
		{"one of which nobody knows when it was sent", 0, event.Succeeded, 0},
	} {
		if got := (&finishing{ends: tt.ends}).took(&db.ListRunsToEndRow{SentAt: tt.sent}, runEnd{at: sent.Add(time.Minute)}); got != tt.want {
			t.Errorf("%s: took %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestWhoReportsWhatIsNotTheirs: runs that are not here, and those of other groups.
func TestWhoReportsWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	by := &Caller{Address: "10.1.2.3"}
	rows := []db.ListRunsToEndRow{{ID: 1, JobGroup: 7}, {ID: 2, JobGroup: 8}, {ID: 4, JobGroup: 8}}
	got := notTheirs(rows, map[int64]*finishing{1: {by: by, group: 7}, 2: {by: by, group: 7}, 3: {by: by, group: 7}, 4: {group: 7}})
	if slices.Sort(got[by]); len(got) != 1 || !slices.Equal(got[by], []int64{2, 3}) {
		t.Errorf("of others: %v", got)
	}
	if got := notTheirs(rows[:1], map[int64]*finishing{1: {by: by, group: 7}}); got != nil {
		t.Errorf("of others: %v", got)
	}
}
