package scheduler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// asks are runs of a job that wait for a slot, each as it asks for one.
func (b *bundle) asks(job int64, n int) []*admission {
	b.t.Helper()
	b.wait(job, n)
	var ids []int64
	for _, r := range b.allRuns() {
		if r.JobID == job {
			ids = append(ids, r.ID)
		}
	}
	rows, err := b.engine.queries.ListRunsByID(b.t.Context(), b.pool, ids)
	if err != nil {
		b.t.Fatal(err)
	}
	row := b.job(job)
	j := jobOf(&row, b.pool)
	asks := make([]*admission, len(rows))
	for i := range rows {
		d := b.engine.adopted((*db.ListUnsentRunsOfNodeRow)(&rows[i]), waitingOwner, j)
		d.taken, d.waiting, d.waited = false, true, true
		asks[i] = &admission{d: d, done: make(chan struct{})}
	}
	return asks
}

// wantGate checks that a transaction which gives slots has touched the row of its limit, for which one of another admin would wait.
func (b *bundle) wantGate(query string, id, turn int64) {
	b.t.Helper()
	var got int64
	if err := b.pool.QueryRowContext(b.t.Context(), query, id).Scan(&got); err != nil || got != turn {
		b.t.Errorf("%s of %d: turn %d, want %d: %v", query, id, got, turn, err)
	}
}

func TestABatchTakesNoMoreSlotsThanThereAre(t *testing.T) {
	t.Parallel()
	both, free := &job{id: 1, group: 7, limit: 2}, &job{id: 2, group: 7}
	r := &room{jobs: map[int64]db.CountSlotsRow{1: {JobID: 1, Waiting: 5}}, groups: map[int64]*groupRoom{7: {running: 1, limit: 4}}}
	for i, want := range []struct {
		j     *job
		lacks lack
	}{
		{j: both},
		{j: both},
		{both, lack{running: 2, limit: 2, waiting: 3}},
		{j: free},
		{free, lack{group: true, running: 4, limit: 4, waiting: -1}}, // nobody counted those of this job
		{both, lack{running: 2, limit: 2, waiting: 3}},
	} {
		if got := r.take(&dispatch{job: want.j}); got == nil && want.lacks != (lack{}) || got != nil && *got != want.lacks {
			t.Errorf("number %d gets none because of %+v, want %+v", i, got, want.lacks)
		}
	}
}

// TestWhoLosesARunKeepsNoOtherFromItsSlot: another admin gave one of a batch its slot, or discarded it.
func TestWhoLosesARunKeepsNoOtherFromItsSlot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 })
		batch := b.asks(job, 4)
		b.exec("DELETE FROM punctual_slot WHERE log_id = ?", batch[0].d.id)
		b.engine.admitBatch(t.Context(), batch)
		for i, a := range batch {
			<-a.done
			if a.err != nil || a.given != (i == 1 || i == 2) || (a.lacks != nil) != (i == 3) {
				t.Errorf("number %d: given %v, lacks %+v, %v", i, a.given, a.lacks, a.err)
			}
		}
		if a := batch[3]; a.lacks != nil && *a.lacks != (lack{running: 2, limit: 2, waiting: 1}) {
			t.Errorf("the last lacks %+v", *a.lacks)
		}
		const gate = "SELECT turn FROM punctual_gate WHERE job_id = ?"
		b.wantGate(gate, job, 3) // what lost a run is undone
		b.engine.admitBatch(t.Context(), []*admission{{d: batch[3].d, done: make(chan struct{})}})
		b.wantGate(gate, job, 4)
		ended, end := context.WithCancel(t.Context())
		end()
		again := &admission{d: batch[3].d, done: make(chan struct{})}
		b.engine.admitBatch(ended, []*admission{again})
		if !errors.Is(again.err, context.Canceled) || again.given {
			t.Errorf("without a database: given %v, %v", again.given, again.err)
		}
		if b.engine.admit(t.Context(), batch[0].d) || b.engine.pending.len() != 0 {
			t.Errorf("the one that is another's is sent, or %d are awaited", b.engine.pending.len())
		}
	})
}

// TestWhatWaitsWithTooManyIsDiscarded also where the job lets its runs wait.
func TestWhatWaitsWithTooManyIsDiscarded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		waits := b.asks(b.addJob(nil), 3)
		no := lack{running: 1, limit: 1, waiting: maxWaiting}
		b.engine.noSlot(t.Context(), waits[0].d, no)
		no.waiting++
		b.engine.noSlot(t.Context(), waits[1].d, no)
		no.group = true
		b.engine.noSlot(t.Context(), waits[2].d, no)
		for i, key := range []event.Key{event.Crowded, event.GroupCrowded} {
			r := b.ended(waits[i+1].d.id)
			e, ok := b.events(r.ID).Last(key)
			if r.Outcome != event.Discarded || !ok || e.Number(0) != 1 || e.Number(1) != 1 || e.Number(2) != maxWaiting+1 {
				t.Errorf("run %d: %v, %s", i, r.Outcome, b.events(r.ID))
			}
		}
		if r := b.run(waits[0].d.id); r.Outcome != event.Open || r.TriggerCode != 0 {
			t.Errorf("the last that may wait: %+v", r)
		}
	})
}

// TestAShardThatWaitedGoesToItsOwnExecutor, even if that has left: another has a shard of its own.
func TestAShardThatWaitedGoesToItsOwnExecutor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA, addressB)
		b.trigger(b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorRouteStrategy, p.MaxConcurrent = jobspec.RouteShardingBroadcast, 1
		}))
		b.await("one shard runs and the other waits", func() bool { return len(b.going()) == 1 && b.engine.pending.len() == 0 })
		first := b.run(b.going()[0])
		address := addressA
		if first.ExecutorAddress == addressA {
			address = addressB
		}
		if err := b.engine.Deregister(t.Context(), entry("orders", address)); err != nil {
			t.Fatal(err)
		}
		b.finish(first.ID, 200, "")
		b.await("the other runs", func() bool { return len(b.going()) == 1 })
		if r := b.run(b.going()[0]); string(r.ExecutorAddress) != address {
			t.Errorf("it went to %s, not to %s", r.ExecutorAddress, address)
		}
	})
}

func TestTheNextOfAGroupAreFoundOnceMoreWhereOneEndedMeanwhile(t *testing.T) {
	t.Parallel()
	var n nexts
	for i, want := range []bool{true, false, true, true, false, false, true} {
		do := []func(int64) bool{n.begin, n.begin, func(int64) bool { return n.begin(8) }, n.again, n.again, func(int64) bool { return n.begin(8) }, n.begin}[i]
		if got := do(7); got != want {
			t.Errorf("number %d: %v", i, got)
		}
	}
}

// TestTheRunsThatADeletedJobLeftWaitingAreEnded: those and no others, also where one is not there any more.
func TestTheRunsThatADeletedJobLeftWaitingAreEnded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		goes := b.trigger(b.addJob(nil))
		b.wantGoing("one runs", goes)
		b.wait(goes+1000, 1)
		waits := goes + 1
		if err := b.engine.cancelOrphans(t.Context(), []int64{waits + 1000, goes, waits}); err != nil {
			t.Fatal(err)
		}
		if r := b.run(waits); r.Outcome != event.Killed {
			t.Errorf("the one that waits: %v", r.Outcome)
		}
		b.wantGoing("the other goes on", goes)
	})
}

func TestASweepFreesTheSlotsOfRunsThatAreOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		for range 2 { // a crash between two of them left these
			id := b.trigger(b.addJob(nil))
			b.wantGoing("it runs", id)
			b.finish(id, 200, "")
			if err := db.InsertSlots(t.Context(), pool, []db.Slot{{JobID: job, LogID: id, GroupID: b.group}}); err != nil {
				t.Fatal(err)
			}
			b.exec("UPDATE punctual_slot SET running = 1")
		}
		if err := b.engine.sweepGates(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows, err := b.engine.queries.CountSlots(t.Context(), pool, []int64{job}); err != nil || len(rows) != 0 {
			t.Errorf("slots left: %+v, %v", rows, err)
		}
	})
}

// TestNoRunThatGoesOnGivesItsSlotBack to whoever wanted to end it and came too late. What is over does, and what is deleted.
func TestNoRunThatGoesOnGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(nil)
		b.wait(job, 5)
		var ids []int64
		for _, r := range b.allRuns() {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id <> ?", ids[0])
		b.exec("UPDATE xxl_job_log SET trigger_code = 200 WHERE id IN (?, ?)", ids[1], ids[2])
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id = ?", ids[2])
		b.exec("UPDATE xxl_job_log SET trigger_code = 500 WHERE id = ?", ids[3])
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", ids[4])
		n, err := b.engine.queries.FreeSlots(t.Context(), pool, ids)
		if err != nil || n != 3 {
			t.Errorf("%d slots are given back, want 3: %v", n, err)
		}
		left, err := b.engine.queries.ListSlotGroups(t.Context(), pool, ids)
		slices.SortFunc(left, func(a, c db.ListSlotGroupsRow) int { return cmp.Compare(a.LogID, c.LogID) })
		if err != nil || len(left) != 2 || left[0].LogID != ids[0] || left[1].LogID != ids[1] {
			t.Errorf("slots are left of %+v, want those of %v: %v", left, ids[:2], err)
		}
	})
}

// TestTheNextOfSeveralJobsGo where the ends of their runs came together.
func TestTheNextOfSeveralJobsGo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		var first, next []int64
		var ends []wire.Callback
		for range 3 {
			job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
			id := b.trigger(job)
			first, ends = append(first, id), append(ends, wire.Callback{LogID: id, HandleCode: 200})
			b.wantGoing("one of each runs", first...)
		}
		for _, id := range first[:2] {
			next = append(next, b.trigger(b.run(id).JobID))
		}
		b.await("one of each of two waits", func() bool { return b.engine.pending.len() == 0 })
		if err := b.engine.Complete(t.Context(), ends); err != nil {
			t.Fatal(err)
		}
		b.wantGoing("the next run", next...)
	})
}

// TestWhoIsInNoLineIsBehindNobody: the row of a run that an admin of before made, or whose job has moved, is none of the group's.
func TestWhoIsInNoLineIsBehindNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		b.limitGroup(1)
		first, job := b.addJob(nil), b.addJob(nil)
		b.wait(first, 1)
		a := b.asks(job, 1)[0]
		if err := b.engine.admitOnce(t.Context(), []*admission{a}); err != nil || a.given || a.lacks == nil || *a.lacks != (lack{group: true, behind: true, running: 1, limit: 1, waiting: 1}) {
			t.Errorf("behind another: given %v, lacks %+v, %v", a.given, a.lacks, err)
		}
		b.exec("UPDATE punctual_slot SET group_id = 0 WHERE job_id = ?", job)
		if err := b.engine.admitOnce(t.Context(), []*admission{a}); err != nil || !a.given {
			t.Errorf("in no line: given %v, lacks %+v, %v", a.given, a.lacks, err)
		}
	})
}

// TestALineHasNoMoreOfAJobThanItMay start beside what it has, however many of it are in it.
func TestALineHasNoMoreOfAJobThanItMay(t *testing.T) {
	t.Parallel()
	l := &line{room: make(map[int64]int64)}
	limited, free := db.ListWaitingRunsOfGroupRow{JobID: 1, Most: 3, Running: 1}, db.ListWaitingRunsOfGroupRow{JobID: 2}
	for i, want := range []bool{false, false, true, true} {
		if got := l.full(limited); got != want || l.full(free) {
			t.Errorf("number %d: %v, want %v, or the job without a limit has as many as it may", i, got, want)
		}
	}
}
