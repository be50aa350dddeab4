package scheduler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/sqlite"
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
	r := &room{jobs: map[int64]db.SlotCount{1: {JobID: 1, Waiting: 5}}, groups: map[int64]*groupRoom{7: {running: 1, limit: 4}}}
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
	for _, tt := range []struct {
		name, lose   string
		limit, turns int64 // turns: transactions that give a slot
	}{
		{"it is over", "DELETE FROM punctual_slot WHERE log_id = ?", 2, 1},
		{"it has its slot", "UPDATE punctual_slot SET running = 1, job_id = 99 WHERE log_id = ?", 2, 1},
		{"it is another admin's without a slot", "UPDATE xxl_job_log SET owner_node = 99 WHERE id = ?", 3, 2}, // what lost a run is undone, and it stands in the line for good
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
				job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = tt.limit })
				batch := b.asks(job, 4)
				b.exec(tt.lose, batch[0].d.id)
				b.engine.admitBatch(t.Context(), batch)
				for i, a := range batch {
					<-a.done
					if a.err != nil || a.given != (i == 1 || i == 2) || (a.lacks != nil) != (i == 3) {
						t.Errorf("number %d: given %v, lacks %+v, %v", i, a.given, a.lacks, a.err)
					}
				}
				if a := batch[3]; a.lacks != nil && (a.lacks.running != tt.limit || a.lacks.limit != tt.limit) {
					t.Errorf("the last lacks %+v", *a.lacks)
				}
				const gate = "SELECT turn FROM punctual_gate WHERE job_id = ?"
				b.wantGate(gate, job, tt.turns)
				b.engine.admitBatch(t.Context(), []*admission{{d: batch[3].d, done: make(chan struct{})}})
				b.wantGate(gate, job, tt.turns) // and so is what gives none
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
		})
	}
}

// TestABatchThatConflictsIsGivenItsSlotsAsOne, as often as it does: apart, its runs would conflict with each other, and given up, they would wait beside
// slots that are free.
func TestABatchThatConflictsIsGivenItsSlotsAsOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		batch := b.asks(b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 3 }), 3)
		sent.Refuse("TouchGates", 8, &mysql.MySQLError{Number: 1213})
		b.engine.admitBatch(t.Context(), batch)
		for i, a := range batch {
			if !a.given || a.err != nil {
				t.Errorf("number %d: given %v, %v", i, a.given, a.err)
			}
		}
		if n := len(sent.Transactions("TakeSlots")); n != 1 || !sent.Refused() {
			t.Errorf("%d transactions gave slots; all conflicts have come: %v", n, sent.Refused())
		}
	})
}

// TestARunThatAsksTwiceIsGivenOneSlot: its time came just as it was let try. The second time is no reason to discard it.
func TestARunThatAsksTwiceIsGivenOneSlot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		once := b.asks(b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 }), 1)[0]
		twice := &admission{d: once.d, done: make(chan struct{})}
		b.engine.admitBatch(t.Context(), []*admission{once, twice})
		if !once.given || twice.given || twice.lacks != nil || once.err != nil || twice.err != nil {
			t.Errorf("given %v, and %v with %+v; %v, %v", once.given, twice.given, twice.lacks, once.err, twice.err)
		}
	})
}

// TestWhoFindsAGateLockedKeepsNoWorker: who has locked it may do so for long, and a batch has the runs of other jobs too. What is given up is found again.
func TestWhoFindsAGateLockedKeepsNoWorker(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		batch := b.asks(b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 3 }), 3)
		sent.Refuse("TouchGates", 1, &mysql.MySQLError{Number: 1205})
		b.engine.admitBatch(t.Context(), batch)
		for i, a := range batch {
			if a.given || !db.IsLocked(a.err) {
				t.Errorf("number %d: given %v, %v", i, a.given, a.err)
			}
		}
	})
}

// TestWhatAnUndoneTransactionGaveIsNotGiven at the next attempt, when somebody else has the slot.
func TestWhatAnUndoneTransactionGaveIsNotGiven(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		batch := b.asks(b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 }), 4)
		b.exec("UPDATE xxl_job_log SET owner_node = 99 WHERE id = ?", batch[1].d.id) // another admin's by now
		if err := b.engine.admitOnce(t.Context(), batch[:2]); !errors.Is(err, errRaced) || !batch[0].given {
			t.Fatalf("the first attempt: given %v, %v", batch[0].given, err)
		}
		b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id IN (?, ?)", batch[2].d.id, batch[3].d.id)
		if err := b.engine.admitOnce(t.Context(), batch[:1]); err != nil || batch[0].given || batch[0].lacks == nil {
			t.Errorf("the second: given %v, lacks %+v, %v", batch[0].given, batch[0].lacks, err)
		}
	})
}

// TestARunThatHasEndedTakesNoSlot: the one it waits with is not given back yet.
func TestARunThatHasEndedTakesNoSlot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		a := b.asks(job, 1)[0]
		b.exec("UPDATE xxl_job_log SET handle_code = 500 WHERE id = ?", a.d.id)
		b.engine.admitBatch(t.Context(), []*admission{a})
		if a.given || a.lacks != nil || a.err != nil {
			t.Errorf("given %v, lacks %+v, %v", a.given, a.lacks, a.err)
		}
		row := b.job(job)
		if s, err := b.engine.JobSlots(t.Context(), &row); err != nil || s.Running != 0 {
			t.Errorf("slots of the job: %+v, %v", s, err)
		}
	})
}

// TestWhatHasNoLimitTouchesNoGate, so that nobody waits for anybody: a limit may be taken away while runs wait.
func TestWhatHasNoLimitTouchesNoGate(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		limited := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		batch := slices.Concat(b.asks(b.addJob(nil), 1), b.asks(limited, 1))
		b.engine.admitBatch(t.Context(), batch)
		if !batch[0].given || !batch[1].given {
			t.Fatalf("given %v, %v", batch[0].given, batch[1].given)
		}
		var gates, others, groups int
		if err := pool.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM punctual_gate), (SELECT COUNT(*) FROM punctual_gate WHERE job_id <> ?),
			(SELECT COUNT(*) FROM punctual_group_gate)`, limited).Scan(&gates, &others, &groups); err != nil || gates != 1 || others != 0 || groups != 0 {
			t.Errorf("%d gates of jobs, %d of others than the one with a limit, %d of groups, %v", gates, others, groups, err)
		}
	})
}

// TestOneWhoseSlotIsInDoubtIsLookedFor, and nobody awaits what is known to wait in the database.
func TestOneWhoseSlotIsInDoubtIsLookedFor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		e := b.engine
		d := b.asks(b.addJob(nil), 1)[0].d
		real := e.admitter
		defer func() { e.admitter = real }()
		for _, tt := range []struct {
			name    string
			stopped bool
			answer  func(a *admission, end func()) // what becomes of it while it is awaited
			doubt   bool
		}{
			{name: "the admitter is stopped", stopped: true},
			{name: "it ends while the slot is being given", answer: func(_ *admission, end func()) { end() }, doubt: true},
			{name: "the commit was not confirmed", answer: func(a *admission, _ func()) { a.err = context.DeadlineExceeded; close(a.done) }, doubt: true},
			{name: "it is another's", answer: func(a *admission, _ func()) { close(a.done) }},
		} {
			e.admitter = newBatcher(1, 0, 1, e.admitBatch)
			if !tt.stopped {
				e.admitter.stopc = make(chan struct{})
			}
			ctx, end := context.WithCancel(t.Context())
			mine := make(chan bool)
			go func() { mine <- e.admit(ctx, d) }()
			if tt.answer != nil {
				asked := <-e.admitter.items
				if e.pending.len() != 1 {
					t.Errorf("%s: %d are awaited while it asks", tt.name, e.pending.len())
				}
				tt.answer(asked.item, end)
			}
			if <-mine {
				t.Errorf("%s: it is sent", tt.name)
			}
			end()
			e.pending.mu.Lock()
			if doubt := slices.Contains(e.pending.inDoubt, d.id-1); doubt != tt.doubt || len(e.pending.runs) > 0 {
				t.Errorf("%s: in doubt %v, want %v; %d are awaited", tt.name, doubt, tt.doubt, len(e.pending.runs))
			}
			e.pending.inDoubt = nil
			e.pending.mu.Unlock()
		}
	})
}

// TestNoMoreAreLetTryThanThereIsRoomFor, of a job with a limit of its own.
func TestNoMoreAreLetTryThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 })
		b.wait(job, 5)
		var ids []int64
		for _, r := range b.allRuns() {
			ids = append(ids, r.ID)
		}
		b.exec("UPDATE xxl_job_log SET owner_node = 99 WHERE id = ?", ids[3]) // another admin's by now
		for _, tt := range []struct {
			running int
			ids     []int64
			want    int
		}{{2, ids[2:], 0}, {1, ids[1:], 1}, {1, ids[3:4], 0}, {0, ids[4:], 1}, {0, nil, 0}} {
			b.exec("UPDATE punctual_slot SET running = 0")
			for _, id := range ids[:tt.running] {
				b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id = ?", id)
			}
			if got, err := b.engine.letTry(t.Context(), job, tt.ids, int64(tt.running)); err != nil || got != tt.want {
				t.Errorf("%d run, %d wait: %d were let try, want %d, %v", tt.running, len(tt.ids), got, tt.want, err)
			}
			b.await("they have tried", func() bool { return b.engine.pending.len() == 0 })
		}
	})
}

// TestARunThatIsGivenItsSlotMeanwhileTakesNobodysTurn: it was the next when those that wait were listed, and has its slot when they are let try.
func TestARunThatIsGivenItsSlotMeanwhileTakesNobodysTurn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 })
		b.wait(job, 2)
		first := b.allRuns()[0].ID
		b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id = ?", first)
		b.exec("UPDATE xxl_job_log SET owner_node = ? WHERE id = ?", b.engine.node.ID(), first)
		if tried, err := b.engine.letTry(t.Context(), job, []int64{first, first + 1}, 0); err != nil || tried != 1 {
			t.Errorf("%d were let try, %v", tried, err)
		}
		b.await("the other is sent", func() bool { return b.run(first+1).TriggerCode == wire.CodeSuccess })
	})
}

// TestARunThatWaitedGoesToWhoIsThereThen, not to the executor that was chosen when it was made.
func TestARunThatWaitedGoesToWhoIsThereThen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA, addressB)
		b.wait(b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 }), 1)
		b.exec("UPDATE xxl_job_log SET executor_address = ?", addressA)
		if err := b.engine.Deregister(t.Context(), entry("orders", addressA)); err != nil {
			t.Fatal(err)
		}
		id := b.allRuns()[0].ID
		if err := b.engine.startNext(t.Context(), b.run(id).JobID); err != nil {
			t.Fatal(err)
		}
		b.wantGoing("it runs", id)
		if r := b.run(id); string(r.ExecutorAddress) != addressB {
			t.Errorf("it went to %s", r.ExecutorAddress)
		}
	})
}

func TestWhatWaitsForASlot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		owner, sent, result int64
		want                bool
	}{{waitingOwner, 0, 0, true}, {waitingOwner, 500, 0, false}, {waitingOwner, 0, 500, false}, {3, 0, 0, false}, {0, 0, 0, false}} {
		if got := WaitsForSlot(tt.owner, tt.sent, tt.result); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestHowFullTheLimitOfAJobIs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		for limit, want := range []SlotsTaken{{}, {Limit: 1, Running: 1, Waiting: 2}, {Limit: 2, Running: 1, Waiting: 2}} {
			id := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = int64(limit) })
			b.wait(id, 3)
			b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id = (SELECT id FROM (SELECT MIN(log_id) AS id FROM punctual_slot WHERE job_id = ?) AS f)", id)
			row := b.job(id)
			if got, err := b.engine.JobSlots(t.Context(), &row); err != nil || got != want || got.Full() != (limit == 1) {
				t.Errorf("%+v, full %v, want %+v, %v", got, got.Full(), want, err)
			}
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

// TestWhatABatchGivesHidesNotThatTooManyWait: what waits is counted up to a bound, and of that is taken what the same batch gives slots to.
func TestWhatABatchGivesHidesNotThatTooManyWait(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 })
		batch := b.asks(job, 3)
		steps := make([]db.Slot, maxWaiting+2)
		for i := range steps {
			steps[i] = db.Slot{JobID: job, LogID: 1_000_000 + int64(i), PlannedAt: time.Now().UnixMilli(), GroupID: b.group}
		}
		if err := db.InsertSlots(t.Context(), pool, steps); err != nil {
			t.Fatal(err)
		}
		b.engine.admitBatch(t.Context(), batch)
		if no := batch[2].lacks; !batch[0].given || !batch[1].given || no == nil || no.waiting <= maxWaiting {
			t.Errorf("given %v, %v, and the last lacks %+v", batch[0].given, batch[1].given, no)
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
		for range 2 { // another admin may have ended them
			if err := b.engine.cancelOrphans(t.Context(), []int64{waits + 1000, goes, waits}); err != nil {
				t.Fatal(err)
			}
		}
		if r := b.run(waits); r.Outcome != event.Killed {
			t.Errorf("the one that waits: %v", r.Outcome)
		}
		b.wantGoing("the other goes on", goes)
	})
}

// TestWhereAllSlotsAreTakenNobodyIsLetTry: of a line so many as there is room for, of a job at its limit none, and jobs of which none waits are
// not asked about one by one.
func TestWhereAllSlotsAreTakenNobodyIsLetTry(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.limitGroup(3)
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 2 })
		b.wait(job, 2)
		b.exec("UPDATE punctual_slot SET running = 1")
		b.exec("UPDATE xxl_job_log SET owner_node = 99")
		b.wait(job, 2)
		var asked atomic.Int64
		count := func(query string) { asked.Store(0); sent.Before(query, func() { asked.Add(1) }) }
		if count("ListRunsByID"); b.engine.startNext(t.Context(), job) != nil || asked.Load() != 0 {
			t.Errorf("of a job at its limit runs are let try %d times", asked.Load())
		}
		b.wait(b.addJob(nil), 4)
		if count("ListRunsByID"); b.engine.nextOfGroup(t.Context(), b.group) != nil || asked.Load() != 1 {
			t.Errorf("of a line with room for one runs are let try %d times", asked.Load())
		}
		count("ListWaitingRuns")
		if b.engine.startFreed(t.Context(), freedSlots{jobs: []int64{b.addJob(nil), b.addJob(nil), b.addJob(nil)}}); asked.Load() != 0 {
			t.Errorf("%d jobs of which nothing waits are asked for what does", asked.Load())
		}
	})
}

// TestASweepGoesOnBehindALineThatCannotBeRead, and asks a database that is away for no further one.
func TestASweepGoesOnBehindALineThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.wait(b.addJob(nil), 1)
		b.group = b.addGroup("stock", addressB)
		b.wait(b.addJob(nil), 1)
		var asked atomic.Int64
		broken := errors.New("broken")
		sent.Before("ListWaitingRunsOfGroup", func() { asked.Add(1) })
		sent.Refuse("ListWaitingRunsOfGroup", 1, sqlite.ErrStuck)
		if err := b.engine.sweepGates(t.Context()); !errors.Is(err, sqlite.ErrStuck) || asked.Load() != 1 {
			t.Errorf("a database that is away is asked for %d lines: %v", asked.Load(), err)
		}
		sent.Refuse("ListWaitingRunsOfGroup", 1, broken)
		if err := b.engine.sweepGates(t.Context()); !errors.Is(err, broken) {
			t.Errorf("a line that cannot be read: %v", err)
		}
		b.await("what waits in the other goes", func() bool { return len(b.going()) == 1 })
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
		if rows, err := db.CountSlots(t.Context(), pool, []int64{job}, 10); err != nil || len(rows) != 0 {
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
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
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
