package scheduler

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

var errSlow = &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: context.DeadlineExceeded}

// unanswered has the executors take no notice of the first call for a run, as far as the caller can see.
func (b *bundle) unanswered() {
	var calls atomic.Int64
	b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
		if calls.Add(1) == 1 {
			return wire.Answer{}, errSlow
		}
		return yes, nil
	}
}

func retried(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 }

// passToNext lets the time pass until the next of what waits for it is due.
func (b *bundle) passToNext(clock *handClock) {
	if wait, ok := b.engine.timer.next(); ok {
		clock.pass(max(0, wait.Sub(clock.now())))
	}
}

// next is when the first in the timer goes.
func (t *timer) next() (at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return time.Time{}, false
	}
	return t.queue[0].at, true
}

func (b *bundle) eventsOf(id int64) event.List {
	b.t.Helper()
	return event.Parse(string(b.run(id).Events))
}

func TestARunThatMayWaitAtItsExecutorIsNotRetried(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA)
		b.unanswered()
		b.executors.idle = func(string) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "job thread is running or has trigger queue."}, nil
		}
		run := b.trigger(b.addJob(retried))
		b.await("it counts as sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		if e, ok := b.eventsOf(run).Last(event.Known); !ok || e.Text(1) != event.KnownBusy {
			t.Errorf("events: %s", b.eventsOf(run))
		}
		if n := len(b.allRuns()); n != 1 {
			t.Errorf("%d runs, want no retry", n)
		}
	})
}

// TestARunThatItsExecutorHasNeverHadIsSentAgain although other runs of its job keep the executor busy: the call, or the answer that it went
// with, was lost. Where the first call arrives after all the second is refused as one that was seen, which is no second run.
func TestARunThatItsExecutorHasNeverHadIsSentAgain(t *testing.T) {
	t.Parallel()
	repeated := wire.Answer{Code: 500, Msg: "repeat trigger job, logId:1"}
	for name, test := range map[string]struct {
		remembers time.Duration
		lost      int64       // calls that bring no answer
		then      wire.Answer // to the call after those
		calls     int         // in all
		known     string      // from what it is known at last that the executor has the run; "": it took it
	}{
		"the call was lost":           {remembers: time.Hour, lost: 1, then: yes, calls: 2},
		"three calls were lost":       {remembers: time.Hour, lost: 3, then: yes, calls: 4},
		"the first came late":         {remembers: time.Hour, lost: 1, then: repeated, calls: 2, known: event.KnownRepeated},
		"its memory began afterwards": {remembers: time.Nanosecond, lost: 1, calls: 1, known: event.KnownBusy},
		"it does not say":             {lost: 1, calls: 1, known: event.KnownBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.AskAfter, c.UnansweredFor = time.Hour, time.Hour }, addressA)
				var calls atomic.Int64
				b.executors.remembers = test.remembers
				b.executors.idle = func(string) (wire.Answer, error) { return busy, nil }
				b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
					if calls.Add(1) <= test.lost {
						return wire.Answer{}, errSlow
					}
					return test.then, nil
				}
				run := b.trigger(b.addJob(retried))
				b.await("it counts as sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
				if n := len(b.executors.received()); n != test.calls {
					t.Errorf("the executor was called %d times, want %d", n, test.calls)
				}
				events := b.eventsOf(run)
				if late, is := events.Last(event.Late); is && test.calls > 1 && late.Text(1) != event.LateAgain {
					t.Errorf("it says that it is late because of %s", late.Text(1))
				}
				if n := len(events.All(event.SentAgain)); n != test.calls-1 {
					t.Errorf("it says %d times that it was sent again: %s", n, events)
				}
				if e, ok := events.Last(event.Known); ok != (test.known != "") || ok && e.Text(1) != test.known {
					t.Errorf("events: %s", events)
				}
				if n := len(b.allRuns()); n != 1 {
					t.Errorf("%d runs, want no retry", n)
				}
			})
		})
	}
}

// TestAQuestionThatCameToNothingIsAskedAgainSoon, however long a run may be without an answer.
func TestAQuestionThatCameToNothingIsAskedAgainSoon(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.AskAfter, c.UnansweredFor = 1000*time.Hour, 1000*time.Hour }, addressA)
		b.executors.remembers = time.Hour
		var calls, questions atomic.Int64
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			if calls.Add(1) == 1 {
				return wire.Answer{}, errSlow
			}
			return yes, nil
		}
		b.executors.log = func(string) error {
			if questions.Add(1) == 1 {
				return errSlow
			}
			return nil
		}
		began := clock.now()
		run := b.trigger(b.addJob(nil))
		b.await("it is sent again", func() bool {
			b.passToNext(clock)
			return b.run(run).TriggerCode == wire.CodeSuccess
		})
		if waited := clock.now().Sub(began); waited > 10*time.Second {
			t.Errorf("it was asked again after %s", waited)
		}
	})
}

// TestARunIsNotSentAgainForEver: one that never arrives is called not sent in the end, and retried.
func TestARunIsNotSentAgainForEver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock() // or the time could be over before the first question is answered
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.UnansweredFor = 300 * time.Millisecond }, addressA)
		b.executors.remembers = time.Hour
		var first, calls atomic.Int64
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if first.CompareAndSwap(0, req.LogID); first.Load() == req.LogID {
				if calls.Add(1) > 1 {
					clock.pass(100 * time.Millisecond)
				}
				return wire.Answer{}, errSlow
			}
			return yes, nil
		}
		run := b.trigger(b.addJob(retried))
		b.await("it is retried, and the retry sent", func() bool {
			b.passToNext(clock)
			runs := b.allRuns()
			return len(runs) == 2 && runs[1].TriggerCode == wire.CodeSuccess
		})
		if r := b.run(run); r.Outcome != event.NotSent || !b.has(run, event.SentAgain) || !b.has(run, event.Unknown) {
			t.Errorf("outcome %v: %s", r.Outcome, b.eventsOf(run))
		}
	})
}

// TestARunThatIsSentAgainMayBeUnreachableThen: nobody listens any more when it is sent again, which says nothing of the first call.
func TestARunThatIsSentAgainMayBeUnreachableThen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter, c.UnansweredFor = time.Hour, time.Hour }, addressA)
		b.executors.remembers = time.Hour
		var calls atomic.Int64
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			switch calls.Add(1) {
			case 1:
				return wire.Answer{}, errSlow
			case 2:
				return wire.Answer{}, errRefused
			}
			return yes, nil
		}
		run := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		if n := len(b.executors.received()); n != 3 {
			t.Errorf("%d calls: %s", n, b.eventsOf(run))
		}
	})
}

// TestARunThatIsEndedBeforeItIsSentAgain is asked after, and not sent.
func TestARunThatIsEndedBeforeItIsSentAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter, c.UnansweredFor = time.Hour, time.Hour }, addressA)
		b.executors.remembers = time.Hour
		asked, goOn := make(chan struct{}), make(chan struct{})
		var calls, questions atomic.Int64
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			calls.Add(1)
			return wire.Answer{}, errSlow
		}
		b.executors.log = func(string) error {
			if questions.Add(1) == 1 {
				close(asked)
				<-goOn
			}
			return nil
		}
		run := b.trigger(b.addJob(nil))
		<-asked
		done := b.killing(b.engine, run)
		b.await("the wish is known", func() bool { _, ok := b.engine.pending.killed(run); return ok })
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
		b.await("it ends", func() bool { return b.run(run).Outcome == event.Killed })
		if calls.Load() != 1 || b.has(run, event.SentAgain) {
			t.Errorf("%d calls: %s", calls.Load(), b.eventsOf(run))
		}
	})
}

func TestAnExecutorIsAskedAgainBeforeARunIsCalledNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock() // or a machine that stands still for a moment leaves no time for the questions
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.UnansweredFor = 500 * time.Millisecond }, addressA)
		b.unanswered()
		var asked atomic.Int64
		b.executors.idle = func(string) (wire.Answer, error) { asked.Add(1); return yes, nil }
		began := clock.now()
		run := b.trigger(b.addJob(retried))
		b.await("it is called not sent", func() bool {
			b.passToNext(clock)
			return len(b.allRuns()) == 2
		})
		if took := clock.now().Sub(began); took < 500*time.Millisecond {
			t.Errorf("retried after %v", took)
		}
		b.await("the retry is sent", func() bool {
			b.passToNext(clock)
			return b.allRuns()[1].TriggerCode == wire.CodeSuccess
		})
		if n := asked.Load(); n < 3 {
			t.Errorf("the executor was asked %d times", n)
		}
		if r := b.run(run); r.Outcome != event.NotSent || r.AlarmStatus != alarmNone {
			t.Errorf("outcome %v, alarm status %d: %s", r.Outcome, r.AlarmStatus, b.eventsOf(run))
		}
	})
}

// TestAnExecutorThatCannotBeAskedIsWaitedFor: it may be at work on the run, unless nobody is there.
func TestAnExecutorThatCannotBeAskedIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err   error
		waits bool
	}{
		"nobody listens":                  {syscall.ECONNREFUSED, false},
		"no connection is made in time":   {context.DeadlineExceeded, true},
		"the name server does not answer": {&net.DNSError{Err: "i/o timeout", IsTimeout: true}, true},
		"its name is nobody's":            {&net.DNSError{Err: "no such host", IsNotFound: true}, false},
		"its certificate has expired":     {x509.CertificateInvalidError{Reason: x509.Expired}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newHandClock()
			b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) {
				clock.rule(c)
				c.UnansweredFor, c.LostAfter, c.AskAfter = 200*time.Millisecond, 250*time.Millisecond, time.Hour
			}, addressA)
			b.unanswered()
			b.executors.log = func(string) error { return &wire.CallError{Stage: wire.StageDial, Err: tt.err} }
			began := clock.now()
			run := b.trigger(b.addJob(nil))
			b.await("it is settled", func() bool {
				b.passToNext(clock)
				return b.run(run).TriggerCode != 0
			})
			if r := b.run(run); r.Outcome != event.Unconfirmed {
				t.Errorf("outcome %v: %s", r.Outcome, b.eventsOf(run))
			}
			if took := clock.now().Sub(began); (took >= b.engine.patience(signSilent)) != tt.waits {
				t.Errorf("it was called unconfirmed after %v", took)
			}
		})
	}
}

func TestAResultThatComesWhileTheCallIsUnansweredIsTheRunsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock() // or the result could be written too late
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.UnansweredFor = 500 * time.Millisecond }, addressA)
		b.unanswered()
		begun := make(chan struct{})
		var once atomic.Bool
		b.executors.idle = func(string) (wire.Answer, error) {
			if once.CompareAndSwap(false, true) {
				close(begun)
			}
			return yes, nil
		}
		run := b.trigger(b.addJob(retried))
		<-begun
		b.complete(run, wire.CodeSuccess)
		b.await("its sending is settled", func() bool {
			b.passToNext(clock)
			return b.run(run).TriggerCode != 0
		})
		if r := b.run(run); r.TriggerCode != wire.CodeSuccess || r.Outcome != event.Succeeded {
			t.Errorf("code %d, outcome %v", r.TriggerCode, r.Outcome)
		}
		if n := len(b.allRuns()); n != 1 {
			t.Errorf("%d runs, want no retry", n)
		}
	})
}

func TestARetryIsWithdrawnWhenItsRunSucceedsAfterAll(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock() // or the retry could leave before the result is written
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.RetryBackoff = 30 * time.Second }, addressA)
		b.unanswered()
		b.executors.log = func(string) error { return errors.New("it does not say") }
		run := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 2 })) // of which the second is none either
		b.await("there is a retry", func() bool {
			clock.pass(20 * time.Millisecond)
			return len(b.allRuns()) == 2
		})
		if r := b.run(run); r.Outcome != event.Unconfirmed {
			t.Errorf("outcome %v", r.Outcome)
		}
		b.complete(run, wire.CodeSuccess)
		retry := b.allRuns()[1].ID
		clock.pass(30 * time.Second)
		b.await("the retry is withdrawn", func() bool { return b.run(retry).Outcome == event.Cancelled })
		if e, ok := b.eventsOf(retry).Last(event.Withdrawn); !ok || e.Number(0) != run {
			t.Errorf("events of the retry: %s", b.eventsOf(retry))
		}
		if r := b.run(run); r.Outcome != event.Succeeded {
			t.Errorf("the run's outcome is %v", r.Outcome)
		}
		if n := len(b.executors.received()); n != 1 {
			t.Errorf("the executor was called %d times", n)
		}
		if n := len(b.allRuns()); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestARetryWaitsWhileNobodyKnowsWhetherItIsNeeded: the database is away for a moment when it is to leave.
func TestARetryWaitsWhileNobodyKnowsWhetherItIsNeeded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		sent.Refuse("MarkLeaving", 1, errors.New("the database is away"))
		clock, left := newHandClock(), make(chan time.Time, 10)
		sent.Before("MarkLeaving", func() { left <- clock.now() })
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.RetryBackoff = time.Second }, addressA)
		b.unanswered()
		b.executors.log = func(string) error { return errors.New("it does not say") }
		b.trigger(b.addJob(retried))
		b.await("the retry is sent", func() bool {
			b.passToNext(clock)
			runs := b.allRuns()
			return len(runs) == 2 && runs[1].TriggerCode == wire.CodeSuccess
		})
		first := <-left
		if waited := (<-left).Sub(first); waited < time.Second || waited > 10*time.Second || !sent.Refused() {
			t.Errorf("it left after %v", waited)
		}
	})
}

// TestARunThatIsEndedWhileItsExecutorCannotBeAsked is ended at once, and its executor is asked to end it too, should it have come there.
func TestARunThatIsEndedWhileItsExecutorCannotBeAsked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter, c.UnansweredFor = time.Hour, time.Hour }, addressA)
		b.unanswered()
		asked, goOn := make(chan struct{}), make(chan struct{})
		var questions atomic.Int64
		b.executors.log = func(string) error {
			if questions.Add(1) == 1 {
				close(asked)
				<-goOn
			}
			return errSlow
		}
		var kills atomic.Int64
		b.executors.kill = func(wire.KillRequest) (wire.Answer, error) { kills.Add(1); return wire.Answer{}, errSlow }
		run := b.trigger(b.addJob(nil))
		<-asked
		done := b.killing(b.engine, run)
		b.await("the wish is known", func() bool { _, ok := b.engine.pending.killed(run); return ok })
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
		b.await("it ends", func() bool { return b.run(run).Outcome == event.Killed })
		if kills.Load() == 0 {
			t.Errorf("its executor was not asked to end it: %s", b.eventsOf(run))
		}
	})
}

// complete reports a result of a run.
func (b *bundle) complete(id int64, code int) {
	b.t.Helper()
	if err := b.engine.Complete(b.t.Context(), []wire.Callback{{LogID: id, HandleCode: code}}); err != nil {
		b.t.Fatal(err)
	}
}
