package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// shortLease has an engine noticed as gone soon.
func shortLease(c *Config) { c.Lease, c.BeatEvery = time.Second, 50*time.Millisecond }

// die ends an engine as a crash would: it claims, beats and starts nothing any more, and it does not say goodbye. What it
// has sent stays sent. Its writers go on until the test ends: what they still write is what the last moment of a crashing
// process could have written, and must do no harm.
func (b *bundle) die(e *Engine) {
	e.mu.Lock()
	defer e.mu.Unlock()
	over, cancel := context.WithCancel(b.t.Context())
	cancel()
	e.started = false
	e.queues.stop()
	e.cancel()
	_ = e.upkeep.Stop(over)
	_ = e.backfills.Stop(over)
	_ = e.node.Stop(over)
	b.t.Cleanup(func() {
		e.draining.Store(true)
		e.queues.wait()
		e.admitter.stop()
		e.beginner.stop()
		e.recorder.stop()
		e.finisher.stop()
		e.wg.Wait()
	})
}

// second starts another engine on the same database, after its own changes to the settings.
func (b *bundle) second(configure func(*Config)) *Engine {
	b.t.Helper()
	two := newEngine(b.t, b.pool, b.executors, func(c *Config) {
		c.Name = "second"
		if configure != nil {
			configure(c)
		}
	})
	b.startEngine(two)
	return two
}

// counter reads one of an engine's counters, or the one with a label of that value.
func counter(t *testing.T, e *Engine, name, label string) float64 {
	t.Helper()
	families, err := e.cfg.Registerer.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != "punctual_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			match := label == ""
			for _, l := range m.GetLabel() {
				match = match || l.GetValue() == label
			}
			if match {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// TestP2TwoAdminsNeverMakeTwoRunsOfOneFire has both believe that they are alone, and claim the same jobs at the same
// moment, again and again. On SQLite there is only ever one admin.
func TestP2TwoAdminsNeverMakeTwoRunsOfOneFire(t *testing.T) {
	t.Parallel()
	const jobs, steps = 80, 40
	clock := newHandClock()
	first := clock.start
	greedy := func(c *Config) {
		byHand(c)
		clock.rule(c) // and they never learn of each other
	}
	b := setup(t, dbtest.New(t, db.MySQL), greedy, addressA, addressB)
	if _, err := b.pool.ExecContext(t.Context(), "DELETE FROM punctual_node"); err != nil {
		t.Fatal(err)
	}
	two := b.second(greedy)
	ids := make([]int64, jobs)
	for i := range ids {
		ids[i] = b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "1" })
	}
	if _, err := b.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?", first.UnixMilli()); err != nil {
		t.Fatal(err)
	}
	for range steps {
		clock.pass(time.Second)
		var both sync.WaitGroup
		for _, e := range []*Engine{b.engine, two} {
			both.Go(func() {
				for range 2 {
					if err := e.claimDue(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		both.Wait()
	}
	clock.pass(10 * time.Second) // what is claimed ahead of time becomes due
	b.await("all are sent", func() bool { return b.unsettled() == 0 })
	for _, id := range ids {
		if n := b.checkFires(id, first); n < steps {
			t.Errorf("job %d: %d fires, want at least %d", id, n, steps)
		}
	}
	owners := b.countRuns("owner_node = ?", two.node.ID())
	conflicts := counter(t, b.engine, "claims_total", "conflict") + counter(t, two, "claims_total", "conflict")
	if all := b.countRuns("id > 0"); owners == 0 || owners == all || conflicts == 0 {
		t.Errorf("%d of %d runs are the second's, with %.0f conflicts: the two did not meet, so the test says nothing", owners, all, conflicts)
	}
	sent := make(map[int64]int)
	for _, r := range b.executors.received() {
		if sent[r.req.LogID]++; sent[r.req.LogID] > 1 {
			t.Errorf("run %d was sent twice", r.req.LogID)
		}
	}
	t.Logf("%d fires, %.0f conflicts", b.countRuns("id > 0"), conflicts)
}

func TestTwoAdminsShareTheJobs(t *testing.T) {
	t.Parallel()
	// No job is ever overdue, or either would take what a slow machine keeps the other from.
	clock := newHandClock()
	quick := func(c *Config) { clock.rule(c); c.BeatEvery = 20 * time.Millisecond }
	b := setup(t, dbtest.New(t, db.MySQL), quick, addressA)
	two := b.second(quick)
	for _, e := range []*Engine{b.engine, two} {
		e.claimer.goBy(newHandClock()) // it stands still, so that nobody is called stuck for being slow
	}
	b.await("each knows of the other", func() bool {
		return len(b.engine.node.Alive()) == 2
	})
	for range 60 {
		b.start(b.addJob(nil), clock.now())
	}
	b.await("all are sent", func() bool { return b.countRuns("trigger_code = 200") == 60 })
	if n := b.countRuns("owner_node = ?", two.node.ID()); n < 10 || n > 50 {
		t.Errorf("the second has %d of 60 runs", n)
	}
	if n := counter(t, b.engine, "claims_total", "conflict") + counter(t, two, "claims_total", "conflict"); n > 5 {
		t.Errorf("%.0f conflicts although the jobs are shared out", n)
	}
}

// TestP3UnsentRunsOfADeadAdminAreTakenOver kills an admin in the middle of its calls. What the executors know afterwards
// decides what becomes of each run.
func TestP3UnsentRunsOfADeadAdminAreTakenOver(t *testing.T) {
	t.Parallel()
	const addressC = "http://10.0.0.3:9999/"
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, shortLease, addressA, addressB)
		lonely := b.addGroup("lonely", addressC)
		var mu sync.Mutex
		calls := make(map[string][]string) // parameter → addresses called
		dead := false
		release, open := b.latch()
		b.executors.run = func(to wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			mu.Lock()
			calls[req.ExecutorParams] = append(calls[req.ExecutorParams], to.Address)
			last := dead
			mu.Unlock()
			if last {
				return yes, nil
			}
			if req.ExecutorParams == "known" {
				b.executors.mu.Lock()
				b.executors.has[req.LogID] = to.Address
				b.executors.mu.Unlock()
			}
			<-release // the admin dies before the answer comes
			return wire.Answer{Code: 500, Msg: "too late"}, nil
		}
		b.executors.beat = func(a string) (wire.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			if a == addressA && !dead {
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: errors.New("refused")}
			}
			return yes, nil
		}
		b.executors.idle = func(a string) (wire.Answer, error) {
			if a == addressB {
				return wire.Answer{Code: 500, Msg: "job thread is running or has trigger queue."}, nil
			}
			return yes, nil
		}
		b.executors.log = func(a string) error {
			if a == addressC {
				return &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: errors.New("silence")}
			}
			return nil
		}
		runs := make(map[string]int64)
		for name, r := range map[string]jobspec.Route{"known": jobspec.RouteFirst, "unknown": jobspec.RouteFirst,
			"busy": jobspec.RouteFailover, "unanswering": jobspec.RouteLast} {
			id := b.addJob(func(p *db.InsertJobParams) {
				p.ExecutorRouteStrategy, p.ExecutorParam = r, db.Text(name)
				if name == "unanswering" {
					p.JobGroup = lonely
				}
			})
			ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual})
			if err != nil {
				t.Fatal(err)
			}
			runs[name] = ids[0]
		}
		b.await("all calls are under way", func() bool { mu.Lock(); defer mu.Unlock(); return len(calls) == 4 })
		var two *Engine
		if pool.Dialect() == db.MySQL {
			two = b.second(shortLease)
		}
		planned := time.Now().Add(3 * time.Second).Truncate(time.Millisecond) // the first dies before it, also on a slow machine
		row, err := b.engine.queries.GetJob(t.Context(), pool, b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam = "future" }))
		if err != nil {
			t.Fatal(err)
		}
		future, err := b.engine.commit(t.Context(), func(tx *sql.Tx) ([]*dispatch, error) {
			d := b.engine.newRuns(jobOf(&row, pool), cause{trigger: jobspec.TriggerCron, planned: planned, param: "future"})
			return d, b.engine.insert(t.Context(), tx, d)
		})
		if err != nil {
			t.Fatal(err)
		}
		runs["future"] = future[0].id

		mu.Lock()
		dead = true
		mu.Unlock()
		beats := func(e *Engine) (n int64) { // it is as late with them as with anything where the machine is busy
			t.Helper()
			if err := pool.QueryRowContext(t.Context(), "SELECT beat FROM punctual_node WHERE id = ?", e.node.ID()).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		died := int64(0)
		if two != nil {
			died = beats(two)
		}
		b.die(b.engine)
		t.Cleanup(open)
		if two == nil { // the next start: nobody else can hold the file
			two = b.second(shortLease)
		}
		b.await("all are settled", func() bool { return b.unsettled() == 0 })
		if n := beats(two) - died; n > int64(10*time.Second/two.cfg.BeatEvery) {
			t.Errorf("taken over after %d beats", n)
		}

		get := func(name string) db.Run {
			r, err := two.queries.GetRun(t.Context(), pool, runs[name])
			if err != nil {
				t.Fatal(err)
			}
			if r.OwnerNode != two.node.ID() {
				t.Errorf("%s: owner %d, want %d", name, r.OwnerNode, two.node.ID())
			}
			return r
		}
		mu.Lock()
		defer mu.Unlock()
		tests := []struct {
			name    string
			code    int64
			address string
			event   event.Key
			calls   string // by both admins
		}{
			{"known", 200, addressA, event.Known, addressA},
			{"unknown", 200, addressA, event.TakenOver, addressA + " " + addressA},
			{"busy", 200, addressB, event.TakenOver, addressB + " " + addressB},
			{"unanswering", 500, addressC, event.MayHave, addressC},
			{"future", 200, addressA, event.TakenOver, addressA},
		}
		for _, tt := range tests {
			r := get(tt.name)
			if r.TriggerCode != tt.code || string(r.ExecutorAddress) != tt.address || !b.has(r.ID, tt.event) {
				t.Errorf("%s: code %d at %s: %s", tt.name, r.TriggerCode, r.ExecutorAddress, r.TriggerMsg)
			}
			if got := strings.Join(calls[tt.name], " "); got != tt.calls {
				t.Errorf("%s: called %s, want %s", tt.name, got, tt.calls)
			}
		}
		if r := get("future"); r.SentAt < planned.UnixMilli() {
			t.Errorf("the future run was sent %d ms before its time", planned.UnixMilli()-r.SentAt)
		}
		if n := counter(t, two, "runs_taken_over_total", ""); n != 5 {
			t.Errorf("%.0f runs counted as taken over, want 5", n)
		}
	})
}

// deadNode inserts a node that will never beat and unsent runs of it.
func (b *bundle) deadNode(runs ...db.NewRun) (node int64) {
	b.t.Helper()
	node, err := b.engine.queries.InsertNode(b.t.Context(), b.pool, db.InsertNodeParams{Name: "dead", BeatAt: time.Now().UnixMilli()})
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range runs {
		runs[i].Owner, runs[i].JobGroup, runs[i].Handler = node, b.group, "handler"
		runs[i].TriggerTime = b.pool.Wall(time.UnixMilli(runs[i].PlannedAt))
	}
	if _, err := db.InsertRuns(b.t.Context(), b.pool, runs); err != nil {
		b.t.Fatal(err)
	}
	return node
}

// TestP3OutcomesOfWhatAStartTakesOverAreRecorded starts many times, because what it takes over is sent in the same moment in
// which the rest of the engine starts.
func TestP3OutcomesOfWhatAStartTakesOverAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil, addressA)
	id := b.addJob(nil)
	for range 150 {
		b.stop(b.engine)
		runs := make([]db.NewRun, 2)
		for i := range runs {
			runs[i] = db.NewRun{JobID: id, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerManual, Address: addressA}
		}
		b.deadNode(runs...)
		b.startEngine(b.engine)
		b.await("all are settled", func() bool { return b.unsettled() == 0 })
	}
}

// TestANodeThatJoinsAnswersForNoOlderRuns keeps a look for what a node left unsent from reading every open run there is.
func TestANodeThatJoinsAnswersForNoOlderRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		old := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.unsettled() == 0 })
		b.stop(b.engine)
		two := b.second(nil)
		nodes, err := two.queries.ListNodes(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		if low := nodes[len(nodes)-1].LowLogID; low != old {
			t.Errorf("the low mark is %d, want %d", low, old)
		}
	})
}

// TestP3SeveralSurvivorsTakeEachRunOnce has three admins find the same node gone at the same moment.
func TestP3SeveralSurvivorsTakeEachRunOnce(t *testing.T) {
	t.Parallel()
	patient := func(c *Config) { c.BeatEvery, c.Lease = time.Hour, 10*time.Hour } // the test looks after the dead
	b := setup(t, dbtest.New(t, db.MySQL), patient, addressA)
	survivors := []*Engine{b.engine, b.second(patient), b.second(patient)}
	id := b.addJob(nil)
	all := 0
	for range 5 {
		runs := make([]db.NewRun, db.MaxBatch)
		for i := range runs {
			runs[i] = db.NewRun{JobID: id, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerManual, Address: addressA}
		}
		dead := b.deadNode(runs...)
		all += len(runs)
		var together sync.WaitGroup
		for _, e := range survivors {
			together.Go(func() {
				if err := e.takeOver(t.Context(), db.Node{ID: dead}); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
		if n := b.countRuns("owner_node = ?", dead); n != 0 {
			t.Errorf("%d runs are still the dead one's", n)
		}
	}
	b.await("all are sent", func() bool { return b.countRuns("trigger_code = 200") == all })
	adopted := 0
	for _, e := range survivors {
		b.await("nothing is open", func() bool { return e.pending.len() == 0 })
		adopted += int(counter(t, e, "runs_taken_over_total", ""))
	}
	if adopted != all {
		t.Errorf("%d runs were taken over, want %d: each by one", adopted, all)
	}
	if n := len(b.executors.received()); n != all {
		t.Errorf("executor received %d requests, want %d", n, all)
	}
}

// TestP3OnlyWhatIsStillTheDeadOnesIsTakenOver has another admin take one of three runs between the look at them and the taking. Who
// takes the others over answers for them from the same commit on, so that they are found should it die too.
func TestP3OnlyWhatIsStillTheDeadOnesIsTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.BeatEvery, c.Lease = time.Hour, 10*time.Hour }, addressA)
		id, later := b.addJob(nil), time.Now().Add(time.Hour).UnixMilli()
		dead := db.Node{ID: b.deadNode(
			db.NewRun{JobID: id, PlannedAt: later, Type: jobspec.TriggerCron}, db.NewRun{JobID: id, PlannedAt: later, Type: jobspec.TriggerCron},
			db.NewRun{JobID: id, PlannedAt: later, Type: jobspec.TriggerCron},
		)}
		rows, err := b.engine.queries.ListUnsentRunsOfNode(t.Context(), pool, db.ListUnsentRunsOfNodeParams{OwnerNode: dead.ID, Limit: 10})
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d runs: %v", len(rows), err)
		}
		const other = 77
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET owner_node = ? WHERE id = ?", other, rows[1].ID); err != nil {
			t.Fatal(err)
		}
		me := b.engine.node.ID()
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_node SET low_log_id = ? WHERE id = ?", rows[2].ID+1000, me); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.adopt(t.Context(), dead, rows); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{me, other, me} {
			if r := b.run(rows[i].ID); r.OwnerNode != want || b.has(r.ID, event.TakenOver) != (want == me) {
				t.Errorf("run %d is of %d, want %d: %s", i, r.OwnerNode, want, r.TriggerMsg)
			}
		}
		if n := b.engine.timer.len(); n != 2 {
			t.Errorf("%d runs wait for their time, want 2", n)
		}
		var mark int64
		if err := pool.QueryRowContext(t.Context(), "SELECT low_log_id FROM punctual_node WHERE id = ?", me).Scan(&mark); err != nil || mark != rows[0].ID {
			t.Errorf("its mark is %d, want %d: %v", mark, rows[0].ID, err)
		}
	})
}

func TestP3OneOfSeveralDeclaresANodeGone(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.MySQL), shortLease, addressA)
	engines := []*Engine{b.engine, b.second(shortLease), b.second(shortLease)}
	b.deadNode(db.NewRun{JobID: b.addJob(nil), PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerManual, Address: addressA})
	b.await("its run is sent", func() bool { return b.countRuns("trigger_code = 200") == 1 })
	// Where the machine stands still for a lease, one of the three is declared gone too.
	b.await("each node that is gone was declared so by exactly one", func() bool {
		found := 0.0
		for _, e := range engines {
			found += counter(t, e, "nodes_gone_total", "")
		}
		var gone int
		if err := b.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_node WHERE state <> 1").Scan(&gone); err != nil {
			t.Fatal(err)
		}
		return gone > 0 && found == float64(gone)
	})
}

// TestP3ARunThatWaitedForASlotIsTakenOverToo: its id may be far below the mark that the dead admin left last.
func TestP3ARunThatWaitedForASlotIsTakenOverToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, shortLease, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		first := b.trigger(id)
		b.await("the first runs", func() bool { return b.run(first).TriggerCode == 200 })
		waits := b.trigger(id)
		release, open := b.latch()
		var calls atomic.Int64
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			if calls.Add(1) == 1 {
				<-release
			}
			return yes, nil
		}
		b.finish(first, 200, "")
		b.await("the second is being sent", func() bool { return calls.Load() == 1 })
		if low := b.engine.pending.low(); low > waits {
			t.Errorf("low mark %d is above the run %d that is being sent", low, waits)
		}
		b.die(b.engine)
		t.Cleanup(open)
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_node SET low_log_id = 1000"); err != nil {
			t.Fatal(err)
		}
		b.second(shortLease)
		b.await("it is sent by the second admin", func() bool { return b.run(waits).TriggerCode == 200 })
	})
}

func TestP3WhatIsTakenOverTooLateFollowsTheMisfireStrategy(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, shortLease, addressA)
		nothing := b.addJob(nil)
		once := b.addJob(func(p *db.InsertJobParams) { p.MisfireStrategy = jobspec.MisfireFireOnceNow })
		long := time.Now().Add(-10 * time.Minute).UnixMilli()
		late := func(id, at int64, trigger jobspec.TriggerType) db.NewRun {
			return db.NewRun{JobID: id, PlannedAt: at, Type: trigger, Address: addressA}
		}
		b.deadNode(late(nothing, long, jobspec.TriggerCron), late(nothing, time.Now().UnixMilli(), jobspec.TriggerCron),
			late(once, long, jobspec.TriggerCron), late(nothing, long, jobspec.TriggerManual), late(4711, long, jobspec.TriggerCron))
		b.await("all are settled", func() bool { return b.unsettled() == 0 })
		rows := b.allRuns()
		for i, want := range []int64{500, 200, 200, 200, 200} {
			if rows[i].TriggerCode != want {
				t.Errorf("run %d: code %d, want %d: %s", i, rows[i].TriggerCode, want, rows[i].TriggerMsg)
			}
		}
		if rows[0].Outcome != event.Skipped || !b.has(rows[0].ID, event.TooLate) {
			t.Errorf("%+v does not give the reason", rows[0])
		}
	})
}

// TestP3AFencedAdminSendsNothing takes the lease away: first it cannot be renewed, then the admin is declared gone.
func TestP3AFencedAdminSendsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.BeatEvery, c.Lease = time.Hour, 1500*time.Millisecond }, addressA)
		old := b.engine.node.ID()
		id := b.addJob(nil)
		b.await("the lease has run out", func() bool { return !b.engine.node.MayAct() })
		if err := b.engine.Ready(); err == nil {
			t.Error("the engine says that it is ready")
		}
		b.start(id, time.Now())
		if err := b.engine.claimDue(t.Context()); err != nil { // as a round does that began in time and was held up
			t.Error(err)
		}
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual})
		if err != nil {
			t.Fatal(err)
		}
		put := time.Now()
		b.await("the run has been put back some times", func() bool { return time.Since(put) > 2*putBack })
		if n := len(b.executors.received()); n != 0 {
			t.Errorf("%d runs were sent without a lease", n)
		}
		if n := b.countRuns("id > 0"); n != 1 {
			t.Errorf("%d runs, want the one by hand: a due job was claimed without a lease", n)
		}
		if n, err := b.engine.queries.RetireNode(t.Context(), pool, db.RetireNodeParams{ID: old, Beat: 1}); err != nil || n != 1 {
			t.Fatalf("retire: %d, %v", n, err)
		}
		b.engine.node.BeatSoon()
		b.await("the admin goes on under another id than that which was declared gone", func() bool { return b.engine.node.ID() != old })
		me := b.engine.node.ID()
		b.await("the run is sent by its new self", func() bool {
			r, _ := b.engine.queries.GetRun(t.Context(), pool, ids[0])
			return r.TriggerCode == 200 && r.OwnerNode == me
		})
		sent := 0
		for _, r := range b.executors.received() {
			if r.req.LogID == ids[0] {
				sent++
			}
		}
		if sent != 1 {
			t.Errorf("the run was sent %d times", sent)
		}
	})
}

// TestP3RunsOfAnEarlierIDAreNotSent looks at what is on its way through the engine when it is declared gone.
func TestP3RunsOfAnEarlierIDAreNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		row, err := b.engine.queries.GetJob(t.Context(), pool, b.addJob(nil))
		if err != nil {
			t.Fatal(err)
		}
		d, err := b.engine.commit(t.Context(), func(tx *sql.Tx) ([]*dispatch, error) {
			runs := b.engine.newRuns(jobOf(&row, pool), cause{trigger: jobspec.TriggerCron, planned: time.Now().Add(200 * time.Millisecond)})
			runs[0].owner = 4711
			return runs, b.engine.insert(t.Context(), tx, runs)
		})
		if err != nil {
			t.Fatal(err)
		}
		b.await("its time has come and nothing is open", func() bool { return time.Now().After(d[0].at) && b.engine.pending.len() == 0 })
		if n := len(b.executors.received()); n != 0 {
			t.Error("the run was sent")
		}
		ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
		defer cancel()
		if err := b.engine.Stop(ctx); err != nil {
			t.Errorf("the engine cannot be drained: %v", err)
		}
	})
}

func TestOutcomesOfRunsThatWereTakenOverAreDropped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		release, open := b.latch()
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			<-release
			return wire.Answer{Code: 500, Msg: "no"}, nil
		}
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 3 })
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual})
		if err != nil {
			t.Fatal(err)
		}
		b.await("the call is under way", func() bool { _, n := b.engine.queues.depth(); return n == 1 })
		if _, err := b.engine.queries.TakeOverRuns(t.Context(), pool, db.TakeOverRunsParams{NewOwner: 4711, OldOwner: b.engine.node.ID(), Ids: ids}); err != nil {
			t.Fatal(err)
		}
		open()
		b.await("the outcome is dealt with", func() bool { return b.engine.pending.len() == 0 })
		runs := b.allRuns()
		if len(runs) != 1 || runs[0].TriggerCode != 0 || runs[0].OwnerNode != 4711 {
			t.Errorf("another's run was changed: %s", b.dump())
		}
	})
}
