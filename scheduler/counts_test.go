package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

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

		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sum upkeep.Day
		today := b.today()
		for _, day := range []time.Time{today.AddDate(0, 0, -1), today, today.AddDate(0, 0, 1)} { // the test may run over midnight
			got, want := reported(t, b.engine, day), counted(t, b.engine, day)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report of %s (-rows +report):\n%s%s", day.Format(time.DateOnly), diff, b.dump())
			}
			log := new(executortest.Output) // a recount that corrects the counters of an hour says so
			if err := idle(t, pool, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }).upkeep.Recount(t.Context(), day); err != nil || log.String() != "" {
				t.Errorf("recount of %s: %v, %s", day.Format(time.DateOnly), err, log)
			}
			sum.Add(got)
		}
		if want := (upkeep.Day{Running: 4, Succeeded: 3, Failed: 2, Skipped: 1}); sum != want {
			t.Errorf("in all %+v, want %+v: %s", sum, want, b.dump())
		}
	})
}

// TestAFireCountsOnceHoweverOftenItIsTried has fires that need each of their attempts, run out of them, are lost and come back.
func TestAFireCountsOnceHoweverOftenItIsTried(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.ReportEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 2 })
		retry := func(of int64) (id int64) {
			b.await("its retry is sent", func() bool {
				next, ok := b.events(of).Last(event.Retry)
				id = next.Number(1)
				return ok && b.run(id).TriggerCode == wire.CodeSuccess
			})
			return id
		}
		first := b.trigger(job) // succeeds at the third attempt
		b.finish(first, 500, "")
		second := retry(first)
		b.finish(second, 500, "")
		b.finish(retry(second), 200, "")
		first = b.trigger(job) // fails at all of them
		b.finish(first, 500, "")
		second = retry(first)
		b.finish(second, 502, "")
		b.finish(retry(second), 500, "")
		first = b.trigger(job) // goes on with its second
		b.finish(first, 500, "")
		retry(first)
		b.settled()
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sum upkeep.Day
		for _, day := range []time.Time{b.today().AddDate(0, 0, -1), b.today()} { // the test may run over midnight
			got, want := reported(t, b.engine, day), counted(t, b.engine, day)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report of %s (-rows +report):\n%s%s", day.Format(time.DateOnly), diff, b.dump())
			}
			sum.Add(got)
		}
		if want := (upkeep.Day{Running: 1, Succeeded: 1, Failed: 1}); sum != want {
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
		day := b.today().AddDate(0, 0, -40)
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET trigger_time = ? WHERE id = ?", day.Add(23*time.Hour), id); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log_report"); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.upkeep.Recount(context.WithoutCancel(t.Context()), day.AddDate(0, 0, 1)); err != nil { // a day without runs gets no row
			t.Fatal(err)
		}
		b.engine.upkeep.Count(upkeep.Change{Hour: day.Unix(), To: upkeep.StateRunning})
		b.finish(id, 200, "")
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := reported(t, b.engine, day), (upkeep.Day{Date: day, Succeeded: 1}); got != want {
			t.Errorf("report %+v, want %+v", got, want)
		}
		var rows int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log_report").Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d days in the report, want 1 (%v)", rows, err)
		}
	})
}

// TestADiscardedSendingCountsAsSkipped: also where the same batch holds a vain discard of a run that had its slot, and could not be
// sent.
func TestADiscardedSendingCountsAsSkipped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		planned := time.Now()
		run := db.NewRun{JobID: 1, JobGroup: 1, TriggerTime: pool.Wall(planned), PlannedAt: planned.UnixMilli(), Owner: 77, Type: jobspec.TriggerManual}
		var ids []int64
		for range 2 {
			id, err := db.InsertRuns(t.Context(), pool, []db.NewRun{run})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		failed := []*outcome{
			{d: &dispatch{id: ids[0], owner: 77, planned: planned, job: &job{}}, sent: db.Sent{ID: ids[0], Code: 500, Outcome: event.Discarded}},
			{d: &dispatch{id: ids[1], owner: 77, planned: planned, job: &job{}}, sent: db.Sent{ID: ids[1], Code: 500, Outcome: event.NotSent}},
			{d: &dispatch{id: ids[1], owner: waitingOwner, planned: planned, job: &job{}}, sent: db.Sent{ID: ids[1], Code: 500, Outcome: event.Discarded}},
		}
		changes, err := e.unsendable(t.Context(), pool, failed)
		if err != nil || len(changes) != 2 || changes[0].To != upkeep.StateSkipped || changes[1].To != upkeep.StateFailed {
			t.Errorf("changes %+v, %v", changes, err)
		}
	})
}

// today is the midnight of the day it is, as the DATETIME columns hold it.
func (b *bundle) today() time.Time { return b.engine.wall(b.engine.now()).Truncate(24 * time.Hour) }

// reported is what the report says of a day, and counted what the rows say.
func reported(t *testing.T, e *Engine, day time.Time) upkeep.Day {
	t.Helper()
	r, err := e.queries.GetReport(t.Context(), e.cfg.Pool, nullTime(day))
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	return upkeep.Day{Date: day, Running: r.RunningCount, Succeeded: r.SucCount, Failed: r.FailCount, Skipped: r.SkipCount}
}

func counted(t *testing.T, e *Engine, day time.Time) upkeep.Day {
	t.Helper()
	d := upkeep.Day{Date: day}
	groups, err := e.queries.CountRunsOfGroups(t.Context(), e.cfg.Pool, db.CountRunsOfGroupsParams{FromTime: nullTime(day), ToTime: nullTime(day.AddDate(0, 0, 1))})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range groups {
		d.Add(upkeep.Day{Running: n.Running, Succeeded: n.Succeeded, Skipped: n.Skipped, Failed: n.Total - n.Running - n.Succeeded - n.Skipped - n.Attempts})
	}
	return d
}

func TestOnlyTheOldestNodeLooksAfterTheDatabase(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	quick := func(c *Config) { c.Lease, c.BeatEvery = time.Second, 50*time.Millisecond }
	first := setup(t, pool, quick, addressA)
	second := &bundle{t: t, pool: pool, engine: idle(t, pool, quick)}
	if err := second.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.engine.Stop(t.Context()) })
	first.await("the two know each other", func() bool { return first.engine.node.Leading() && !second.engine.node.Leading() })
	if err := first.engine.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.await("the other has taken over", second.engine.node.Leading)
}
