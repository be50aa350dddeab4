package scheduler

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

var (
	errRefused = &wire.CallError{Stage: wire.StageDial, Err: syscall.ECONNREFUSED}
	errSilent  = &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: errors.New("time-out")}
	busy       = wire.Answer{Code: 500, Msg: "job thread is running or has trigger queue."}
)

// fails has a call end before there is a connection.
func fails(err error) func() (wire.Answer, error) {
	return func() (wire.Answer, error) { return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: err} }
}

// quick makes the engine decide about runs without a result within moments.
func quick(c *Config) {
	c.AskAfter, c.LostAfter, c.IdleAfter = time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
}

func TestARunWithoutAResultIsDecidedByAskingItsExecutor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		idle   func() (wire.Answer, error)
		has    bool   // it has a log of the run
		thread bool   // the group says that results come before the handler's end
		ours   bool   // it is one of ours, which knows runs by their ids
		reason string // of the loss; "" when the run goes on
	}{
		{"nothing of the job is there any more, and no log", func() (wire.Answer, error) { return yes, nil }, false, false, false, event.LostIdle},
		{"nothing of the job is there any more, but the log", func() (wire.Answer, error) { return yes, nil }, true, false, false, ""},
		{"the log, of a group whose results come before the handler's end", func() (wire.Answer, error) { return yes, nil }, true, true, false, event.LostIdle},
		{"nobody listens", func() (wire.Answer, error) { return wire.Answer{}, errRefused }, true, false, false, event.LostGone},
		{"no name server knows its name", fails(&net.DNSError{Err: "no such host", IsNotFound: true}), true, false, false, event.LostGone},
		{"no way leads to its machine", fails(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), true, false, false, event.LostGone},
		{"no way leads from this machine", fails(os.NewSyscallError("connect", syscall.ENETUNREACH)), true, false, false, event.LostSilent},
		{"no connection is made in time", fails(context.DeadlineExceeded), true, false, false, event.LostSilent},
		{"the name server does not answer", fails(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), true, false, false, event.LostSilent},
		{"the name server cannot tell", fails(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), true, false, false, event.LostSilent},
		{"its certificate has expired", fails(x509.CertificateInvalidError{Reason: x509.Expired}), true, false, false, event.LostSilent},
		{"nobody answers", func() (wire.Answer, error) { return wire.Answer{}, errSilent }, true, false, false, event.LostSilent},
		{"it is busy with the job", func() (wire.Answer, error) { return busy, nil }, false, false, false, ""},
		{"one of ours is busy with the job, and knows the run", func() (wire.Answer, error) { return busy, nil }, true, false, true, ""},
		{"one of ours is busy with other runs of the job, and does not know this one", func() (wire.Answer, error) { return busy, nil }, false, false, true, event.LostForgot},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				var asked atomic.Int64
				b := setup(t, pool, quick, addressA)
				told := make(chan struct{})
				b.executors.idle = func(string) (wire.Answer, error) {
					select {
					case <-told:
					case <-t.Context().Done():
					}
					asked.Add(1)
					return tt.idle()
				}
				id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 })
				if tt.ours {
					b.executors.remembers = time.Hour
					if err := b.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA, TakesEnvironment: true}); err != nil {
						t.Fatal(err)
					}
				}
				if tt.thread {
					if err := b.engine.queries.SetGroupOptions(t.Context(), pool, db.SetGroupOptionsParams{AppName: "orders", IdleIsLost: 1}); err != nil {
						t.Fatal(err)
					}
					if err := b.engine.GroupsChanged(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				run := b.trigger(id)
				b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
				b.engine.Refused(Caller{Address: "10.1.2.3"}, RefusedToken, []int64{run})
				if !tt.has {
					b.forgets(run)
				}
				close(told) // before it is asked about: what was refused is to be in its history
				if tt.reason == "" {
					b.await("it was asked often enough", func() bool { return asked.Load() > 8 })
					if r := b.run(run); r.HandleCode != 0 {
						t.Errorf("given up although its executor is busy with it: %+v", r)
					}
					return
				}
				b.await("it is given up", func() bool { return b.run(run).HandleCode == 500 })
				r := b.run(run)
				if lost, ok := b.events(run).Last(event.LostRun); !ok || r.Outcome != event.Lost || lost.Text(0) != tt.reason || lost.Text(1) != addressA {
					t.Errorf("want one that is lost: %s; %+v", tt.reason, r)
				}
				if refused, ok := b.events(run).Last(event.NotTold); !ok || refused.Text(0) != "10.1.2.3" {
					t.Errorf("it does not say that its result was refused: %s", b.events(run))
				}
			})
		})
	}
}

// TestARunThatWasToEndAndIsLostIsNotSaidToHaveEnded: somebody wanted it ended, and then its executor was gone.
func TestARunThatWasToEndAndIsLostIsNotSaidToHaveEnded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, quick, addressA)
		gone := make(chan struct{})
		b.executors.idle = func(string) (wire.Answer, error) {
			select {
			case <-gone:
				return wire.Answer{}, errRefused
			default:
				return busy, nil
			}
		}
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 })
		run := b.trigger(id)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET kill_asked_at = ?, events = ? WHERE id = ?", time.Now().UnixMilli(),
			event.List{event.New(time.Now(), event.KillAsked, "ann")}.Stored(), run); err != nil {
			t.Fatal(err)
		}
		close(gone)
		b.await("it is given up", func() bool { return b.run(run).HandleCode == 500 })
		r, events := b.run(run), b.events(run)
		if why, ok := events.Reason(r.Outcome); !ok || why.Key != event.LostRun || r.Outcome != event.Killed || b.has(run, event.KilledAt) {
			t.Errorf("outcome %s because of %v; events %v", r.Outcome, why, events)
		}
	})
}

func TestALateResultSupersedesLostAndBothAreTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, quick, addressA)
		child := b.addJob(nil)
		parent := b.addJob(func(p *db.InsertJobParams) { p.ChildJobIDs = db.Text(fmt.Sprint(child)) })
		b.executors.idle = func(string) (wire.Answer, error) { return yes, nil }
		run := b.trigger(parent)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		b.forgets(run)
		b.await("it is given up", func() bool { return b.run(run).HandleCode == 500 })
		b.finish(run, 200, "done after all")
		r := b.run(run)
		if r.HandleCode != 200 || r.Outcome != event.Succeeded || !b.has(run, event.LostRun) || !b.has(run, event.Result) || !strings.HasSuffix(string(r.HandleMsg), "\ndone after all") {
			t.Errorf("after the late result: %+v", r)
		}
		b.finish(run, 500, "and again")
		if r := b.run(run); r.HandleCode != 200 {
			t.Errorf("a second late result was taken: %+v", r)
		}
		children := 0
		for _, r := range b.allRuns() {
			if r.JobID == child {
				children++
			}
		}
		if children != 1 {
			t.Errorf("%d runs of the child, want 1: %s", children, b.dump())
		}
	})
}

func TestAnAddressWhereNobodyListensIsPassedOverUntilItAnswers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var back atomic.Bool
		var asked atomic.Int64
		b := setup(t, pool, nil, addressA, addressB)
		b.executors.mu.Lock()
		b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			if to.Address == addressA && !back.Load() {
				return wire.Answer{}, errRefused
			}
			return yes, nil
		}
		b.executors.beat = func(a string) (wire.Answer, error) {
			if a == addressA {
				asked.Add(1)
			}
			if a == addressA && !back.Load() {
				return wire.Answer{}, errRefused
			}
			return yes, nil
		}
		b.executors.mu.Unlock()
		id := b.addJob(nil) // FIRST
		first := b.trigger(id)
		b.await("the dead one was tried", func() bool { return b.run(first).TriggerCode == 500 })
		// It is asked again and again, and no further run is spent on it.
		b.await("the dead one is asked", func() bool { return asked.Load() >= 3 })
		second := b.trigger(id)
		b.await("the next goes to the living", func() bool { return b.run(second).TriggerCode == 200 })
		if a := string(b.run(second).ExecutorAddress); a != addressB {
			t.Errorf("sent to %s", a)
		}
		back.Store(true) // without a beat of its own, as an address that somebody typed
		b.await("it is used again", func() bool {
			return len(b.engine.directory.usable(b.engine.directory.get(b.group), []string{addressA, addressB})) == 2
		})

		b.engine.directory.suspect(b.group, addressA)
		b.executors.mu.Lock()
		b.executors.beat = func(string) (wire.Answer, error) { return wire.Answer{}, errRefused }
		b.executors.mu.Unlock()
		if err := b.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA}); err != nil {
			t.Fatal(err)
		}
		if got := b.engine.directory.usable(b.engine.directory.get(b.group), []string{addressA, addressB}); len(got) != 2 {
			t.Errorf("after its beat only %v are usable", got)
		}
	})
}

func TestAnExecutorThatMissedABeatIsAskedAndPassedOverWhenNobodyListens(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.MissedAfter = time.Millisecond }, addressA, addressB)
		b.executors.mu.Lock()
		b.executors.beat = func(a string) (wire.Answer, error) {
			if a == addressA {
				return wire.Answer{}, errRefused
			}
			return yes, nil
		}
		b.executors.mu.Unlock()
		b.await("the silent one is passed over", func() bool {
			got := b.engine.directory.usable(b.engine.directory.get(b.group), []string{addressA, addressB})
			return len(got) == 1 && got[0] == addressB
		})
		run := b.trigger(b.addJob(nil)) // FIRST
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		if a := string(b.run(run).ExecutorAddress); a != addressB {
			t.Errorf("sent to %s", a)
		}
	})
}

// forgets has the executors have no log of a run.
func (b *bundle) forgets(id int64) {
	b.executors.mu.Lock()
	defer b.executors.mu.Unlock()
	delete(b.executors.has, id)
}
