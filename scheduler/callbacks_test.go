package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// The executor that made an asynchronous call is gone, or was started anew and gives the run up: the run is its target's.
func TestARunThatItsTargetHasIsNotLost(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, sweep := sweeping(t, pool, nil, addressA)
		b.executors.idle = func(string) (wire.Answer, error) { return wire.Answer{}, errRefused }
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorHandler = httpcall.Handler })
		sent := func() int64 {
			run := b.trigger(id)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
			return run
		}
		theirs, none := sent(), sent()
		until := b.engine.Now().Add(time.Hour)
		if err := b.engine.callbacks.HandOut(t.Context(), Callback{LogID: theirs, JobID: id, Token: "one", Expires: until}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.callbacks.HandOut(t.Context(), Callback{LogID: theirs, JobID: id, Token: "two", Expires: until}); !errors.Is(err, db.ErrDuplicate) {
			t.Errorf("a second address of a run: %v", err)
		}
		if err := b.engine.callbacks.Await(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		for b.run(none).HandleCode == 0 { // which shows that the sweeps would have
			sweep()
		}
		b.finish(theirs, wire.CodeFail, "the executor restarted while the run was going on")
		if r := b.run(theirs); r.Outcome != event.Open || r.HandleCode != 0 {
			t.Fatalf("the run is %v %q", r.Outcome, r.HandleMsg)
		}
		if err := b.engine.callbacks.Report(t.Context(), Report{Token: "one", Code: wire.CodeSuccess, Message: "well", From: "10.0.0.9"}); err != nil {
			t.Fatal(err)
		}
		if r := b.run(theirs); r.Outcome != event.Succeeded || !b.has(theirs, event.Reported) {
			t.Errorf("the run is %v %q", r.Outcome, r.HandleMsg)
		}
		if err := b.engine.callbacks.Report(t.Context(), Report{Token: "one", Code: wire.CodeFail}); !errors.Is(err, ErrCallbackUsed) {
			t.Errorf("a second report: %v", err)
		}
		if err := b.engine.callbacks.Report(t.Context(), Report{Token: "two", Code: wire.CodeFail}); !errors.Is(err, ErrNoCallback) {
			t.Errorf("an address that was not handed out: %v", err)
		}
	})
}

// TestAReportThatWaitedSaysWhenTheWorkEnded: no admin was there for a while, and the target reported again and again.
func TestAReportThatWaitedSaysWhenTheWorkEnded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.AskAfter = 100 * time.Hour }, addressA)
		for name, tt := range map[string]struct{ waited, took time.Duration }{
			"it says for how long":         {4 * time.Minute, 6 * time.Minute},
			"it says nothing":              {0, 10 * time.Minute},
			"longer than the run is there": {time.Hour, 10 * time.Minute},
		} {
			id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorHandler = httpcall.Handler })
			run := b.trigger(id)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
			if err := b.engine.callbacks.HandOut(t.Context(), Callback{LogID: run, JobID: id, Token: name, Expires: b.engine.Now().Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			if err := b.engine.callbacks.Await(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			clock.pass(10 * time.Minute)
			if err := b.engine.callbacks.Report(t.Context(), Report{Token: name, Code: wire.CodeSuccess, Waited: tt.waited}); err != nil {
				t.Fatal(err)
			}
			r := b.run(run)
			if took := time.Duration(r.FinishedAt-r.SentAt) * time.Millisecond; r.Outcome != event.Succeeded || took != tt.took {
				t.Errorf("%s: the run took %v, want %v: %s", name, took, tt.took, b.eventsOf(run))
			}
		}
	})
}

// A job may be deleted while the target of its run works: nothing waits for it any more once its time is over.
func TestACallbackOutlivesNoDeletedRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, sweep := sweeping(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorHandler = httpcall.Handler })
		run := b.trigger(id)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		if err := b.engine.callbacks.HandOut(t.Context(), Callback{LogID: run, JobID: id, Token: "one", Expires: b.engine.Now().Add(-time.Second)}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.callbacks.Await(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", run)
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", id)
		sweep()
		if _, waits, err := b.engine.callbacks.Of(t.Context(), run); waits || err != nil {
			t.Errorf("it is waited for still: %v, %v", waits, err)
		}
	})
}
