package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestMain checks that no engine of any test leaves a goroutine behind.
func TestMain(m *testing.M) {
	// The tests' database server lives as long as the binary; the engine starts no processes.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/exec.(*Cmd).Wait"))
}

func (b *bundle) stop(e *Engine) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), executortest.Patience)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		b.t.Errorf("stop: %v", err)
	}
}

func TestStartAndStopMayBeCalledTwiceAndByMany(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(nil)
		if err := b.engine.Start(t.Context()); err != nil {
			t.Errorf("a second start: %v", err)
		}
		b.stop(b.engine)
		b.stop(b.engine)
		if err := b.engine.Ready(); err == nil {
			t.Error("a stopped engine says that it is ready")
		}
		if _, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual}); !errors.Is(err, ErrStopping) {
			t.Errorf("a stopped engine triggers: %v", err)
		}
		if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: 1, HandleCode: 200}}); !errors.Is(err, ErrStopping) {
			t.Errorf("a stopped engine takes results: %v", err)
		}
		var many sync.WaitGroup
		for i := range 20 {
			many.Go(func() {
				for range 5 {
					if i%2 == 0 {
						if err := b.engine.Start(t.Context()); err != nil {
							t.Errorf("start: %v", err)
						}
					} else {
						b.stop(b.engine)
					}
				}
			})
			if i%5 == 0 {
				many.Go(func() {
					for range 5 {
						_, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual})
						if err != nil && !errors.Is(err, ErrStopping) {
							t.Errorf("trigger: %v", err)
						}
					}
				})
			}
		}
		many.Wait()
		if err := b.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := b.trigger(id)
		b.await("all are sent", func() bool { return b.unsettled() == 0 && b.run(last).TriggerCode == 200 })
		times := make(map[int64]int)
		for _, r := range b.executors.received() {
			if times[r.req.LogID]++; times[r.req.LogID] > 1 {
				t.Errorf("run %d was sent twice", r.req.LogID)
			}
		}
		b.stop(b.engine)
		if n := b.countRuns("id > 0"); n != len(times) {
			t.Errorf("%d runs and %d sent", n, len(times))
		}
	})
}

func TestAnEngineThatWasNeverStartedRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, nil)
		b.group = b.addGroup("orders", addressA)
		if _, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: b.addJob(nil), Type: jobspec.TriggerManual}); !errors.Is(err, ErrStopping) {
			t.Errorf("trigger: %v", err)
		}
		if n := b.countRuns("id > 0"); n != 0 {
			t.Errorf("%d rows that nobody would send", n)
		}
		if err := b.engine.Ready(); err == nil {
			t.Error("it says that it is ready")
		}
		b.stop(b.engine)
	})
	if _, err := New(Config{}); err == nil {
		t.Error("an engine without a database")
	}
}

func TestADrainSendsWhatIsClaimedAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.RetryBackoff, c.MisfireAfter = time.Hour, time.Hour }, addressA)
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if req.ExecutorParams == "fails" {
				return wire.Answer{Code: 500}, nil
			}
			return yes, nil
		}
		soon := b.addJob(nil)
		planned := time.Now().Add(500 * time.Millisecond).Truncate(time.Millisecond)
		b.start(soon, planned)
		fails := b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam, p.ExecutorFailRetryCount = "fails", 1 })
		b.trigger(fails)
		b.await("the due one is claimed and the other waits for its retry", func() bool {
			return b.countRuns("job_id = ?", soon) == 1 && b.countRuns("trigger_type = 'RETRY'") == 1
		})
		later := b.addJob(nil)
		b.start(later, time.Now().Add(b.engine.cfg.Horizon+time.Hour))
		b.stop(b.engine)
		if n := b.countRuns("job_id = ? AND trigger_code = 200 AND sent_at >= ?", soon, planned.UnixMilli()); n != 1 {
			t.Errorf("what was claimed is not sent at its time: %s", b.dump())
		}
		if n := b.unsettled(); n != 1 {
			t.Errorf("%d runs are unsent, want the retry: %s", n, b.dump())
		}
		nodes, err := b.engine.queries.ListNodes(t.Context(), pool)
		if err != nil || len(nodes) != 1 || nodes[0].State == 1 {
			t.Errorf("the engine did not leave the cluster: %+v, %v", nodes, err)
		}
	})
}

// TestAStopDoesNotWaitForRetries: each that fails is followed by the next, within the horizon, so that it would wait as long as there are any.
func TestAStopDoesNotWaitForRetries(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock() // by which no retry's time comes
		b := setup(t, pool, clock.rule, addressA)
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) { return wire.Answer{Code: 500}, nil }
		b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1_000_000 }))
		b.await("the retry waits", func() bool { return b.engine.timer.len() == 1 })
		if wait := b.engine.cfg.RetryBackoff; wait > b.engine.cfg.Horizon {
			t.Fatalf("a retry waits %v, beyond the horizon of %v", wait, b.engine.cfg.Horizon)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := b.engine.Drain(ctx); err != nil {
			t.Errorf("drain: %v", err)
		}
		b.stop(b.engine)
		if n := b.unsettled(); n != 1 {
			t.Errorf("%d runs are unsent, want the retry: %s", n, b.dump())
		}
		if err := b.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.await("the next start has it", func() bool { return b.engine.timer.len() == 1 })
		b.stop(b.engine)
	})
}

func TestTheShareOfAnAdminThatDrainsIsClaimedByTheOthers(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	b := setup(t, pool, nil, addressA, addressB)
	hangs, open := b.latch()
	b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
		if to.Address == addressB {
			<-hangs
		}
		return yes, nil
	}
	two := b.second(nil)
	b.await("both share the work", func() bool { return len(b.engine.Load().Alive) == 2 && len(two.Load().Alive) == 2 })
	stalls := executortest.NoteStalls()
	defer stalls.End()
	slow := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteLast })
	b.trigger(slow) // which keeps the first admin from being drained
	const jobs = 20 // about half of them the first admin's
	own, ofFirst := b.engine.node.Rank(), []int64(nil)
	for range jobs {
		if id := b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "1" }); own(id) == 0 {
			ofFirst = append(ofFirst, id)
		}
	}
	first := time.Now().Add(time.Second).Truncate(time.Millisecond) // and they are started together, however long it takes to write them down
	b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id <> ?", first.UnixMilli(), slow)
	b.engine.JobsChanged()
	two.JobsChanged()
	b.await("runs are sent", func() bool { return b.countRuns("job_id <> ? AND trigger_code = 200", slow) > jobs })
	began := time.Now()
	drained := make(chan error, 1)
	go func() { drained <- b.engine.Drain(t.Context()) }()
	until := began.Add(3 * time.Second).UnixMilli()
	b.await("the fires of three more seconds are sent", func() bool {
		return b.countRuns("job_id <> ? AND trigger_code = 200 AND planned_at > ? AND planned_at <= ?", slow, until-1000, until) == jobs
	})
	// What a slow machine delays it delays for all of a moment: those that were the other's all the time say by how much. One that stood
	// still between the two delays by that much more.
	runs, sent, late := b.allRuns(), map[int64]int64{}, 0 // the last of the other's, by the moment
	for _, r := range runs {
		if r.JobID != slow && !slices.Contains(ofFirst, r.JobID) {
			sent[r.PlannedAt] = max(sent[r.PlannedAt], r.SentAt)
		}
	}
	for _, r := range runs {
		if last := time.UnixMilli(sent[r.PlannedAt]); slices.Contains(ofFirst, r.JobID) && r.PlannedAt < until && sent[r.PlannedAt] > 0 {
			if at := time.UnixMilli(r.SentAt); at.Sub(last)-stalls.Between(last, at) > 500*time.Millisecond {
				late++
			}
		}
	}
	if late > 0 || len(ofFirst) < 1 {
		t.Errorf("%d fires of the first admin's share of %v came more than 0.5 s after the others: %s", late, ofFirst, b.dump())
	}
	b.await("the other knows that the first is stopping", func() bool { return len(two.Load().Alive) == 1 })
	if living := two.Load().Living; len(living) != 2 {
		t.Errorf("one that is stopping counts as dead: alive are %v", living)
	}
	select {
	case err := <-drained:
		t.Errorf("the first admin was drained meanwhile, so this says nothing: %v", err)
	default:
	}
	open()
	if err := <-drained; err != nil {
		t.Error(err)
	}
	b.stop(b.engine)
	b.await("the other knows that the first has left", func() bool { return len(two.Load().Living) == 1 })
}

// TestAStopThatIsCutShortLosesNothing: the next start of the same engine finds what the first left.
func TestAStopThatIsCutShortLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock() // or its time could have come before the stop
		b := setup(t, pool, clock.rule, addressA)
		id := b.addJob(nil)
		planned := clock.now().Add(1200 * time.Millisecond)
		b.start(id, planned)
		b.await("it is claimed", func() bool { return b.countRuns("id > 0") == 1 })
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.engine.Stop(cut); !errors.Is(err, context.Canceled) {
			t.Errorf("stop: %v, want to hear that something is unsent", err)
		}
		if err := b.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.await("it is found", func() bool { return b.engine.timer.left(clock.now(), 0) == 1 })
		if got := b.executors.received(); len(got) != 0 {
			t.Error("sent before its time")
		}
		clock.pass(planned.Sub(clock.now()))
		b.await("it is sent", func() bool { return b.unsettled() == 0 })
		b.await("nothing is open", func() bool { return b.engine.pending.len() == 0 })
		if got := b.executors.received(); len(got) != 1 {
			t.Errorf("sent %d times, want once", len(got))
		}
		b.stop(b.engine)
	})
}

// TestAStopWaitsForTheCallsUnderWay, also when its time is up: their outcomes are written.
func TestAStopWaitsForTheCallsUnderWay(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		release, open := b.latch()
		called := make(chan struct{})
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			close(called)
			<-release
			return yes, nil
		}
		id := b.trigger(b.addJob(nil))
		<-called
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		stopped := make(chan error)
		go func() { stopped <- b.engine.Stop(ctx) }()
		<-ctx.Done()
		select {
		case err := <-stopped:
			t.Errorf("stopped while a call was under way: %v", err)
		default:
		}
		open()
		<-stopped
		if r := b.run(id); r.TriggerCode != 200 {
			t.Errorf("the outcome of the call is not written: %+v", r)
		}
	})
}

// TestAResultThatComesBeforeTheAdminHasItsPlaceIsAskedForAgain: executors report what they kept while there was no admin as soon as they can,
// which may be before one has joined the cluster. What follows from a result would be nobody's then, and never be sent.
func TestAResultThatComesBeforeTheAdminHasItsPlaceIsAskedForAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		parent, child := b.family(0)
		id := b.trigger(parent)
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
		b.stop(b.engine)
		result := []wire.Callback{{LogID: id, HandleCode: wire.CodeSuccess}}
		early, taken := 0, false
		var second *Engine
		second = newEngine(t, pool, b.executors, func(c *Config) {
			c.slept = func() time.Duration { // which is asked when an admin joins, before it has its place
				if second != nil && second.node.ID() == 0 {
					early++
					taken = second.Complete(t.Context(), result) == nil || taken
				}
				return 0
			}
		})
		b.engine = second
		b.startEngine(second)
		if early == 0 {
			t.Fatal("no result came early")
		}
		if !taken {
			if err := second.Complete(t.Context(), result); err != nil {
				t.Fatal(err)
			}
		}
		b.await("what follows is sent, once", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", child) == 1 })
		if n := b.countRuns("job_id = ?", child); n != 1 {
			t.Errorf("%d runs follow", n)
		}
	})
}
