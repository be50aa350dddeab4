package scheduler

import (
	"fmt"
	"testing"

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

// TestOneRequestWithAllKindsOfResults: of an open run, of two that were lost, the first of two of one run, and of one that is not here.
// Each counts as if it had come alone.
func TestOneRequestWithAllKindsOfResults(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		child := b.addJob(nil)
		parent := b.addJob(func(p *db.InsertJobParams) { p.ChildJobIDs = db.Text(fmt.Sprint(child)) })
		open, late, worse, twice := b.trigger(parent), b.trigger(parent), b.trigger(parent), b.trigger(parent)
		const unknown = 1 << 40
		b.await("all are sent", func() bool { return b.countRuns("trigger_code = 200") == 4 })
		b.lose(late)
		b.lose(worse)
		by := Caller{Address: "10.1.2.3", AppName: "orders"}
		err := b.engine.CompleteBy(t.Context(), by, func(string) bool { return true }, []wire.Callback{
			{LogID: late, HandleCode: wire.CodeSuccess, HandleMsg: "done"},
			{LogID: open, HandleCode: wire.CodeSuccess},
			{LogID: unknown, HandleCode: wire.CodeSuccess},
			{LogID: worse, HandleCode: wire.CodeFail},
			{LogID: twice, HandleCode: wire.CodeFail, HandleMsg: "first"},
			{LogID: twice, HandleCode: wire.CodeSuccess},
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]event.Outcome{open: event.Succeeded, late: event.Succeeded, worse: event.Failed, twice: event.Failed} {
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
		b.settled()
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, rows := reported(t, b.engine, b.today()), counted(t, b.engine, b.today()); got != rows {
			t.Errorf("counted %+v, by the rows %+v", got, rows)
		}
	})
}
