package scheduler

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// lose gives a run up as the engine does when nobody has it any more.
func (b *bundle) lose(run int64) {
	b.t.Helper()
	if err := b.engine.complete(b.t.Context(), []finishing{{id: run, code: wire.CodeFail, given: event.Lost}}); err != nil {
		b.t.Fatal(err)
	}
	if r := b.run(run); r.Outcome != event.Lost {
		b.t.Fatalf("it is not lost: %+v", r)
	}
}

// TestAResultWithoutACodeSaysNothing: an executor that leaves the code out has not said how the run ended, whether it is open or lost.
func TestAResultWithoutACodeSaysNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		run := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		for _, code := range []int{0, -1} {
			if b.finish(run, code, "nothing"); b.run(run).HandleCode != 0 || b.run(run).Outcome != event.Open {
				t.Errorf("code %d ends an open run: %+v", code, b.run(run))
			}
		}
		b.lose(run)
		for _, code := range []int{0, -1} {
			if b.finish(run, code, "nothing"); b.run(run).HandleCode != wire.CodeFail || b.run(run).Outcome != event.Lost {
				t.Errorf("code %d takes the place of a loss: %+v", code, b.run(run))
			}
		}
		if b.finish(run, wire.CodeSuccess, "done"); b.run(run).Outcome != event.Succeeded {
			t.Errorf("a late success: %+v", b.run(run))
		}
		if b.finish(run, wire.CodeFail, "no"); b.run(run).Outcome != event.Succeeded || b.run(run).HandleCode != wire.CodeSuccess {
			t.Errorf("a result after a success: %+v", b.run(run))
		}
	})
}

// TestOneRequestWithAllKindsOfResults: of an open run, of two that were lost, of one whose job is deleted, the
// first of two of one run, and of one that is not here. Each counts as if it had come alone.
func TestOneRequestWithAllKindsOfResults(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		child := b.addJob(nil)
		parent := b.addJob(func(p *db.InsertJobParams) { p.ChildJobIDs = db.Text(fmt.Sprint(child)) })
		deleted := b.addJob(nil)
		open, late, worse, twice, left := b.trigger(parent), b.trigger(parent), b.trigger(parent), b.trigger(parent), b.trigger(deleted)
		const unknown = 1 << 40
		b.await("all are sent", func() bool { return b.countRuns("trigger_code = 200") == 5 })
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", deleted)
		b.lose(late)
		b.lose(worse)
		by := Caller{Address: "10.1.2.3", AppName: "orders"}
		err := b.engine.CompleteBy(t.Context(), by, func(string) bool { return true }, []wire.Callback{
			{LogID: late, HandleCode: wire.CodeSuccess, HandleMsg: "done"},
			{LogID: open, HandleCode: wire.CodeSuccess},
			{LogID: unknown, HandleCode: wire.CodeSuccess},
			{LogID: worse, HandleCode: wire.CodeFail},
			{LogID: left, HandleCode: wire.CodeSuccess},
			{LogID: twice, HandleCode: wire.CodeFail, HandleMsg: "first"},
			{LogID: twice, HandleCode: wire.CodeSuccess},
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]event.Outcome{open: event.Succeeded, late: event.Succeeded, left: event.Succeeded, worse: event.Failed, twice: event.Failed} {
			if r := b.run(id); r.Outcome != want {
				t.Errorf("outcome %s, want %s: %+v", r.Outcome, want, r)
			}
		}
		b.await("both children are sent", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", child) == 2 })
		if n := len(b.runsOf(child)); n != 2 {
			t.Errorf("%d children of two successes", n)
		}
		refused, err := b.engine.RefusedCalls(t.Context())
		if err != nil || len(refused) != 1 || refused[0].Why != RefusedRun || refused[0].Count != 1 {
			t.Errorf("refused were %+v, %v; want the one result of a run that is not here", refused, err)
		}
		// As many late successes as open runs, whose children are made and whose rows are written one apart from the other.
		open, late = b.trigger(parent), b.trigger(parent)
		b.await("both are sent", func() bool { return b.run(open).TriggerCode == 200 && b.run(late).TriggerCode == 200 })
		b.lose(late)
		if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: open, HandleCode: wire.CodeSuccess}, {LogID: late, HandleCode: wire.CodeSuccess}}); err != nil {
			t.Fatal(err)
		}
		if one, two := b.run(open), b.run(late); one.Outcome != event.Succeeded || two.Outcome != event.Succeeded || len(b.runsOf(child)) != 4 {
			t.Errorf("outcomes %s and %s, and %d children", one.Outcome, two.Outcome, len(b.runsOf(child)))
		}
		b.settled()
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		today := b.today()
		if got, rows := reported(t, b.engine, today), counted(t, b.engine, today); got != rows {
			t.Errorf("counted %+v, by the rows %+v", got, rows)
		}
	})
}

// woken is [heard], and counts how often it was woken.
type woken struct {
	heard
	wakes atomic.Int64
}

func (w *woken) Wake() { w.wakes.Add(1) }

// causes are what was raised since it was asked last, if it was woken for that, once.
func (w *woken) causes() string {
	var causes []string
	for _, e := range w.events {
		causes = append(causes, string(e.Cause))
	}
	if n := w.wakes.Swap(0); n != int64(min(1, len(causes))) {
		causes = append(causes, fmt.Sprintf("woken %d times", n))
	}
	w.events = nil
	return strings.Join(causes, ", ")
}

// TestWhatALateResultIsToldOf: a success after a loss is a recovery, of what somebody was told; a failure is no news, and nothing of a trial is.
func TestWhatALateResultIsToldOf(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &woken{}
		b := setup(t, pool, func(c *Config) { c.Alarms, c.AskAfter = alarms, time.Hour }, addressA)
		job := b.addJob(nil)
		script, _ := b.scripted()
		for _, tt := range []struct {
			name             string
			run              int64
			code             int
			wantLost, wanted string
		}{
			{"a success", b.trigger(job), wire.CodeSuccess, "lost", "recovered"},
			{"a failure", b.trigger(job), wire.CodeFail, "lost", ""},
			{"of a trial", b.try(script, "echo 1"), wire.CodeSuccess, "", ""},
		} {
			b.await("it is sent", func() bool { return b.run(tt.run).TriggerCode == 200 })
			alarms.causes()
			b.lose(tt.run)
			if got := alarms.causes(); got != tt.wantLost {
				t.Errorf("%s: of the loss is told %q, want %q", tt.name, got, tt.wantLost)
			}
			b.finish(tt.run, tt.code, "late")
			if got := alarms.causes(); got != tt.wanted {
				t.Errorf("%s: of the result is told %q, want %q", tt.name, got, tt.wanted)
			}
		}
	})
}
