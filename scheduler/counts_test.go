package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestARunCountsAsUpstreamCountsIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		trigger, handle int64
		want            runState
	}{
		{"waiting to be sent", 0, 0, stateRunning},
		{"sent", 200, 0, stateRunning},
		{"succeeded", 200, 200, stateSucceeded},
		{"succeeded although the sending counted as failed", 500, 200, stateSucceeded},
		{"reported before the sending was recorded", 0, 200, stateSucceeded},
		{"not sendable", 500, 0, stateFailed},
		{"failed", 200, 500, stateFailed},
		{"timed out", 200, 502, stateFailed},
		{"ended with a code of its own", 200, 777, stateFailed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := stateOf(event.Open, test.trigger, test.handle); got != test.want {
				t.Errorf("stateOf(%d, %d) = %d, want %d", test.trigger, test.handle, got, test.want)
			}
		})
	}
}

// idle makes an engine that is not started, for what needs no loops: as another admin would see the database.
func idle(t *testing.T, pool *db.Pool, configure func(*Config)) *Engine {
	t.Helper()
	cfg := Config{Pool: pool, Executors: &fakeExecutors{}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Name: "idle", ReportEvery: time.Millisecond}
	if configure != nil {
		configure(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// reported is what the report says of a day, and counted what the rows say.
func reported(t *testing.T, e *Engine, day time.Time) Day {
	t.Helper()
	r, err := e.queries.GetReport(t.Context(), e.cfg.Pool, nullTime(day))
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	return Day{Date: day, Running: r.RunningCount, Succeeded: r.SucCount, Failed: r.FailCount, Skipped: r.SkipCount}
}

func counted(t *testing.T, e *Engine, day time.Time) Day {
	t.Helper()
	d, _, err := e.countDay(t.Context(), day)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// settled waits until nothing waits to be sent.
func (b *bundle) settled() {
	b.t.Helper()
	b.await("every run is sent or has failed to be", func() bool { return b.unsettled() == 0 })
	b.await("the outcomes are counted", func() bool { return b.engine.pending.len() == 0 })
}

func TestCountersFollowTheRunsThroughRetriesMisfiresAndLateResults(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.ReportEvery = time.Hour }, addressA, addressB)
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if req.ExecutorHandler == "refused" {
				return wire.Answer{Code: wire.CodeFail, Msg: "no such handler"}, nil
			}
			return yes, nil
		}
		plain := b.addJob(nil)
		retried := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 })
		refused := b.addJob(func(p *db.InsertJobParams) { p.ExecutorHandler = "refused"; p.ExecutorFailRetryCount = 1 })
		broadcast := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteShardingBroadcast })

		b.finish(b.trigger(plain), 200, "") // succeeded
		b.trigger(plain)                    // running
		b.finish(b.trigger(plain), 502, "") // timed out
		first := b.trigger(retried)         // failed
		b.finish(first, 500, "")            //  … and its retry runs
		b.finish(first, 200, "")            // a second report changes nothing
		late := b.trigger(refused)          // not sendable, twice
		b.finish(b.trigger(plain), 200, "") // succeeded
		if ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: broadcast, Type: jobspec.TriggerManual}); err != nil || len(ids) != 2 {
			t.Fatalf("broadcast: %v, %v", ids, err) // two running
		}
		missed := b.addJob(nil)
		b.start(missed, time.Now().Add(-90*time.Minute)) // its fires of that time are skipped
		b.await("the misfire is on record and the refused run retried", func() bool { return len(b.allRuns()) >= 11 })
		b.settled()
		b.finish(late, 200, "it did run") // a result of a run that was thought not to be sent

		if err := b.engine.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sum Day
		today := b.engine.today()
		for _, day := range []time.Time{today.AddDate(0, 0, -1), today, today.AddDate(0, 0, 1)} { // the test may run over midnight
			got, want := reported(t, b.engine, day), counted(t, b.engine, day)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report of %s (-rows +report):\n%s%s", day.Format(time.DateOnly), diff, b.dump())
			}
			_, hours, err := b.engine.countDay(t.Context(), day)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(hours, hoursOf(t, b.engine, day)); diff != "" {
				t.Errorf("hours of %s (-rows +counted):\n%s", day.Format(time.DateOnly), diff)
			}
			sum.Add(got)
		}
		if want := (Day{Running: 4, Succeeded: 3, Failed: 3, Skipped: 1}); sum != want {
			t.Errorf("in all %+v, want %+v: %s", sum, want, b.dump())
		}
	})
}

func TestAResultThatComesDaysLaterCorrectsTheDayOfItsRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.ReportEvery = time.Hour }, addressA)
		id := b.trigger(b.addJob(nil))
		b.settled()
		day := b.engine.today().AddDate(0, 0, -40)
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET trigger_time = ? WHERE id = ?", day.Add(23*time.Hour), id); err != nil {
			t.Fatal(err)
		}
		b.engine.counts.take()
		if err := b.engine.recount(context.WithoutCancel(t.Context()), day.AddDate(0, 0, 1)); err != nil { // a day without runs gets no row
			t.Fatal(err)
		}
		b.engine.counts.add(change{hour: day.Unix(), to: stateRunning})
		b.finish(id, 200, "")
		if err := b.engine.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := reported(t, b.engine, day), (Day{Date: day, Succeeded: 1}); got != want {
			t.Errorf("report %+v, want %+v", got, want)
		}
		var rows int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log_report").Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d days in the report, want 1 (%v)", rows, err)
		}
	})
}

func TestTwoNodesCountTogetherInWhateverOrderTheyWrite(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	begins, ends := idle(t, pool, nil), idle(t, pool, nil)
	day := begins.today()
	begins.counts.add(change{hour: day.Unix(), to: stateRunning}, change{hour: day.Unix(), to: stateRunning})
	ends.counts.add(change{hour: day.Unix(), from: stateRunning, to: stateSucceeded}, change{hour: day.Unix(), from: stateRunning, to: stateFailed})
	for _, e := range []*Engine{ends, begins} { // the end is written before the beginning
		if err := e.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		days, _, err := Days(t.Context(), pool, time.Now(), time.Now())
		if err != nil || days[0].Running != 0 || days[0].Succeeded != 1 || days[0].Failed != 1 {
			t.Errorf("days %+v, %v; want no running, one succeeded, one failed", days, err)
		}
	}
	if got, want := reported(t, ends, day), (Day{Date: day, Succeeded: 1, Failed: 1}); got != want {
		t.Errorf("report %+v, want %+v", got, want)
	}
}

func TestWhatACrashTookFromTheCountersIsRecounted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.ReportEvery = time.Hour }, addressA)
		job := b.addJob(nil)
		b.finish(b.trigger(job), 200, "")
		b.finish(b.trigger(job), 500, "")
		b.trigger(job)
		b.settled()
		if err := b.engine.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.finish(b.trigger(job), 200, "")
		b.settled()
		b.engine.counts.take() // the crash

		next := idle(t, pool, nil)
		day := next.today()
		if got := reported(t, next, day); got.Total() != 3 {
			t.Fatalf("before the recount: %+v", got)
		}
		for _, d := range []time.Time{day.AddDate(0, 0, -1), day} { // the test may run over midnight
			if err := next.recount(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := reported(t, next, day), (Day{Date: day, Running: 1, Succeeded: 2, Failed: 1}); got != want {
			t.Errorf("after the recount %+v, want %+v", got, want)
		}
	})
}

func TestARecountDoesNotForgetRunsThatWereDeleted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		day := e.today()
		rows := []aRun{{at: day, handle: 200}, {at: day, handle: 500}, {at: day}}
		ids := addRuns(t, pool, rows...)
		e.counts.add(change{hour: day.Unix(), to: stateSucceeded}, change{hour: day.Unix(), to: stateFailed},
			change{hour: day.Unix(), to: stateRunning}, change{hour: day.Unix(), to: stateRunning})
		if err := e.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.queries.DeleteRuns(t.Context(), pool, ids[:2]); err != nil {
			t.Fatal(err)
		}
		if err := e.recount(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		if got, want := reported(t, e, day), (Day{Date: day, Running: 1, Succeeded: 1, Failed: 1}); got != want {
			t.Errorf("after the recount %+v, want %+v", got, want)
		}
	})
}

func TestARecountLeavesADayAloneWhoseRunsKeepChanging(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e, other := idle(t, pool, func(c *Config) { c.ReportEvery = 200 * time.Millisecond }), idle(t, pool, nil)
		day := e.today().AddDate(0, 0, -1)
		addRuns(t, pool, aRun{at: day, handle: 200})
		ctx, cancel := context.WithCancel(t.Context())
		done, begun := make(chan int64, 1), make(chan struct{})
		go func() {
			n := int64(0)
			for ctx.Err() == nil {
				other.counts.add(change{hour: day.Unix(), to: stateRunning})
				if other.flushCounts(context.WithoutCancel(ctx)) == nil {
					if n++; n == 1 {
						close(begun)
					}
				}
			}
			done <- n
		}()
		<-begun
		err := e.recount(t.Context(), day)
		cancel()
		n := <-done
		if !errors.Is(err, errBusyDay) {
			t.Errorf("recount: %v, want %v", err, errBusyDay)
		}
		if got, want := reported(t, e, day), (Day{Date: day, Running: n}); got != want {
			t.Errorf("report %+v, want %+v: what was added meanwhile", got, want)
		}
	})
}

// hoursOf are the counters of the hours around today, by what they count.
func hoursOf(t *testing.T, e *Engine, days ...time.Time) map[hourOfGroup]tally {
	t.Helper()
	all := make(map[hourOfGroup]tally)
	for _, day := range days {
		hours, err := e.storedHours(t.Context(), day)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, hours)
	}
	return all
}

func TestHoursOfGroupsAreCountedLikeDays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		day := e.today()
		three, four := day.Unix()+3*3600, day.Unix()+4*3600
		e.counts.add(change{hour: three, group: 1, to: stateRunning}, change{hour: three, group: 2, to: stateFailed}, change{hour: four, group: 1, to: stateRunning})
		if err := e.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.counts.add(change{hour: three, group: 1, from: stateRunning, to: stateSucceeded}, change{hour: three, group: 1, to: stateRunning})
		e.counts.add(change{hour: four, group: 2, to: stateRunning}, change{hour: four, group: 2, from: stateRunning}) // nothing, in the end
		if err := e.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[hourOfGroup]tally{
			{three, 1}: {stateRunning: 1, stateSucceeded: 1}, {three, 2}: {stateFailed: 1}, {four, 1}: {stateRunning: 1},
		}
		if diff := cmp.Diff(want, hoursOf(t, e, day)); diff != "" {
			t.Error(diff)
		}
		if got, want := reported(t, e, day), (Day{Date: day, Running: 2, Succeeded: 1, Failed: 1}); got != want {
			t.Errorf("the day is %+v, want %+v", got, want)
		}
	})
}

func TestHoursThatAnXXLJobAdminLeftAreCountedAtTheStart(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		if err := e.node.join(t.Context()); err != nil {
			t.Fatal(err)
		}
		old, today := e.today().AddDate(0, 0, -20), e.today()
		addRuns(t, pool, aRun{at: old.Add(2 * time.Hour), handle: 200}, aRun{at: old.Add(2*time.Hour + 59*time.Minute), handle: 500}, aRun{at: old.Add(23 * time.Hour)}, aRun{at: today, handle: 200})
		if err := e.queries.InsertReport(t.Context(), pool, db.InsertReportParams{TriggerDay: nullTime(old)}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.queries.SetReport(t.Context(), pool, db.SetReportParams{Day: nullTime(old), Running: 1, Succeeded: 1, Failed: 1}); err != nil {
			t.Fatal(err)
		}
		if err := e.recountAtStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		group := int64(0)
		hours := hoursOf(t, e, old, today)
		for key := range hours {
			group = key.group
		}
		want := map[hourOfGroup]tally{
			{old.Unix() + 2*3600, group}: {stateSucceeded: 1, stateFailed: 1}, {old.Unix() + 23*3600, group}: {stateRunning: 1}, {today.Unix(), group}: {stateSucceeded: 1},
		}
		if diff := cmp.Diff(want, hours); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDaysOfBeforeSkippedFiresWereCountedAreCountedAnewOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		if err := e.node.join(t.Context()); err != nil {
			t.Fatal(err)
		}
		old := e.today().AddDate(0, 0, -20)
		hour := old.Add(2 * time.Hour)
		skipped := addRuns(t, pool, aRun{at: hour, handle: 200}, aRun{at: hour, trigger: 500})[1]
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ? WHERE id = ?", int64(event.Skipped), skipped); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time nobody looks so far back
			e.counts.add(change{hour: hourOf(hour), group: 1, to: stateFailed})
			if err := e.flushCounts(t.Context()); err != nil {
				t.Fatal(err)
			}
			if reported(t, e, old).Succeeded == 0 {
				e.counts.add(change{hour: hourOf(hour), group: 1, to: stateSucceeded})
			}
			if err := e.recountAtStart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := reported(t, e, old), (Day{Date: old, Succeeded: 1, Failed: 1, Skipped: 1}); got != want {
			t.Errorf("the day is %+v, want %+v", got, want)
		}
	})
}

func TestTheReportOfARangeHasEveryDayAndItsSum(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		now := time.Date(2026, 3, 10, 15, 0, 0, 0, dbtest.Zone)
		day := dayOf(pool.Wall(now))
		e.counts.add(change{hour: day, to: stateSucceeded}, change{hour: day, to: stateSucceeded}, change{hour: day, to: stateFailed},
			change{hour: day - 2*86_400, to: stateRunning}, change{hour: day - 9*86_400, to: stateFailed})
		if err := e.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		days, sum, err := Days(t.Context(), pool, now.AddDate(0, 0, -2), now)
		if err != nil {
			t.Fatal(err)
		}
		midnight := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, dbtest.Zone) }
		want := []Day{{Date: midnight(8), Running: 1}, {Date: midnight(9)}, {Date: midnight(10), Succeeded: 2, Failed: 1}}
		if diff := cmp.Diff(want, days); diff != "" {
			t.Errorf("days (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Day{Date: midnight(8), Running: 1, Succeeded: 2, Failed: 1}, sum); diff != "" {
			t.Errorf("sum (-want +got):\n%s", diff)
		}
		if share, ok := sum.SuccessShare(); !ok || share < .66 || share > .67 {
			t.Errorf("success share %v, %v", share, ok)
		}
		if _, ok := days[1].SuccessShare(); ok {
			t.Error("a day without results has a success share")
		}
		if _, _, err := Days(t.Context(), pool, now, now.AddDate(0, 0, -1)); err == nil {
			t.Error("a range that ends before it begins is accepted")
		}
	})
}

// aRun is a run's row as maintenance sees it.
type aRun struct {
	at              time.Time // wall clock
	trigger, handle int64     // trigger 0 means 200
	group, job      int64     // 0 means 1
}

func addRuns(t *testing.T, pool *db.Pool, rows ...aRun) []int64 {
	t.Helper()
	ids := make([]int64, len(rows))
	err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
		for i, r := range rows {
			if r.trigger == 0 {
				r.trigger = 200
			}
			res, err := tx.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (?, ?, ?, ?, ?)",
				max(1, r.group), max(1, r.job), sql.NullTime{Time: r.at, Valid: !r.at.IsZero()}, r.trigger, r.handle)
			if err != nil {
				return err
			}
			if ids[i], err = res.LastInsertId(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestWhatWasLeftOutOnPurposeIsNoFailureInTheCounters(t *testing.T) {
	t.Parallel()
	for _, o := range event.AllOutcomes() {
		if got := stateOf(o, wire.CodeFail, 0) == stateSkipped; got != o.Passed() {
			t.Errorf("%v counts as skipped: %v", o, got)
		}
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		day := e.today()
		rows := []db.NewRun{}
		ids := addRuns(t, pool, aRun{at: day, trigger: 500}, aRun{at: day, trigger: 500}, aRun{at: day, trigger: 500}, aRun{at: day, trigger: 500})
		for i, o := range []event.Outcome{event.Skipped, event.Discarded, event.Cancelled, event.NotSent} {
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ? WHERE id = ?", o, ids[i]); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, db.NewRun{JobGroup: 1, TriggerTime: day, TriggerCode: 500, Outcome: o})
		}
		e.counts.add(countDecided(rows)...)
		if err := e.flushCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := Day{Date: day, Failed: 1, Skipped: 3}
		agree := func(when string) {
			t.Helper()
			found, hours, err := e.countDay(t.Context(), day)
			if err != nil {
				t.Fatal(err)
			}
			if got := reported(t, e, day); got != want || found != want {
				t.Errorf("%s: counted %+v, recounted %+v, want %+v", when, got, found, want)
			}
			if diff := cmp.Diff(hours, hoursOf(t, e, day)); diff != "" {
				t.Errorf("%s: hours (-rows +counted):\n%s", when, diff)
			}
		}
		agree("as it happened")

		// An XXL-JOB admin beside puts what it finds in the place of its counters: skipped fires are failures to it.
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log_report SET fail_count = 4"); err != nil {
			t.Fatal(err)
		}
		if err := e.recount(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		agree("after an XXL-JOB admin's count")
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_run_hour SET fail_count = 4, skip_count = 0"); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log_report SET fail_count = 4, skip_count = 0"); err != nil {
			t.Fatal(err)
		}
		if err := e.recount(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		agree("after the recount of what an older version counted")

		days, sum, err := Days(t.Context(), pool, time.Now(), time.Now())
		if err != nil || days[0].Failed != 1 || days[0].Skipped != 3 || sum.Total() != 4 {
			t.Errorf("days %+v, sum %+v, %v", days, sum, err)
		}
		if share, ok := sum.SuccessShare(); !ok || share != 0 {
			t.Errorf("success share %v, %v, want 0 of one", share, ok)
		}
		if _, ok := (Day{Skipped: 3}).SuccessShare(); ok {
			t.Error("a day of skipped fires has a success share")
		}
	})
}

func TestADiscardedSendingCountsAsSkipped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		day := e.today()
		ids := addRuns(t, pool, aRun{at: day}, aRun{at: day})
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET trigger_code = 0, owner_node = 77"); err != nil {
			t.Fatal(err)
		}
		planned := pool.FromWall(day)
		failed := []*outcome{
			{d: &dispatch{id: ids[0], owner: 77, planned: planned, job: &job{}}, sent: db.Sent{ID: ids[0], Code: 500, Outcome: event.Discarded}},
			{d: &dispatch{id: ids[1], owner: 77, planned: planned, job: &job{}}, sent: db.Sent{ID: ids[1], Code: 500, Outcome: event.NotSent}},
		}
		changes, err := e.unsendable(t.Context(), pool, failed)
		if err != nil || len(changes) != 2 || changes[0].to != stateSkipped || changes[1].to != stateFailed {
			t.Errorf("changes %+v, %v", changes, err)
		}
	})
}
