package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/event"
)

// addBackfill makes a backfill of a job for days of March 2026, so many at once.
func (b *bundle) addBackfill(job int64, days int, atOnce int64) int64 {
	b.t.Helper()
	id, err := b.engine.queries.InsertBackfill(b.t.Context(), b.pool, db.InsertBackfillParams{
		JobID: job, Kind: backfill.OfSchedule, AtOnce: atOnce, State: backfill.Running, Total: int64(days), MadeBy: "ann",
	})
	if err != nil {
		b.t.Fatal(err)
	}
	rows := make([]db.BackfillRun, days)
	for i := range rows {
		rows[i] = db.BackfillRun{BackfillID: id, No: int64(i), PlannedFor: day(i).UnixMilli()}
	}
	if err := db.InsertBackfillRuns(b.t.Context(), b.pool, rows); err != nil {
		b.t.Fatal(err)
	}
	return id
}

func day(i int) time.Time { return time.Date(2026, 3, 1+i, 2, 0, 0, 0, time.UTC) }

func (b *bundle) backfill(id int64) db.Backfill {
	b.t.Helper()
	row, err := b.engine.queries.GetBackfill(b.t.Context(), b.pool, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return row
}

func (b *bundle) round(e *Engine) {
	b.t.Helper()
	if _, err := e.backfills.Round(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// byHand has the test look at the backfills instead of the service.
func (b *bundle) byHand(e *Engine) {
	b.t.Helper()
	if err := e.backfills.Stop(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// each checks that the runs of a job stand for the first days, each once.
func (b *bundle) each(job int64, days int) {
	b.t.Helper()
	var got []int64
	for _, r := range b.runsOf(job) {
		if r.OriginLogID == 0 {
			got = append(got, r.PlannedFor)
		}
	}
	slices.Sort(got)
	var want []int64
	for i := range days {
		want = append(want, day(i).UnixMilli())
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("runs for %v, want %v", got, want)
	}
}

func TestABackfillRunsEachPlannedTimeOnceAndSoManyAtATime(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		job := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorFailRetryCount, p.ExecutorParam, p.TimeZone = 1, dayBefore, "UTC"
		})
		id := b.addBackfill(job, 5, 2)
		b.round(b.engine)
		b.round(b.engine)
		runs := b.runsOf(job)
		if len(runs) != 2 {
			t.Fatalf("%d runs at once", len(runs))
		}
		if e, ok := b.events(runs[0].ID).Last(event.Backfilled); !ok || e.Number(0) != id {
			t.Errorf("the run says %v", b.events(runs[0].ID))
		}
		b.await("both are sent", func() bool { return len(b.executors.received()) == 2 })
		for _, r := range b.sentFor(runs[0].ID) {
			if r.ExecutorParams != "day=2026-02-28" {
				t.Errorf("sent with %q", r.ExecutorParams)
			}
		}
		// A failure has another attempt, which is under way in its place.
		b.finish(runs[0].ID, wire.CodeFail, "no")
		b.round(b.engine)
		if n := len(b.runsOf(job)); n != 3 {
			t.Fatalf("%d runs after a failure with a retry, want 3", n)
		}
		b.finish(b.runsOf(job)[2].ID, wire.CodeFail, "no")
		b.round(b.engine)
		if f := b.backfill(id); f.Failed != 1 || f.Succeeded != 0 || f.Sent != 3 {
			t.Errorf("after a failure: %+v", f)
		}
		// Paused: what is under way is counted, and nothing is sent.
		if n, err := b.engine.queries.SetBackfillState(t.Context(), pool, db.SetBackfillStateParams{ID: id, OldState: backfill.Running, NewState: backfill.Paused}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		for _, r := range b.runsOf(job) {
			b.finish(r.ID, wire.CodeSuccess, "")
		}
		b.round(b.engine)
		if f := b.backfill(id); f.Failed != 1 || f.Succeeded != 2 || f.Sent != 3 || f.EndedAt != 0 {
			t.Errorf("paused: %+v", f)
		}
		if n, err := b.engine.queries.SetBackfillState(t.Context(), pool, db.SetBackfillStateParams{ID: id, OldState: backfill.Paused, NewState: backfill.Running}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		b.round(b.engine)
		for _, r := range b.runsOf(job) {
			b.finish(r.ID, wire.CodeSuccess, "")
		}
		b.round(b.engine)
		if f := b.backfill(id); f.Failed != 1 || f.Succeeded != 4 || f.State != backfill.Done || f.EndedAt == 0 {
			t.Errorf("at the end: %+v", f)
		}
		b.each(job, 5)
	})
}

// The service itself goes through all of it, with nobody looking.
func TestABackfillGoesOnByItself(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		done := make(chan int64, 100)
		b.executors.run = func(_ wire.Target, r *wire.RunRequest) (wire.Answer, error) {
			done <- r.LogID
			return yes, nil
		}
		job := b.addJob(nil)
		id := b.addBackfill(job, 8, 3)
		b.engine.Backfills().Wake()
		for range 8 {
			b.finish(<-done, wire.CodeSuccess, "")
		}
		b.await("the backfill is over", func() bool { return b.backfill(id).EndedAt != 0 })
		if f := b.backfill(id); f.State != backfill.Done || f.Succeeded != 8 || f.Failed != 0 {
			t.Errorf("%+v", f)
		}
		b.each(job, 8)
	})
}

// TestABackfillWaitsWhileItsJobIsPaused and goes on by itself.
func TestABackfillWaitsWhileItsJobIsPaused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		job := b.addJob(nil)
		id := b.addBackfill(job, 2, 2)
		paused := b.pause(db.InsertPauseParams{Scope: "group", Target: b.group, FromAt: 1, Strategy: "skip"})
		if err := b.engine.PausesChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.round(b.engine)
		if f := b.backfill(id); f.Sent != 0 || f.State != backfill.Running || f.EndedAt != 0 {
			t.Errorf("while the job is paused: %+v", f)
		}
		b.endPause(paused, time.Now())
		if err := b.engine.PausesChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.round(b.engine)
		if f := b.backfill(id); f.Sent != 2 {
			t.Errorf("after the pause: %+v", f)
		}
	})
}

// TestP2TwoAdminsBackfillEachTimeOnce has both believe that they lead.
func TestP2TwoAdminsBackfillEachTimeOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.MySQL), alone, addressA)
	two := b.second(alone)
	b.byHand(b.engine)
	b.byHand(two)
	job := b.addJob(nil)
	id := b.addBackfill(job, 60, 100)
	var both sync.WaitGroup
	for _, e := range []*Engine{b.engine, two} {
		both.Go(func() {
			for b.backfill(id).Sent < 60 {
				if _, err := e.backfills.Round(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	both.Wait()
	b.each(job, 60)
}

// A transaction that fails after the insert leaves neither the run nor a moved cursor, and an admin that dies after it both.
func TestP1ABackfillAndItsRunMoveTogether(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		job := b.addJob(nil)
		id := b.addBackfill(job, 3, 1)
		killed := errors.New("killed")
		cut, err := backfill.New(backfill.Config{Pool: pool, Logger: b.engine.log, Send: func(ctx context.Context, r backfill.Request) error {
			within := r.Within
			r.Within = func(ctx context.Context, tx *sql.Tx, ids []int64) error {
				return errors.Join(within(ctx, tx, ids), killed)
			}
			return b.engine.sendBackfill(ctx, r)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cut.Round(t.Context()); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		if f := b.backfill(id); f.Sent != 0 || len(b.runsOf(job)) != 0 {
			t.Fatalf("half of it is there: %+v, %d runs", f, len(b.runsOf(job)))
		}
		// The commit is done, and its answer is lost.
		lost, err := backfill.New(backfill.Config{Pool: pool, Logger: b.engine.log, Send: func(ctx context.Context, r backfill.Request) error {
			return errors.Join(b.engine.sendBackfill(ctx, r), killed)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lost.Round(t.Context()); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		for i := range 3 {
			b.round(b.engine)
			runs := b.runsOf(job)
			if len(runs) != i+1 {
				t.Fatalf("%d runs, want %d", len(runs), i+1)
			}
			b.finish(runs[i].ID, wire.CodeSuccess, "")
		}
		b.round(b.engine)
		b.each(job, 3)
		if f := b.backfill(id); f.State != backfill.Done || f.Succeeded != 3 {
			t.Errorf("%+v", f)
		}
	})
}

func TestABackfillEndsWithItsJobAndWhenItIsStopped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		gone, stopped := b.addJob(nil), b.addJob(nil)
		one, two := b.addBackfill(gone, 3, 1), b.addBackfill(stopped, 3, 1)
		b.round(b.engine)
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_info WHERE id = ?", gone); err != nil {
			t.Fatal(err)
		}
		if _, err := b.engine.queries.SetBackfillState(t.Context(), pool, db.SetBackfillStateParams{ID: two, OldState: backfill.Running, NewState: backfill.Stopped}); err != nil {
			t.Fatal(err)
		}
		b.round(b.engine)
		if f := b.backfill(two); f.EndedAt != 0 {
			t.Errorf("over while a run of it is under way: %+v", f)
		}
		for _, r := range b.allRuns() {
			b.finish(r.ID, wire.CodeSuccess, "")
		}
		b.round(b.engine)
		for id, want := range map[int64]string{one: backfill.Gone, two: backfill.Stopped} {
			if f := b.backfill(id); f.State != want || f.EndedAt == 0 || f.Sent != 1 || f.Succeeded != 1 {
				t.Errorf("want %s: %+v", want, f)
			}
		}
		if n := len(b.allRuns()); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestAPausedBackfillEndsWithItsJob: nobody can resume or stop it any more, so that it would be looked at for ever.
func TestAPausedBackfillEndsWithItsJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		gone, stays := b.addJob(nil), b.addJob(nil)
		one, two := b.addBackfill(gone, 3, 1), b.addBackfill(stays, 3, 1)
		b.round(b.engine)
		for _, id := range []int64{one, two} {
			if _, err := b.engine.queries.SetBackfillState(t.Context(), pool, db.SetBackfillStateParams{ID: id, OldState: backfill.Running, NewState: backfill.Paused}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_info WHERE id = ?", gone); err != nil {
			t.Fatal(err)
		}
		b.round(b.engine)
		if f := b.backfill(one); f.EndedAt != 0 {
			t.Errorf("over while a run of it is under way: %+v", f)
		}
		for _, r := range b.allRuns() {
			b.finish(r.ID, wire.CodeSuccess, "")
		}
		b.round(b.engine)
		if f := b.backfill(one); f.State != backfill.Gone || f.EndedAt == 0 || f.Succeeded != 1 {
			t.Errorf("its job is gone: %+v", f)
		}
		if f := b.backfill(two); f.State != backfill.Paused || f.EndedAt != 0 {
			t.Errorf("its job is there: %+v", f)
		}
	})
}

// TestABackfilledBroadcastFollowsAllItsRetries: one that nobody was there for is tried again by a run for each executor that there is by then,
// which its record names one after the other.
func TestABackfilledBroadcastFollowsAllItsRetries(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = "SHARDING_BROADCAST" })
		id := b.addBackfill(job, 1, 1)
		b.round(b.engine)
		first := b.runsOf(job)[0]
		b.await("it is sent", func() bool { return b.run(first.ID).TriggerCode != 0 })
		var again event.List
		for i := range 2 {
			next, err := db.InsertRuns(t.Context(), pool, []db.NewRun{{JobGroup: b.group, JobID: job, TriggerTime: pool.Wall(time.Now()), PlannedAt: time.Now().UnixMilli(), Origin: first.ID, TriggerCode: wire.CodeSuccess, Sharding: fmt.Sprintf("%d/2", i)}})
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, event.New(time.Now(), event.Retry, job, next))
		}
		b.exec("UPDATE xxl_job_log SET trigger_code = 500, outcome = ?, executor_fail_retry_count = 1, events = ? WHERE id = ?", event.NotSent, again.Stored(), first.ID)
		b.round(b.engine)
		b.finish(again[1].Number(1), wire.CodeSuccess, "")
		b.round(b.engine)
		if f := b.backfill(id); f.EndedAt != 0 {
			t.Errorf("over while a shard is under way: %+v", f)
		}
		b.finish(again[0].Number(1), wire.CodeFail, "no")
		b.round(b.engine)
		if f := b.backfill(id); f.Failed != 1 || f.Succeeded != 0 || f.State != backfill.Done {
			t.Errorf("a shard failed: %+v", f)
		}
	})
}

func TestABackfilledBroadcastIsDoneWhenAllItsShardsAre(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA, addressB)
		b.byHand(b.engine)
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = "SHARDING_BROADCAST" })
		id := b.addBackfill(job, 2, 1)
		for i := range 2 {
			b.round(b.engine)
			runs := b.runsOf(job)
			if len(runs) != 2*i+2 {
				t.Fatalf("%d runs", len(runs))
			}
			b.finish(runs[2*i].ID, wire.CodeSuccess, "")
			b.round(b.engine)
			if n := len(b.runsOf(job)); n != 2*i+2 {
				t.Fatalf("%d runs while a shard is under way", n)
			}
			b.finish(runs[2*i+1].ID, wire.CodeSuccess+i*300, "")
		}
		b.round(b.engine)
		if f := b.backfill(id); f.Succeeded != 1 || f.Failed != 1 || f.State != backfill.Done {
			t.Errorf("%+v", f)
		}
	})
}

// Backfills is the service that runs jobs for planned times that are over. It starts and stops with the engine.
func (e *Engine) Backfills() *backfill.Service { return e.backfills }
