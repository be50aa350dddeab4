package scheduler

import (
	"context"
	"database/sql"
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
	"github.com/punctual-job/punctual/executor/httpcall"
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

// TestCodesThatTheColumnDoesNotHold: a job may end with any number, and one result must not keep a batch from being written, nor a thousand of
// a run the others'.
func TestCodesThatTheColumnDoesNotHold(t *testing.T) {
	t.Parallel()
	got := finishings([]wire.Callback{{LogID: 1, HandleCode: math.MaxInt32, HandleMsg: "a\xff"}, {LogID: 2, HandleCode: math.MaxInt32 + 1}})
	if twice := finishings([]wire.Callback{{LogID: 1}, {LogID: 1, HandleCode: 200}, {LogID: 1, HandleCode: 500}}); len(twice) != 1 || twice[0].code != 200 {
		t.Errorf("of three reports of a run, the first without a result: %+v", twice)
	}
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
		{"one group's, of its own", finishing{groups: []int64{7}}, 7, true},
		{"one group's, of another's", finishing{groups: []int64{7}}, 8, false},
		{"anybody, of a group with a token of its own", finishing{not: map[int64]bool{7: true}}, 7, false},
		{"one group's, of its own for which it may not", finishing{groups: []int64{7}, not: map[int64]bool{7: true}}, 7, false},
		{"anybody, of another than that", finishing{not: map[int64]bool{7: true}}, 8, true},
	} {
		if got := tt.by.speaksFor(tt.group); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestATokenOfAnAppNameSpeaksForEachGroupOfIt: a database that XXL-JOB filled may have two of one app name.
func TestATokenOfAnAppNameSpeaksForEachGroupOfIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		second := b.addGroup("Orders")
		var results []wire.Callback
		for _, group := range []int64{b.group, second} {
			run := b.trigger(b.addJob(func(j *db.InsertJobParams) { j.JobGroup = group }))
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
			results = append(results, wire.Callback{LogID: run, HandleCode: wire.CodeSuccess})
		}
		if err := b.engine.CompleteBy(t.Context(), Caller{AppName: "orders", Scope: "orders"}, nil, results); err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			b.await("its result counts", func() bool { return b.run(r.LogID).Outcome == event.Succeeded })
		}
		if err := b.engine.CompleteBy(t.Context(), Caller{Scope: "bills"}, nil, results); !errors.Is(err, ErrNoGroup) {
			t.Errorf("of no group: %v", err)
		}
	})
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

// TestARunIsEndedByItsOwnGroupOnly: whoever speaks for another group ends nothing. One who names no group is refused, since the run may be theirs.
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
			err := b.engine.CompleteBy(t.Context(), Caller{Address: "10.1.2.3"}, speaks, []wire.Callback{{LogID: run, HandleCode: wire.CodeSuccess}})
			if errors.Is(err, ErrNotTheirs) != (tt.want == 0) || err != nil && tt.want != 0 { // an executor before 3.5 names no group, and keeps it
				t.Errorf("reported by %s: %v", tt.app, err)
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

// TestAResultIsTold to whoever watches its run.
func TestAResultIsTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		run := b.trigger(b.addJob(nil))
		b.await("the run is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		watched, cancel := b.engine.SubscribeRun(run)
		defer cancel()
		b.complete(run, wire.CodeSuccess)
		<-watched // what others watch is the hub's test: of their sending they may be told only now
	})
}

// TestTwoReportsOfARunInOneBatch are written one after the other: what does not count takes nothing from what does.
func TestTwoReportsOfARunInOneBatch(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		stranger := []int64{b.addGroup("bills", addressB)}
		job := b.addJob(nil)
		lost := finishing{code: wire.CodeFail, given: event.Lost}
		ended := finishing{code: wire.CodeSuccess}
		for _, tt := range []struct {
			name  string
			batch []finishing
			want  event.Outcome
		}{
			{"a stranger's, and the executor's", []finishing{{code: wire.CodeFail, groups: stranger}, ended}, event.Succeeded},
			{"one without a result, and one with it", []finishing{{}, ended}, event.Succeeded},
			{"it is given up as its executor reports", []finishing{lost, ended}, event.Succeeded},
			{"the same the other way round", []finishing{ended, lost}, event.Succeeded},
			{"it is given up as a stranger reports", []finishing{lost, {code: wire.CodeSuccess, groups: stranger}}, event.Lost},
			{"the executor reports twice", []finishing{ended, {code: wire.CodeFail}}, event.Succeeded},
		} {
			run := b.trigger(job)
			b.await("the run is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
			reply := &reply{left: make(chan error, len(tt.batch))}
			for i := range tt.batch {
				tt.batch[i].id, tt.batch[i].reply = run, reply
			}
			b.engine.finishBatch(t.Context(), tt.batch)
			for range tt.batch {
				if err := <-reply.left; err != nil {
					t.Errorf("%s: %v", tt.name, err)
				}
			}
			r := b.run(run)
			if r.Outcome != tt.want {
				t.Errorf("%s: the run is %v with code %d, want %v", tt.name, r.Outcome, r.HandleCode, tt.want)
			}
			if _, gave := event.Parse(string(r.Events)).Last(event.LostRun); gave && tt.want == event.Succeeded {
				t.Errorf("%s: its history says that it was given up", tt.name)
			}
		}
	})
}

// TestTheReportOfATargetCounts although the executor, started anew, gives up its run in the same batch.
func TestTheReportOfATargetCounts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		run := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorHandler = httpcall.Handler }))
		b.await("the run is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		if err := b.engine.callbacks.HandOut(t.Context(), Callback{LogID: run, Token: "one", Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.callbacks.Await(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		used := false
		reply := &reply{left: make(chan error, 2)}
		b.engine.finishBatch(t.Context(), []finishing{
			{id: run, code: wire.CodeFail, undone: wire.UndoneRunning, by: &Caller{}, reply: reply},
			{id: run, code: wire.CodeSuccess, callback: "one", used: &used, reply: reply},
		})
		if r := b.run(run); !used || r.Outcome != event.Succeeded {
			t.Errorf("the report was used: %t; the run is %v", used, r.Outcome)
		}
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
	seven := []int64{7}
	rows := []db.ListRunsToEndRow{{ID: 1, JobGroup: 7}, {ID: 2, JobGroup: 8}, {ID: 4, JobGroup: 8}}
	got := notTheirs(rows, map[int64]*finishing{1: {by: by, groups: seven}, 2: {by: by, groups: seven}, 3: {by: by, groups: seven}, 4: {groups: seven}})
	if slices.Sort(got[by]); len(got) != 1 || !slices.Equal(got[by], []int64{2, 3}) {
		t.Errorf("of others: %v", got)
	}
	if got := notTheirs(rows[:1], map[int64]*finishing{1: {by: by, groups: seven}}); got != nil {
		t.Errorf("of others: %v", got)
	}
}

// TestAResultThatSomebodyElseWroteMeanwhileIsRaced: what follows from it has been made with that one, so that the transaction may not be kept.
func TestAResultThatSomebodyElseWroteMeanwhileIsRaced(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		runs := b.made(2)
		batch := []finishing{{id: runs[0].id, code: 200}, {id: runs[1].id, code: 200}}
		for _, meanwhile := range []bool{true, false} {
			err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
				w := b.engine.newEnding(batch)
				w.sure = true
				if err := w.read(t.Context(), tx); err != nil || len(w.open) != 2 {
					t.Errorf("%d results count, %v", len(w.open), err)
				}
				if meanwhile {
					if _, err := tx.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 500 WHERE id = ?", runs[1].id); err != nil {
						return err
					}
				}
				return w.end(t.Context(), tx, &following{})
			})
			if errors.Is(err, errRaced) != meanwhile || !meanwhile && err != nil {
				t.Errorf("another result meanwhile: %t, and it ends with: %v", meanwhile, err)
			}
			want := int64(200)
			if meanwhile {
				want = 0
			}
			for _, d := range runs {
				if got := b.run(d.id).HandleCode; got != want {
					t.Errorf("another result meanwhile: %t, and run %d has %d", meanwhile, d.id, got)
				}
			}
		}
	})
}

// TestALostRunHasOneEndUntilItReports: that others take it for lost as well, or end it, is none of its own.
func TestALostRunHasOneEndUntilItReports(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		run := b.made(1)[0].id
		b.exec("UPDATE xxl_job_log SET trigger_code = 200, handle_code = 500, outcome = ? WHERE id = ?", int64(event.Lost), run)
		for given, want := range map[event.Outcome]int{event.Open: 1, event.Lost: 0, event.Killed: 0, event.Failed: 0} {
			w := b.engine.newEnding([]finishing{{id: run, code: 200, given: given}})
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return w.read(t.Context(), tx) }); err != nil {
				t.Fatal(err)
			}
			if len(w.open) != 0 || len(w.lost) != want {
				t.Errorf("given as %v: %d results of an open run, %d of a lost one, want %d", given, len(w.open), len(w.lost), want)
			}
		}
		// One that is not there may be on its way from another node of the database, unless that is known.
		for _, sure := range []bool{true, false} {
			w := b.engine.newEnding([]finishing{{id: run + 1, code: 200}})
			w.sure = sure
			err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return w.read(t.Context(), tx) })
			if sure && err != nil || !sure && !errors.Is(err, errUnseen) {
				t.Errorf("sure %t, a result of a run that is not there: %v", sure, err)
			}
		}
	})
}
