package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func (b *bundle) trigger(jobID int64) int64 {
	b.t.Helper()
	ids, err := b.engine.Trigger(b.t.Context(), TriggerRequest{JobID: jobID, Type: jobspec.TriggerManual})
	if err != nil {
		b.t.Fatal(err)
	}
	return ids[0]
}

func (b *bundle) run(id int64) db.Run {
	b.t.Helper()
	r, err := b.engine.queries.GetRun(b.t.Context(), b.pool, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bundle) job(id int64) db.Job {
	b.t.Helper()
	j, err := b.engine.queries.GetJob(b.t.Context(), b.pool, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}

func TestAFixedDelayCountsFromTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) {
			p.ScheduleType, p.ScheduleConf, p.ExecutorFailRetryCount = jobspec.ScheduleFixDelay, "600", 1
		})
		b.start(id, time.Now())
		b.await("it is sent", func() bool { runs := b.allRuns(); return len(runs) == 1 && runs[0].TriggerCode == 200 })
		if next := b.job(id).TriggerNextTime; next != jobspec.Waiting.UnixMilli() {
			t.Fatalf("while it runs its next time is %d, want the one that waits", next)
		}
		b.finish(b.allRuns()[0].ID, 500, "")
		b.await("it is retried", func() bool { runs := b.allRuns(); return len(runs) == 2 && runs[1].TriggerCode == 200 })
		if next := b.job(id).TriggerNextTime; next != jobspec.Waiting.UnixMilli() {
			t.Fatalf("while its retry runs its next time is %d, want the one that waits", next)
		}
		ended := time.Now()
		b.finish(b.allRuns()[1].ID, 200, "")
		next := time.UnixMilli(b.job(id).TriggerNextTime)
		if d := next.Sub(ended); d < 599*time.Second || d > 630*time.Second {
			t.Errorf("due %s after the end, want 10 minutes", d)
		}
	})
}

func TestAFixedDelayGoesOnWhenItsRunCouldNotBeSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil) // nobody is registered
		id := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleFixDelay, "600" })
		b.start(id, time.Now())
		b.await("it failed", func() bool { runs := b.allRuns(); return len(runs) == 1 && runs[0].TriggerCode == 500 })
		b.await("it has a next time", func() bool { return b.job(id).TriggerNextTime < jobspec.Waiting.UnixMilli() })
	})
}

func TestALimitHoldsAndTheOthersWaitTheirTurn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		id := b.addJob(func(p *db.InsertJobParams) {
			p.MaxConcurrent, p.ExecutorRouteStrategy, p.ExecutorFailRetryCount = 2, jobspec.RouteRound, 1
		})
		var ids []int64
		for range 6 {
			ids = append(ids, b.trigger(id))
		}
		running := func() (n int) {
			for _, r := range b.allRuns() {
				if r.TriggerCode == 200 && r.HandleCode == 0 {
					n++
				}
			}
			return n
		}
		b.await("two run", func() bool { return running() == 2 })
		b.await("the others wait", func() bool { return b.engine.pending.len() == 0 })
		row := b.job(id)
		if s, err := b.engine.JobSlots(t.Context(), &row); err != nil || s != (SlotsTaken{Limit: 2, Running: 2, Waiting: 4}) {
			t.Errorf("slots of the job: %+v, %v", s, err)
		}
		row.MaxConcurrent = 0
		if s, err := b.engine.JobSlots(t.Context(), &row); err != nil || s != (SlotsTaken{}) {
			t.Errorf("slots of a job without a limit: %+v, %v", s, err)
		}
		for done := 0; done < len(ids); done++ {
			if n := running(); n > 2 {
				t.Fatalf("%d run at a time, want at most 2: %s", n, b.dump())
			}
			open := slices.IndexFunc(b.allRuns(), func(r db.Run) bool { return r.TriggerCode == 200 && r.HandleCode == 0 })
			b.finish(b.allRuns()[open].ID, 200, "")
			want := min(2, len(ids)-done-1)
			b.await("the next has the slot", func() bool { return running() == want })
		}
		for _, r := range b.allRuns() {
			if r.HandleCode != 200 {
				t.Errorf("run %d: %+v", r.ID, r)
			}
		}
		counts, err := db.CountSlots(t.Context(), pool, []int64{id}, 10)
		if err != nil || len(counts) != 0 {
			t.Errorf("slots left: %+v, %v", counts, err)
		}
	})
}

func TestARunThatWaitsForASlotCanBeCancelled(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		first := b.trigger(id)
		b.await("the first runs", func() bool { return b.run(first).TriggerCode == 200 })
		second := b.trigger(id)
		b.await("the second waits", func() bool { return b.engine.pending.len() == 0 })
		if err := b.engine.Kill(t.Context(), second, "ada"); err != nil {
			t.Fatal(err)
		}
		if r := b.run(second); r.TriggerCode != 500 || r.Outcome != event.Killed || b.events(second)[len(b.events(second))-1].Text(1) != event.KilledWaiting {
			t.Errorf("the cancelled run: %+v", r)
		}
		b.finish(first, 200, "")
		third := b.trigger(id)
		b.await("the third runs", func() bool { return b.run(third).TriggerCode == 200 })
		if n := len(b.executors.received()); n != 2 {
			t.Errorf("%d runs were sent, want the first and the third", n)
		}
	})
}

func TestALimitMayDiscard(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) {
			p.MaxConcurrent, p.ConcurrencyPolicy, p.ExecutorFailRetryCount = 1, string(jobspec.ConcurrencyDiscard), 3
		})
		first := b.trigger(id)
		b.await("the first runs", func() bool { return b.run(first).TriggerCode == 200 })
		second := b.trigger(id)
		b.await("the second is discarded", func() bool { return b.run(second).TriggerCode == 500 })
		if r := b.run(second); r.Outcome != event.Discarded || !b.has(second, event.Full) {
			t.Errorf("the discarded run: %+v", r)
		}
		b.finish(first, 200, "")
		third := b.trigger(id)
		b.await("the third runs", func() bool { return b.run(third).TriggerCode == 200 })
		if runs := b.allRuns(); len(runs) != 3 {
			t.Errorf("a discarded run was retried: %s", b.dump())
		}
	})
}

func TestALimitHoldsAcrossAdmins(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	b := setup(t, pool, nil, addressA)
	other, err := New(Config{Pool: pool, Executors: b.executors, Logger: b.engine.log, Name: "other", ClaimEvery: 20 * time.Millisecond, SweepEvery: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Stop(t.Context()) })
	id := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
	const n = 30
	started := make(chan int64, n)
	b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		started <- req.LogID
		return yes, nil
	}
	for i := range n {
		engine := []*Engine{b.engine, other}[i%2]
		if _, err := engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		select {
		case run := <-started:
			select {
			case second := <-started:
				t.Fatalf("run %d was started while %d had not ended", second, run)
			default:
			}
			engine := []*Engine{b.engine, other}[i%2]
			if err := engine.Complete(t.Context(), []wire.Callback{{LogID: run, HandleCode: 200}}); err != nil {
				t.Fatal(err)
			}
		case <-time.After(executortest.Patience):
			t.Fatalf("only %d of %d ran: %s", i, n, b.dump())
		}
	}
}

func TestARetryWaitsAsTheJobSays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.RetryBackoff = 2, "1s,1h" })
		first := b.trigger(id)
		b.await("it is sent", func() bool { return b.run(first).TriggerCode == 200 })
		failed := time.Now()
		b.finish(first, 500, "")
		b.await("the first retry is sent", func() bool { runs := b.allRuns(); return len(runs) == 2 && runs[1].TriggerCode == 200 })
		if waited := b.executors.received()[1].at.Sub(failed); waited < time.Second {
			t.Errorf("the first retry waited %s, want 1 s", waited)
		}
		b.finish(b.allRuns()[1].ID, 500, "")
		last := b.allRuns()[2]
		if wait := time.Until(time.UnixMilli(last.PlannedAt)); wait < 59*time.Minute || wait > time.Hour {
			t.Errorf("the second retry waits %s, want an hour", wait)
		}
	})
}

func TestAJobIsDueInItsOwnZone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		// The next full minute, told by the wall clock of a zone half an hour off the others.
		zone, err := jobspec.Location("Asia/Kolkata")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().In(zone).Add(time.Second).Truncate(time.Second)
		conf := fmt.Sprintf("%d %d %d * * ?", at.Second(), at.Minute(), at.Hour())
		id := b.addJob(func(p *db.InsertJobParams) {
			p.ScheduleType, p.ScheduleConf, p.TimeZone = jobspec.ScheduleCron, db.Text(conf), "Asia/Kolkata"
		})
		b.start(id, at)
		b.await("it is sent", func() bool { runs := b.allRuns(); return len(runs) == 1 && runs[0].TriggerCode == 200 })
		if want := at.AddDate(0, 0, 1).UnixMilli(); b.job(id).TriggerNextTime != want {
			t.Errorf("next time %d, want the same time tomorrow, %d", b.job(id).TriggerNextTime, want)
		}
	})
}

// TestARunKeepsItsSlotWhenAnAdminWouldDiscardItTooLate: of two admins that find the same run waiting, one gives it its slot, and
// the other, which then finds no room, has nothing to discard.
func TestARunKeepsItsSlotWhenAnAdminWouldDiscardItTooLate(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) {
			p.MaxConcurrent, p.ConcurrencyPolicy = 1, string(jobspec.ConcurrencyDiscard)
		})
		run := b.trigger(id)
		b.await("the run is sent", func() bool { return b.run(run).TriggerCode == 200 })
		row, err := b.engine.queries.GetJob(t.Context(), pool, id)
		if err != nil {
			t.Fatal(err)
		}
		b.engine.discard(&dispatch{id: run, owner: waitingOwner, waiting: true, job: jobOf(&row, pool)}, event.New(time.Now(), event.Full, 1, 1))
		if err := b.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if counts, err := db.CountSlots(t.Context(), pool, []int64{id}, 10); err != nil || len(counts) != 1 || counts[0].Running != 1 {
			t.Errorf("slots %+v, want that of the run that goes on: %v", counts, err)
		}
		if code := b.run(run).TriggerCode; code != 200 {
			t.Errorf("trigger code %d", code)
		}
	})
}

// TestWhatBecameOfARunStandsBesideAVainDiscard: an admin may have the same run twice, once as the one that it gave its slot, and
// once as one that it found waiting before that. What becomes of the first is written down although the second is in the same batch.
func TestWhatBecameOfARunStandsBesideAVainDiscard(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		release, open := b.latch()
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			<-release
			return yes, nil
		}
		id := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		run := b.trigger(id)
		b.await("the run is being sent", func() bool { return b.run(run).OwnerNode == b.engine.node.ID() })
		row, err := b.engine.queries.GetJob(t.Context(), pool, id)
		if err != nil {
			t.Fatal(err)
		}
		outcomeOf := func(owner int64) *outcome {
			return &outcome{d: &dispatch{id: run, owner: owner, job: jobOf(&row, pool)}, sent: db.Sent{ID: run, Code: wire.CodeFail, Outcome: event.NotSent}}
		}
		b.engine.recordBatch(t.Context(), []*outcome{outcomeOf(b.engine.node.ID()), outcomeOf(waitingOwner)})
		if r := b.run(run); r.TriggerCode != wire.CodeFail {
			t.Errorf("trigger code %d, want that of the failure", r.TriggerCode)
		}
		open()
	})
}
