package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// killing asks for the end of a run in the background, and gives what became of the wish.
func (b *bundle) killing(e *Engine, logID int64) <-chan error {
	result := make(chan error, 1)
	go func() { result <- e.Kill(context.WithoutCancel(b.t.Context()), logID, "ada") }()
	return result
}

// wished waits until the wish is on record.
func (b *bundle) wished(logID int64) {
	b.t.Helper()
	b.await("the wish is on record", func() bool {
		wishes, err := b.engine.queries.ListKills(b.t.Context(), b.pool, db.ListKillsParams{Limit: 1000})
		return err == nil && len(wishes) == 1 && wishes[0].LogID == logID
	})
}

// ask puts on record that somebody wants a run ended.
func (b *bundle) ask(id int64, at time.Time) {
	b.t.Helper()
	if err := b.engine.queries.InsertKill(b.t.Context(), b.pool, db.InsertKillParams{LogID: id, AskedBy: "ada", AskedAt: at.UnixMilli()}); err != nil {
		b.t.Fatal(err)
	}
}

// carryOut has the wishes carried out that are on record.
func (b *bundle) carryOut() {
	b.t.Helper()
	var work errgroup.Group
	work.SetLimit(asksAtOnce)
	b.engine.carryOut(b.t.Context(), &work)
	_ = work.Wait()
}

// killedUnsent checks that a run was ended by hand, by itself and before it was sent, and that nothing is left of the wish.
func (b *bundle) killedUnsent(logID int64, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	if r := b.run(logID); r.TriggerCode != 500 || r.HandleCode != 0 || r.Outcome != event.Killed || !b.has(logID, event.KilledAt) {
		b.t.Errorf("the run that was to be ended: %s", b.dump())
	}
	for _, sent := range b.executors.received() {
		if sent.req.LogID == logID {
			b.t.Errorf("run %d was sent", logID)
		}
	}
	if wishes, err := b.engine.queries.ListKills(b.t.Context(), b.pool, db.ListKillsParams{Limit: 1000}); err != nil || len(wishes) > 0 {
		b.t.Errorf("wishes left: %v, %v", wishes, err)
	}
}

func TestARunThatIsBeingSentIsKilledWhenTheAnswerIsThere(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer wire.Answer
		err    error
		asked  int // executors asked to end it
	}{
		"accepted": {answer: yes, asked: 1},
		"refused":  {answer: wire.Answer{Code: 500, Msg: "no"}},
		"not sent": {err: &wire.CallError{Err: errors.New("refused")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				answer, open := b.latch()
				arrived := make(chan struct{}, 10)
				b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
					arrived <- struct{}{}
					<-answer
					return tt.answer, tt.err
				}
				id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 3 }))
				<-arrived
				result := b.killing(b.engine, id)
				b.wished(id)
				open()
				if err := <-result; err != nil {
					t.Fatal(err)
				}
				r := b.run(id)
				if r.Outcome != event.Killed || !strings.Contains(string(r.TriggerMsg+"\n"+r.HandleMsg), "killed by ada") || len(b.allRuns()) != 1 || len(b.executors.kills) != tt.asked {
					t.Errorf("%d executors asked, want %d; runs: %s", len(b.executors.kills), tt.asked, b.dump())
				}
				sending := func(e event.Event) bool { return e.Text(1) == event.KilledSending }
				if slices.ContainsFunc(b.events(id).All(event.KilledAt), sending) != (tt.asked == 0) {
					t.Errorf("events: %s", b.events(id))
				}
				if err := b.engine.Kill(t.Context(), id, "bob"); !errors.Is(err, ErrRunNotRunning) {
					t.Errorf("a second kill: %v", err)
				}
			})
		})
	}
}

// TestARunThatIsKilledBeforeItIsSentAgainIsAskedAfter, since it may have come meanwhile; then it is ended where it is.
func TestARunThatIsKilledBeforeItIsSentAgainIsAskedAfter(t *testing.T) {
	t.Parallel()
	for name, came := range map[string]bool{"it has come": true, "it has not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				row, err := b.engine.queries.GetJob(t.Context(), pool, b.addJob(nil))
				if err != nil {
					t.Fatal(err)
				}
				runs, err := b.engine.commit(t.Context(), func(tx *sql.Tx) ([]*dispatch, error) {
					runs := b.engine.newRuns(jobOf(&row, pool), cause{trigger: jobspec.TriggerCron, planned: time.Now().Add(time.Hour)})
					return runs, b.engine.insert(t.Context(), tx, runs)
				})
				if err != nil {
					t.Fatal(err)
				}
				d, run := runs[0], runs[0].id
				d.address, d.called = addressA, time.Now() // as it is when it is to be sent again
				if came {
					b.executors.mu.Lock()
					b.executors.has[run] = addressA
					b.executors.mu.Unlock()
				}
				if !b.engine.pending.kill(run, "ada") {
					t.Fatal("the run is nobody's")
				}
				if !b.engine.settled(&addressQueue{address: b.engine.queueOf(d)}, d) {
					t.Error("it is to be sent")
				}
				b.await("its outcome is known", func() bool { return b.run(run).TriggerCode != 0 })
				if r := b.run(run); (r.TriggerCode == wire.CodeSuccess) != came || (r.Outcome == event.Killed) == came {
					t.Errorf("runs: %s", b.dump())
				}
			})
		})
	}
}

func TestAKillRightAfterTheTriggerEndsTheRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 })
		for range 50 {
			id := b.trigger(job)
			if err := b.engine.Kill(t.Context(), id, "ada"); err != nil {
				t.Fatalf("kill run %d: %v; %s", id, err, b.dump())
			}
			if r := b.run(id); !wasKilled(&r) {
				t.Fatalf("run %d goes on: %s", id, b.dump())
			}
		}
		if n := len(b.allRuns()); n != 50 {
			t.Errorf("%d runs, want 50: none is retried", n)
		}
	})
}

// TestAKillDoesNotWaitForTheResultThatTakesTheSendingAlong: a run that goes on for an hour has none for as long.
func TestAKillDoesNotWaitForTheResultThatTakesTheSendingAlong(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.CarryFor = time.Hour }, addressA)
		id := b.trigger(b.addJob(nil))
		b.await("that it was sent waits to be written", func() bool { return b.engine.carrier.len() == 1 })
		if err := b.engine.Kill(t.Context(), id, "ada"); err != nil {
			t.Fatalf("%v; %s", err, b.dump())
		}
		if r := b.run(id); !wasKilled(&r) || !b.has(id, event.Sent) || len(b.executors.kills) != 1 {
			t.Errorf("%d executors asked; %s", len(b.executors.kills), b.dump())
		}
	})
}

func TestARunThatWaitsForItsTurnIsKilledUnsent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.PerAddress = 1 }, addressA)
		answer, open := b.latch()
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) { <-answer; return yes, nil }
		job, other := b.addJob(nil), b.addJob(nil)
		first := b.trigger(job)
		b.await("the first is under way", func() bool { _, n := b.engine.queues.load(addressA); return n == 1 })
		second, third, fourth := b.trigger(job), b.trigger(other), b.trigger(job)
		b.await("the others wait", func() bool { n, _ := b.engine.queues.load(addressA); return n == 3 })
		b.killedUnsent(third, b.engine.Kill(t.Context(), third, "ada"))
		b.killedUnsent(second, b.engine.Kill(t.Context(), second, "ada"))
		open()
		b.await("the rest is sent", func() bool { return b.run(first).TriggerCode == 200 && b.run(fourth).TriggerCode == 200 })
		b.await("nothing is left", func() bool { return b.engine.pending.len() == 0 })
		if n, m := b.engine.queues.depth(); n != 0 || m != 0 {
			t.Errorf("%d queued and %d under way at the end", n, m)
		}
	})
}

func TestARetryThatWaitsIsKilledByItselfOrByItsParent(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"the retry", "its parent"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.RetryBackoff = 3, "1h" }))
				b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
				b.finish(id, 500, "no")
				runs := b.allRuns()
				if len(runs) != 2 {
					t.Fatalf("want a retry that waits: %s", b.dump())
				}
				retry, ask := runs[1].ID, runs[1].ID
				if which == "its parent" {
					ask = id
				}
				b.killedUnsent(retry, b.engine.Kill(t.Context(), ask, "ada"))
				if n := len(b.allRuns()); n != 2 {
					t.Errorf("%d runs, want no further retry: %s", n, b.dump())
				}
				for _, done := range []int64{id, retry} {
					if err := b.engine.Kill(t.Context(), done, "ada"); !errors.Is(err, ErrRunNotRunning) {
						t.Errorf("kill of run %d, which is over: %v", done, err)
					}
				}
			})
		})
	}
}

func TestARunThatAnotherAdminHoldsIsKilled(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.RetryBackoff = 3, "1h" }))
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
		b.finish(id, 500, "no")
		retry := b.allRuns()[1].ID
		b.killedUnsent(retry, b.second(nil).Kill(t.Context(), retry, "ada"))
	})
}

func TestAKillThatNobodyWaitsForIsCarriedOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		// Somebody would wait for as long as the machine may take; nobody does once the clock has passed.
		b := setup(t, pool, func(c *Config) {
			clock.rule(c)
			c.CallTimeout, c.AskAfter, c.DeadAfter = executortest.Patience, 100*time.Hour, time.Hour
		}, addressA)
		answer, open := b.latch()
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) { <-answer; return yes, nil }
		id := b.trigger(b.addJob(nil))
		b.await("it is under way", func() bool { _, n := b.engine.queues.load(addressA); return n == 1 })
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		result := make(chan error, 1)
		go func() { result <- b.engine.Kill(ctx, id, "ada") }()
		b.wished(id)
		leave()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("kill by somebody who leaves: %v", err)
		}
		b.wished(id)
		clock.pass(b.engine.killWait() + 2*killEvery)
		open()
		b.await("it is ended", func() bool { return b.run(id).HandleCode == 500 })
		if r := b.run(id); !wasKilled(&r) {
			t.Errorf("the run: %s", b.dump())
		}
		b.await("the wish is gone", func() bool {
			wishes, err := b.engine.queries.ListKills(t.Context(), pool, db.ListKillsParams{Limit: 1000})
			return err == nil && len(wishes) == 0
		})
	})
}

// TestAKillThatCannotReachItsExecutorRestsBetweenTries: it is tried until the run ends, more and more seldom, and what is told of it stays short.
func TestAKillThatCannotReachItsExecutorRestsBetweenTries(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.AskAfter = 100 * time.Hour }, addressA)
		id := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
		var tries atomic.Int64
		var there atomic.Bool
		b.executors.kill = func(wire.KillRequest) (wire.Answer, error) {
			tries.Add(1)
			if there.Load() {
				return yes, nil
			}
			return wire.Answer{}, &wire.CallError{Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
		}
		asked := clock.now().Add(-time.Hour).UnixMilli() // nobody waits any more
		if err := b.engine.queries.InsertKill(t.Context(), pool, db.InsertKillParams{LogID: id, AskedBy: "ada", AskedAt: asked}); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			b.carryOut()
		}
		if n := tries.Load(); n != 1 {
			t.Errorf("its executor was asked %d times at one moment, want once", n)
		}
		for range 600 {
			clock.pass(time.Second)
			b.carryOut()
		}
		if n, told := tries.Load(), len(b.run(id).Events); n < 10 || n > 40 || told > 10_000 {
			t.Errorf("in ten minutes its executor was asked %d times, and %d bytes tell of that", n, told)
		}
		there.Store(true)
		clock.pass(time.Minute)
		b.await("it is ended", func() bool {
			b.carryOut()
			r := b.run(id)
			return wasKilled(&r)
		})
	})
}

// TestAKillDoesNotWaitForExecutorsThatDoNotAnswer: more of them than are asked at once keep nobody's run from being taken back.
func TestAKillDoesNotWaitForExecutorsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.AskAfter = 100 * time.Hour }, addressA)
		hung, open := b.latch()
		defer open()
		var hang atomic.Int64
		b.executors.kill = func(wire.KillRequest) (wire.Answer, error) {
			hang.Add(1)
			<-hung
			return yes, nil
		}
		failed := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.RetryBackoff = 3, "1h" }))
		b.await("it is sent", func() bool { return b.run(failed).TriggerCode == wire.CodeSuccess })
		b.finish(failed, wire.CodeFail, "no")
		retry := b.allRuns()[1].ID // this admin holds it
		job := b.addJob(nil)
		for range asksAtOnce + 1 {
			id := b.trigger(job)
			b.await("it is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
			b.ask(id, clock.now().Add(-time.Hour)) // nobody waits any more
		}
		b.await("their executor is asked", func() bool { return hang.Load() == asksAtOnce })
		b.ask(retry, clock.now())
		b.await("the retry is taken back", func() bool {
			r := b.run(retry)
			return wasKilled(&r)
		})
		if n := hang.Load(); n != asksAtOnce {
			t.Errorf("its executor is asked for %d at once, want %d, each once", n, asksAtOnce)
		}
		open()
		b.await("all are ended", func() bool { return b.countRuns("outcome = ?", event.Killed) == asksAtOnce+2 })
	})
}

func TestAKillThatTakesTooLongSaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.CallTimeout = 50 * time.Millisecond }, addressA)
		answer, _ := b.latch()
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) { <-answer; return yes, nil }
		id := b.trigger(b.addJob(nil))
		b.await("it is under way", func() bool { _, n := b.engine.queues.load(addressA); return n == 1 })
		if err := b.engine.Kill(t.Context(), id, "ada"); !errors.Is(err, ErrKillLater) {
			t.Errorf("kill of a run whose sending hangs: %v", err)
		}
		b.wished(id)
	})
}

func TestOfAKillAndAResultTheFirstIsKeptAndTheRunIsKilled(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code int // what the executor reports while it is asked to end the run
	}{
		"success":                     {200},
		"failure, which is our own":   {500},
		"time-out, which was quicker": {502},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				child := b.addJob(nil)
				id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.ChildJobIDs = 1, db.Text(fmt.Sprint(child)) }))
				b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
				b.executors.kill = func(req wire.KillRequest) (wire.Answer, error) {
					b.finish(req.LogID, tt.code, "reported")
					return yes, nil
				}
				if err := b.engine.Kill(t.Context(), id, "ada"); err != nil {
					t.Errorf("kill: %v", err)
				}
				b.finish(id, 200, "too late")
				// What was reported is kept, and the run is killed all the same: nothing follows from it.
				r := b.run(id)
				killed, _ := b.events(id).Last(event.KilledAt)
				if r.HandleCode != int64(tt.code) || r.Outcome != event.Killed || killed.Text(0) != "ada" || len(b.allRuns()) != 1 {
					t.Errorf("want %d by the first report, and no other run: %s", tt.code, b.dump())
				}
			})
		})
	}
}

// TestARunThatWasKilledWhileItWasSentStaysKilled: its executor was not heard of when it was ended, and had the run after all. What it reports is kept,
// and nothing follows from it.
func TestARunThatWasKilledWhileItWasSentStaysKilled(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"success": 200, "failure, which is our own": 500} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				answer, open := b.latch()
				arrived := make(chan struct{}, 10)
				b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
					arrived <- struct{}{}
					<-answer
					return wire.Answer{}, &wire.CallError{Err: errors.New("refused")}
				}
				child := b.addJob(nil)
				id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.ChildJobIDs = 1, db.Text(fmt.Sprint(child)) }))
				<-arrived
				result := b.killing(b.engine, id)
				b.wished(id)
				open()
				if err := <-result; err != nil {
					t.Fatal(err)
				}
				b.finish(id, code, "it had arrived")
				if r := b.run(id); r.Outcome != event.Killed || r.HandleCode != int64(code) || len(b.events(id).All(event.KilledAt)) != 1 || len(b.allRuns()) != 1 {
					t.Errorf("runs: %s", b.dump())
				}
			})
		})
	}
}

func TestWhatWaitsOfADeletedJobIsNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.RetryBackoff = 3, "1h" })
		id := b.trigger(job)
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
		b.finish(id, 500, "no")
		waiting, err := b.engine.queries.ListUnsentRunsOfJob(t.Context(), pool, db.ListUnsentRunsOfJobParams{JobID: job, Limit: 1000})
		if err != nil || len(waiting) != 1 {
			t.Fatalf("waiting: %v, %v", waiting, err)
		}
		if err := b.engine.queries.InsertKill(t.Context(), pool, db.InsertKillParams{LogID: waiting[0], AskedBy: "ada", AskedAt: time.Now().UnixMilli()}); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log"); err != nil {
			t.Fatal(err)
		}
		b.await("it is forgotten", func() bool { return b.engine.pending.len() == 0 && b.engine.timer.len() == 0 })
		if n := len(b.executors.received()); n != 1 {
			t.Errorf("%d runs were sent, want the first only", n)
		}
	})
}

// TestWhatADeletedJobLeftIsEnded: its admin was killed before its runs were deleted. Who waits for a slot is ended also where nobody noted that.
func TestWhatADeletedJobLeftIsEnded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, quick, addressA)
		job := b.addJob(func(p *db.InsertJobParams) {
			p.MaxConcurrent, p.ConcurrencyPolicy = 1, string(jobspec.ConcurrencyQueue)
		})
		sent := b.trigger(job)
		b.await("it is sent", func() bool { return b.run(sent).TriggerCode == 200 })
		noted, unnoted := b.trigger(job), b.trigger(job)
		b.exec("UPDATE xxl_job_log SET planned_at = planned_at - 60000 WHERE job_id = ?", job)
		b.exec("UPDATE punctual_slot SET planned_at = planned_at - 60000 WHERE job_id = ?", job)
		if err := b.engine.queries.InsertKill(t.Context(), pool, db.InsertKillParams{LogID: noted, AskedBy: "ada", AskedAt: time.Now().UnixMilli()}); err != nil {
			t.Fatal(err)
		}
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", job)
		for _, id := range []int64{noted, unnoted} {
			if r := b.ended(id); r.Outcome != event.Killed {
				t.Errorf("what waited ended as %v", r.Outcome)
			}
		}
		b.finish(sent, 200, "")
		if r := b.ended(sent); r.Outcome != event.Succeeded {
			t.Errorf("what ran ended as %v", r.Outcome)
		}
	})
}

// TestAWishBehindManyIsCarriedOut that nobody can carry out now.
func TestAWishBehindManyIsCarriedOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		many := make([]int64, 1100)
		for i := range many {
			many[i] = int64(1_000_000 + i)
		}
		if err := db.InsertKills(t.Context(), pool, "ada", time.Now().UnixMilli(), many); err != nil {
			t.Fatal(err)
		}
		if all, err := b.engine.wishes(t.Context()); err != nil || len(all) != len(many) {
			t.Errorf("%d of %d wishes, %v", len(all), len(many), err)
		}
	})
}

// TestAnExecutorThatReportsBeforeItAnswersTheKill is the official Go client's: the task's context ends, the task returns, its
// success is reported, and then there is nothing to end any more.
func TestAnExecutorThatReportsBeforeItAnswersTheKill(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		child := b.addJob(nil)
		for name, answer := range map[string]wire.Answer{"yes": yes, "nothing to end": {Code: 500, Msg: "Task kill err"}} {
			b.executors.kill = func(req wire.KillRequest) (wire.Answer, error) {
				b.complete(req.LogID, wire.CodeSuccess)
				return answer, nil
			}
			run := b.trigger(b.addJob(func(p *db.InsertJobParams) {
				p.ExecutorFailRetryCount, p.ChildJobIDs = 2, db.Text(fmt.Sprint(child))
			}))
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
			before := len(b.allRuns())
			if err := b.engine.Kill(t.Context(), run, "ada"); err != nil {
				t.Errorf("%s: who asked is told %v", name, err)
			}
			if r := b.run(run); r.Outcome != event.Killed || r.HandleCode != wire.CodeSuccess || !b.has(run, event.KilledAt) {
				t.Errorf("%s: outcome %v, code %d: %s", name, r.Outcome, r.HandleCode, b.eventsOf(run))
			}
			if n := len(b.allRuns()); n != before {
				t.Errorf("%s: %d runs followed", name, n-before)
			}
		}
	})
}

// TestAKillIsKeptWhileItsExecutorIsAway: an executor that asks for its calls does not come, as while its network is away. Who asked is told that, and
// the run is ended when the executor is back.
func TestAKillIsKeptWhileItsExecutorIsAway(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.AskAfter = 100 * time.Hour }, "pull://orders-1")
		id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 2 }))
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
		var away atomic.Bool
		away.Store(true)
		b.executors.kill = func(wire.KillRequest) (wire.Answer, error) {
			if away.Load() {
				return wire.Answer{}, &wire.CallError{Err: &wire.SilentError{Since: clock.now()}}
			}
			return yes, nil
		}
		var told *ExecutorError
		if err := b.engine.Kill(t.Context(), id, "ada"); !errors.As(err, &told) || !told.Kept {
			t.Fatalf("who asked is told %v, want that it is kept", err)
		}
		b.wished(id)
		clock.pass(time.Hour)
		b.carryOut()
		b.wished(id)
		if r := b.run(id); ended(&r) || r.KillAskedAt == 0 {
			t.Errorf("while its executor is away: %s", b.dump())
		}
		away.Store(false)
		clock.pass(time.Hour)
		b.await("nothing is left of the wish", func() bool {
			wishes, err := b.engine.wishes(t.Context())
			return err == nil && len(wishes) == 0
		})
		if r := b.run(id); r.HandleCode != wire.CodeFail || !wasKilled(&r) || len(b.allRuns()) != 1 {
			t.Errorf("when its executor is back: %s", b.dump())
		}
	})
}

// TestAKillReachesARunThatWasGivenUpMeanwhile: it may go on at an executor that comes back. One that stays away is asked for a day.
func TestAKillReachesARunThatWasGivenUpMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		back time.Duration
		want int64 // how often it is asked when it is back
	}{
		"it asks for its calls":    {time.Hour, 1},
		"it comes back after days": {owedFor + time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				clock := newHandClock()
				b := setup(t, pool, func(c *Config) { clock.rule(c); c.AskAfter = 100 * time.Hour }, "pull://orders-1")
				id := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 2 }))
				b.await("it is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
				var back atomic.Bool
				var asked atomic.Int64
				b.executors.kill = func(wire.KillRequest) (wire.Answer, error) {
					if !back.Load() {
						return wire.Answer{}, &wire.CallError{Err: &wire.SilentError{Since: clock.now()}}
					}
					asked.Add(1)
					return yes, nil
				}
				if err := b.engine.Kill(t.Context(), id, "ada"); !kept(err) {
					t.Fatalf("who asked is told %v", err)
				}
				lost := event.List{event.New(clock.now(), event.LostRun, event.LostGone, "pull://orders-1")}
				if err := b.engine.complete(t.Context(), []finishing{{id: id, code: wire.CodeFail, given: event.Lost, why: lost}}); err != nil {
					t.Fatal(err)
				}
				if r := b.run(id); r.Outcome != event.Killed || len(b.allRuns()) != 1 {
					t.Errorf("when it is given up: %s", b.dump())
				}
				back.Store(true)
				clock.pass(tt.back)
				b.await("nothing is left of the wish", func() bool {
					wishes, err := b.engine.wishes(t.Context())
					return err == nil && len(wishes) == 0
				})
				if n := asked.Load(); n != tt.want {
					t.Errorf("its executor was asked %d times, want %d", n, tt.want)
				}
			})
		})
	}
}

// TestAKillIsNotKeptForAnExecutorThatEndsOthers: one that is not ours ends whatever it runs of the job, which when it is back is the next run.
func TestAKillIsNotKeptForAnExecutorThatEndsOthers(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{false, true} {
		dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
			b := setup(t, pool, func(c *Config) { c.AskAfter = 100 * time.Hour }, addressA)
			if ours {
				if err := b.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA, TakesEnvironment: true}); err != nil {
					t.Fatal(err)
				}
				if err := b.engine.directory.reload(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			id := b.trigger(b.addJob(nil))
			b.await("it is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
			b.executors.kill = func(wire.KillRequest) (wire.Answer, error) {
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: errRefused}
			}
			err := b.engine.Kill(t.Context(), id, "ada")
			wishes, wishesErr := b.engine.wishes(t.Context())
			if wishesErr != nil {
				t.Fatal(wishesErr)
			}
			if kept(err) != ours || (len(wishes) == 1) != ours || (b.run(id).KillAskedAt != 0) != ours {
				t.Errorf("ours: %v; who asked is told %v, of which %d are on record: %s", ours, err, len(wishes), b.dump())
			}
		})
	}
}
