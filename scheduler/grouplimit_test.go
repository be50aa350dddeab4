package scheduler

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// limitGroup says how many runs the group of the engine's jobs may have at a time.
func (b *bundle) limitGroup(most int64, engines ...*Engine) {
	b.t.Helper()
	if err := b.engine.queries.SetGroupOptions(b.t.Context(), b.pool, db.SetGroupOptionsParams{AppName: "orders", MaxRunning: most}); err != nil {
		b.t.Fatal(err)
	}
	for _, e := range append(engines, b.engine) {
		if err := e.GroupsChanged(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
}

// going are the runs that are sent and have no result, in their order.
func (b *bundle) going() (ids []int64) {
	for _, r := range b.allRuns() {
		if r.TriggerCode == wire.CodeSuccess && r.HandleCode == 0 {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// wantGoing waits until these runs are sent and have no result, and no others.
func (b *bundle) wantGoing(what string, want ...int64) {
	b.t.Helper()
	b.await(what, func() bool { return slices.Equal(b.going(), want) })
}

func TestTheLimitOfAGroupHoldsForAllItsJobs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		b.limitGroup(2)
		jobs := []int64{b.addJob(nil), b.addJob(nil), b.addJob(nil)}
		ids := []int64{b.trigger(jobs[0]), b.trigger(jobs[1])}
		b.wantGoing("two run", ids...)
		for i := range 4 {
			ids = append(ids, b.trigger(jobs[i%3]))
		}
		b.await("the others wait", func() bool { return b.engine.pending.len() == 0 }) // or one whose time comes just then may be first
		if s, err := b.engine.GroupSlots(t.Context(), b.group); err != nil || s != (SlotsTaken{Limit: 2, Running: 2, Waiting: 4}) || !s.Full() {
			t.Errorf("slots of the group: %+v, %v", s, err)
		}
		for i, id := range ids {
			if r := b.run(id); WaitsForSlot(r.OwnerNode, int64(r.TriggerCode), int64(r.HandleCode)) != (i > 1) {
				t.Errorf("run %d waits: %v", i, WaitsForSlot(r.OwnerNode, int64(r.TriggerCode), int64(r.HandleCode)))
			}
		}
		for i := range ids {
			b.finish(ids[i], 200, "")
			b.wantGoing("the next in line has the slot", ids[i+1:min(i+3, len(ids))]...)
		}
		for _, id := range ids {
			want := 1
			if id == ids[0] || id == ids[1] {
				want = 0
			}
			if waited := b.events(id).All(event.GroupWaited); len(waited) != want {
				t.Errorf("run %d: it waited: %v", id, waited)
			}
		}
		if n := len(b.executors.received()); n != len(ids) {
			t.Errorf("%d requests for %d runs", n, len(ids))
		}
		if rows, err := b.engine.queries.CountGroupSlots(t.Context(), pool, []int64{b.group}); err != nil || len(rows) != 0 {
			t.Errorf("slots left: %+v, %v", rows, err)
		}
		if s, err := b.engine.GroupSlots(t.Context(), b.group); err != nil || s != (SlotsTaken{Limit: 2}) || s.Full() {
			t.Errorf("slots of the group: %+v, %v", s, err)
		}
		b.wantGate("SELECT COUNT(*) FROM punctual_group_gate WHERE turn > 1 AND group_id = ?", b.group, 1)
		b.limitGroup(0)
		if s, err := b.engine.GroupSlots(t.Context(), b.group); err != nil || s != (SlotsTaken{}) || s.Full() {
			t.Errorf("slots of a group without a limit: %+v, %v", s, err)
		}
	})
}

// TestAJobAtItsOwnLimitLetsTheOthersOfItsGroupPass: what waits for its job is not what waits for the group.
func TestAJobAtItsOwnLimitLetsTheOthersOfItsGroupPass(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.limitGroup(2)
		alone := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		other := b.addJob(nil)
		first, blocker := b.trigger(alone), b.trigger(other)
		b.wantGoing("both run", first, blocker)
		var behind []int64
		for range 2 * nextRuns {
			behind = append(behind, b.trigger(alone))
		}
		last := b.trigger(other)
		b.await("the others wait", func() bool { return b.engine.pending.len() == 0 })
		b.finish(blocker, 200, "")
		b.wantGoing("the one whose job has room runs", first, last)
		b.finish(first, 200, "")
		b.wantGoing("then the first of those that waited for their job", behind[0], last)
	})
}

func TestAJobThatDiscardsDoesSoAtTheLimitOfItsGroupToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.limitGroup(1)
		first := b.trigger(b.addJob(nil))
		b.wantGoing("one runs", first)
		id := b.trigger(b.addJob(func(p *db.InsertJobParams) {
			p.MaxConcurrent, p.ConcurrencyPolicy, p.ExecutorFailRetryCount = 3, string(jobspec.ConcurrencyDiscard), 2
		}))
		b.await("the other is discarded", func() bool { return b.run(id).Outcome == event.Discarded })
		if n := len(b.allRuns()); n != 2 {
			t.Errorf("it is tried again: there are %d runs", n)
		}
		if e, ok := b.events(id).Last(event.GroupFull); !ok || e.Number(0) != 1 || e.Number(1) != 1 {
			t.Errorf("why: %+v", b.events(id))
		}
	})
}

// TestALimitOfAGroupThatIsRaisedOrTakenAwayLetsThoseGoThatWait without anything having to end.
func TestALimitOfAGroupThatIsRaisedOrTakenAwayLetsThoseGoThatWait(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		job := b.addJob(nil)
		ids := []int64{b.trigger(job)}
		b.wantGoing("one runs", ids[0])
		for range 4 {
			ids = append(ids, b.trigger(job))
		}
		b.await("the others wait", func() bool { return b.engine.pending.len() == 0 })
		b.limitGroup(3)
		b.wantGoing("three run", ids[:3]...)
		b.limitGroup(0)
		b.wantGoing("all run", ids...)
		for _, id := range ids {
			b.finish(id, 200, "")
		}
		if n := b.countRuns("handle_code = 200"); n != len(ids) {
			t.Errorf("%d of %d ended: %s", n, len(ids), b.dump())
		}
	})
}

// TestTheRunOfAFlowTakesNoSlotOfItsGroup: its steps do, one of which would wait for it for ever.
func TestTheRunOfAFlowTakesNoSlotOfItsGroup(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.limitGroup(1)
		step := b.addJob(nil)
		flows := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "a", Job: &flow.JobRef{ID: step}}, {ID: "b", Job: &flow.JobRef{ID: step}}}}, nil)
		run := b.trigger(flows)
		for range 2 {
			var going []int64
			b.await("one step runs", func() bool {
				going = slices.DeleteFunc(b.going(), func(id int64) bool { return id == run })
				return len(going) == 1
			})
			b.finish(going[0], 200, "")
		}
		if r := b.ended(run); r.HandleCode != 200 {
			t.Errorf("the run of the flow: %+v", r)
		}
	})
}

// TestADraftIsTriedAlthoughTheGroupHasAsManyAsItMay: somebody waits for it at a screen.
func TestADraftIsTriedAlthoughTheGroupHasAsManyAsItMay(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.limitGroup(1)
		job := b.addJob(func(p *db.InsertJobParams) { p.GlueType, p.GlueSource = wire.GlueShell, "echo saved" })
		first := b.trigger(job)
		b.wantGoing("one runs", first)
		id := b.try(job, "echo tried")
		b.wantGoing("the draft too", first, id)
	})
}

// TestWhatIsNotSentGivesItsSlotOfTheGroupBack, and so does what is retried: its retry asks for one anew.
func TestWhatIsNotSentGivesItsSlotOfTheGroupBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		release, open := b.latch()
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if req.ExecutorParams == "no" {
				<-release
				return wire.Answer{Code: 500, Msg: "no"}, nil
			}
			return yes, nil
		}
		bad := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam, p.ExecutorFailRetryCount = "no", 2 }))
		b.await("it has the slot", func() bool { return b.run(bad).OwnerNode == b.engine.node.ID() })
		good := b.trigger(b.addJob(nil))
		open()
		b.wantGoing("the other runs", good)
		b.finish(good, 200, "")
		b.await("and the one that is refused is sent three times", func() bool { return b.countRuns("trigger_code = 500") == 3 })
		if rows, err := b.engine.queries.CountGroupSlots(t.Context(), pool, []int64{b.group}); err != nil || len(rows) != 0 {
			t.Errorf("slots left: %+v, %v", rows, err)
		}
	})
}

func TestTheLimitOfAGroupHoldsAcrossAdmins(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	b := setup(t, pool, nil, addressA)
	other := b.second(nil)
	b.limitGroup(2, other)
	jobs := []int64{b.addJob(nil), b.addJob(nil), b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })}
	const n = 30
	started := make(chan int64, n)
	b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		started <- req.LogID
		return yes, nil
	}
	engines := []*Engine{b.engine, other}
	for i := range n {
		if _, err := engines[i%2].Trigger(t.Context(), TriggerRequest{JobID: jobs[i%3], Type: jobspec.TriggerManual}); err != nil {
			t.Fatal(err)
		}
	}
	var open []int64
	for i := range n {
		for len(open) == 0 || len(open) < 2 && i+len(open) < n {
			select {
			case run := <-started:
				open = append(open, run)
				continue
			case <-time.After(executortest.Patience):
				t.Fatalf("only %d of %d ran: %s", i+len(open), n, b.dump())
			}
		}
		select {
		case third := <-started:
			t.Fatalf("run %d was started while %v had not ended", third, open)
		default:
		}
		if err := engines[i%2].Complete(t.Context(), []wire.Callback{{LogID: open[0], HandleCode: 200}}); err != nil {
			t.Fatal(err)
		}
		open = open[1:]
	}
}

// TestALimitIsRaisedWhileTheEngineIsNotStarted, as on a database that is held: what waits goes when it starts.
func TestALimitIsRaisedWhileTheEngineIsNotStarted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.limitGroup(1)
		held := newEngine(t, pool, b.executors, nil)
		if err := held.Arrive(t.Context()); err != nil {
			t.Fatal(err)
		}
		held.Hold()
		b.limitGroup(1, held)
		b.limitGroup(2, held)
		held.wg.Wait()
	})
}

// TestWhatWaitedForALimitThatIsTakenAwayIsNotTooLate: it was told to wait.
func TestWhatWaitedForALimitThatIsTakenAwayIsNotTooLate(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		first := b.trigger(b.addJob(nil))
		b.wantGoing("one runs", first)
		job := b.addJob(nil)
		b.start(job, time.Now())
		var id int64
		b.await("a fire waits", func() bool {
			for _, r := range b.allRuns() {
				if r.JobID == job {
					id = r.ID
				}
			}
			return id != 0 && time.Now().UnixMilli() > b.run(id).PlannedAt && b.engine.pending.len() == 0
		})
		for _, q := range []string{"UPDATE xxl_job_log SET planned_at = planned_at - 120000 WHERE id = ?", "UPDATE punctual_slot SET planned_at = planned_at - 120000 WHERE log_id = ?"} {
			b.exec(q, id)
		}
		b.limitGroup(0)
		b.await("it goes", func() bool { r := b.run(id); return r.TriggerCode != 0 })
		if r := b.run(id); r.TriggerCode != 200 || r.Outcome == event.Skipped {
			t.Errorf("%+v", r)
		}
	})
}

// TestTheEndOfAMovedRun lets the next in line of the group go in which it was given its slot.
func TestTheEndOfAMovedRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		stock := b.addGroup("stock", addressB)
		if err := b.engine.queries.SetGroupOptions(t.Context(), pool, db.SetGroupOptionsParams{AppName: "stock", MaxRunning: 1}); err != nil {
			t.Fatal(err)
		}
		b.limitGroup(1)
		first, job := b.trigger(b.addJob(nil)), b.addJob(nil)
		b.wantGoing("one runs", first)
		moved := b.trigger(job)
		b.await("the other waits", func() bool { return b.engine.pending.len() == 0 })
		b.exec("UPDATE xxl_job_info SET job_group = ? WHERE id = ?", stock, job)
		if err := b.engine.queries.MoveSlots(t.Context(), pool, db.MoveSlotsParams{JobID: job, GroupID: stock}); err != nil {
			t.Fatal(err)
		}
		b.engine.startNextOf(stock)
		b.wantGoing("both run", first, moved)
		next := b.trigger(job)
		b.await("the next waits", func() bool { return b.engine.pending.len() == 0 })
		b.limitGroup(0)
		b.finish(moved, 200, "")
		b.wantGoing("the next runs", first, next)
	})
}

// TestASweepLetsAllGoThatWaitForALimitNoMore, however many these are of one job.
func TestASweepLetsAllGoThatWaitForALimitNoMore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		const n = 5 * nextRuns
		b.wait(b.addJob(nil), n)
		if err := b.engine.sweepGates(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.await("all run", func() bool { return len(b.going()) == n })
	})
}

// TestRunsOfADeletedJobAreNotTheNext of their group: they are ended, and those behind them go.
func TestRunsOfADeletedJobAreNotTheNext(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		first := b.trigger(b.addJob(nil))
		b.wantGoing("one runs", first)
		b.wait(first+1000, 2*nextRuns)
		last := b.trigger(b.addJob(nil))
		b.await("the other waits", func() bool { return b.engine.pending.len() == 0 })
		b.finish(first, 200, "")
		b.wantGoing("the next runs", last)
		if n := b.countRuns("outcome = 6"); n != 2*nextRuns {
			t.Errorf("%d of the deleted job's are ended", n)
		}
	})
}

// wait has runs of a job wait for a slot since an hour.
func (b *bundle) wait(job int64, n int) {
	b.t.Helper()
	at := time.Now().Add(-time.Hour)
	runs := make([]db.NewRun, n)
	for i := range runs {
		runs[i] = db.NewRun{JobGroup: b.group, JobID: job, Type: jobspec.TriggerManual, TriggerTime: b.pool.Wall(at), PlannedAt: at.UnixMilli(), Owner: waitingOwner}
	}
	first, err := db.InsertRuns(b.t.Context(), b.pool, runs)
	if err != nil {
		b.t.Fatal(err)
	}
	slots := make([]db.Slot, n)
	for i := range slots {
		slots[i] = db.Slot{JobID: job, LogID: first + int64(i), PlannedAt: at.UnixMilli(), GroupID: b.group}
	}
	if err := db.InsertSlots(b.t.Context(), b.pool, slots); err != nil {
		b.t.Fatal(err)
	}
}

// TestARetryOfAJobThatMovedCountsWhereItGoes: it was made before, and goes to the executors that it was made for.
func TestARetryOfAJobThatMovedCountsWhereItGoes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery, c.RetryBackoff = time.Hour, 2*time.Second }, addressA)
		stock := b.addGroup("stock", addressB)
		b.limitGroup(1)
		var failed atomic.Bool
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			if failed.CompareAndSwap(false, true) {
				return wire.Answer{Code: 500, Msg: "no"}, nil
			}
			return yes, nil
		}
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 })
		first := b.trigger(job)
		b.await("its retry is made", func() bool { return b.countRuns("trigger_code = 500") == 1 })
		b.exec("UPDATE xxl_job_info SET job_group = ? WHERE id = ?", stock, job)
		if err := b.engine.queries.MoveSlots(t.Context(), pool, db.MoveSlotsParams{JobID: job, GroupID: stock}); err != nil {
			t.Fatal(err)
		}
		b.wantGoing("the retry runs", first+1)
		at := b.run(first + 1)
		rows, err := b.engine.queries.ListSlotGroups(t.Context(), pool, []int64{first + 1})
		if err != nil || len(rows) != 1 || (rows[0].GroupID == b.group) != (at.ExecutorAddress == addressA) {
			t.Errorf("it is at %s, and counts for %+v, %v", at.ExecutorAddress, rows, err)
		}
	})
}

// TestASlotCountsForTheGroupToWhoseExecutorsItsRunGoes, whose job came there after it was made; what gets none stays where it waits.
func TestASlotCountsForTheGroupToWhoseExecutorsItsRunGoes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(2)
		batch := b.asks(b.addJob(nil), 4)
		b.exec("UPDATE punctual_slot SET group_id = 99 WHERE log_id <> ?", batch[3].d.id)
		if err := b.engine.admitOnce(t.Context(), batch[:3]); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{b.group, b.group, 99, b.group} {
			rows, err := b.engine.queries.ListSlotGroups(t.Context(), pool, []int64{batch[i].d.id})
			if err != nil || len(rows) != 1 || rows[0].GroupID != want || batch[i].given != (i < 2) {
				t.Errorf("number %d: given %v, in %+v, want group %d, %v", i, batch[i].given, rows, want, err)
			}
		}
	})
}

// TestAnAlarmOfARunThatWaitedSaysSo: what it waited for is written before it is sent.
func TestAnAlarmOfARunThatWaitedSaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &heard{}
		b := setup(t, pool, func(c *Config) { c.SweepEvery, c.Alarms = time.Hour, alarms }, addressA)
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "no"}, nil
		}
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		b.wait(job, 1)
		if err := b.engine.startNext(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		b.ended(b.allRuns()[0].ID)
		if _, ok := alarms.last().Events.Last(event.Waited); !ok {
			t.Errorf("the alarm says %s", alarms.last().Events)
		}
	})
}

// TestNobodyPassesThoseThatWaitForLonger: a run whose time comes just when a slot is free, and before the first in line has taken it, is put back.
func TestNobodyPassesThoseThatWaitForLonger(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"group", "job"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
				waits, comes := b.addJob(nil), b.addJob(nil)
				if of == "group" {
					b.limitGroup(2)
				} else {
					waits = b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 })
					comes = waits
				}
				b.wait(waits, 3)
				first := b.allRuns()[0].ID
				last := b.trigger(comes)
				b.wantGoing("the first two in line run", first, first+1)
				for i := range int64(2) {
					b.finish(first+i, 200, "")
				}
				b.wantGoing("then the third and the one that came last", first+2, last)
			})
		})
	}
}

// TestThePriorityOfAJobCountsInTheLineOfItsGroup, whatever waits for longer, and also for what comes when a slot is free.
func TestThePriorityOfAJobCountsInTheLineOfItsGroup(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		var jobs []int64
		for _, p := range jobspec.AllPriorities {
			jobs = append(jobs, b.addJob(func(row *db.InsertJobParams) { row.Priority = string(p) }))
		}
		blocker := b.trigger(jobs[2])
		b.wantGoing("one runs", blocker)
		next := make([]int64, len(jobs))
		for i := range jobs { // the lowest first
			next[len(jobs)-1-i] = b.trigger(jobs[len(jobs)-1-i])
		}
		second := b.trigger(jobs[0])
		b.await("the others wait", func() bool { return b.engine.pending.len() == 0 })
		last := blocker
		for _, id := range slices.Insert(next, 1, second) {
			b.finish(last, 200, "")
			b.wantGoing("the next by priority, then by time", id)
			last = id
		}
		b.wait(jobs[2], 1)
		urgent := b.trigger(jobs[1])
		b.finish(last, 200, "")
		b.wantGoing("what is urgent passes what waits", urgent)
	})
}

// TestRunsOfAJobInTwoLinesBlockNobody: one was made before the job was given its priority, or moved, or by an admin that knows of neither. If each was
// put back for the other, they would do so for ever.
func TestRunsOfAJobInTwoLinesBlockNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, made string
		first      int
	}{
		{"of its priority", "UPDATE punctual_slot SET line = 0", 1},
		{"of its group", "UPDATE punctual_slot SET group_id = 0, line = -1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
				b.limitGroup(1)
				job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent, p.Priority = 1, string(jobspec.PriorityHigh) })
				b.wait(job, 1)
				b.exec(c.made)
				runs := []int64{b.allRuns()[0].ID, b.trigger(job)}
				b.wantGoing("the first runs", runs[c.first])
				b.finish(runs[c.first], 200, "")
				b.wantGoing("then the other", runs[1-c.first])
			})
		})
	}
}

// TestOneThatWasLetTryLetsNobodyTry, whatever keeps the first in line from its slot: two that are put back would have each other try without end.
func TestOneThatWasLetTryLetsNobodyTry(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(1)
		b.wait(b.addJob(nil), 1)
		b.exec("UPDATE xxl_job_log SET owner_node = 99") // nobody tries for it
		var tries atomic.Int64
		sent.Before("ListSlotGroups", func() { tries.Add(1) }) // what gives no slot is undone, and leaves no trace
		id := b.trigger(b.addJob(nil))
		b.await("it has tried, and once more", func() bool { return tries.Load() >= 2 })
		if err := b.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := tries.Load(); n != 2 {
			t.Errorf("it was tried for %d times", n)
		}
		if r := b.run(id); r.OwnerNode != waitingOwner {
			t.Errorf("it is of admin %d", r.OwnerNode)
		}
	})
}

// TestNobodyIsLetTryForAGroupThatIsFull, as they would only be put back.
func TestNobodyIsLetTryForAGroupThatIsFull(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(2)
		b.wait(b.addJob(nil), 2)
		b.exec("UPDATE punctual_slot SET running = 1")
		b.exec("UPDATE xxl_job_log SET owner_node = 99")
		b.wait(b.addJob(nil), 2)
		var tries atomic.Int64
		sent.Before("ListSlotGroups", func() { tries.Add(1) })
		if err := b.engine.nextOfGroup(t.Context(), b.group); err != nil {
			t.Error(err)
		}
		if err := b.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := tries.Load(); n != 0 {
			t.Errorf("it was tried for %d times", n)
		}
	})
}

// TestWhereThereIsRoomForAllNobodyIsBehind, also one whose time has not quite come by a clock that was set back since it came.
func TestWhereThereIsRoomForAllNobodyIsBehind(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 })
		b.wait(id, 2)
		b.exec("UPDATE punctual_slot SET planned_at = ?", time.Now().Add(time.Hour).UnixMilli())
		r := &room{jobs: map[int64]db.SlotCount{id: {JobID: id, Waiting: 2}}, behind: make(map[int64]int64)}
		if err := r.lineUpJob(t.Context(), b.engine, pool, &job{id: id, limit: 2}, []int64{b.allRuns()[0].ID}); err != nil || len(r.behind) > 0 {
			t.Errorf("behind: %v, %v", r.behind, err)
		}
	})
}
