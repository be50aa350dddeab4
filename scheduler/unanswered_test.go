package scheduler

import (
	"context"
	"errors"
	"sync/atomic"
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

// retried makes a job with one retry.
func retried(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 }

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

func TestAnExecutorIsAskedAgainBeforeARunIsCalledNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.UnansweredFor = 500 * time.Millisecond }, addressA)
		b.unanswered()
		var asked atomic.Int64
		b.executors.idle = func(string) (wire.Answer, error) { asked.Add(1); return yes, nil }
		began := time.Now()
		run := b.trigger(b.addJob(retried))
		b.await("it is retried, and the retry sent", func() bool {
			runs := b.allRuns()
			return len(runs) == 2 && runs[1].TriggerCode == wire.CodeSuccess
		})
		if took := time.Since(began); took < 500*time.Millisecond {
			t.Errorf("retried after %v", took)
		}
		if n := asked.Load(); n < 3 {
			t.Errorf("the executor was asked %d times", n)
		}
		if r := b.run(run); r.Outcome != event.NotSent || r.AlarmStatus != alarmNone {
			t.Errorf("outcome %v, alarm status %d: %s", r.Outcome, r.AlarmStatus, b.eventsOf(run))
		}
	})
}

func TestAResultThatComesWhileTheCallIsUnansweredIsTheRunsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.UnansweredFor = 500 * time.Millisecond }, addressA)
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
		b.await("its sending is settled", func() bool { return b.run(run).TriggerCode != 0 })
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
		b := setup(t, pool, func(c *Config) { c.RetryBackoff = 700 * time.Millisecond }, addressA)
		b.unanswered()
		b.executors.log = func(string) error { return errors.New("it does not say") }
		run := b.trigger(b.addJob(retried))
		b.await("there is a retry", func() bool { return len(b.allRuns()) == 2 })
		if r := b.run(run); r.Outcome != event.Unconfirmed {
			t.Errorf("outcome %v", r.Outcome)
		}
		b.complete(run, wire.CodeSuccess)
		retry := b.allRuns()[1].ID
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

// complete reports a result of a run.
func (b *bundle) complete(id int64, code int) {
	b.t.Helper()
	if err := b.engine.Complete(b.t.Context(), []wire.Callback{{LogID: id, HandleCode: code}}); err != nil {
		b.t.Fatal(err)
	}
}
