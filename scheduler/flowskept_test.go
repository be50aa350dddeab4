package scheduler

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestWhatIsKeptOfAFlowIsNeverOld: two admins keep the same runs of flows, and by turns and together record ends, skip steps and set them to success,
// while each has in memory what it decided last. Whatever they do, each step runs once, and what is in memory with the revision of the row is
// what the rows say.
func TestWhatIsKeptOfAFlowIsNeverOld(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		engines := []*Engine{b.engine, b.second(nil)}
		jobs := make([]int64, 5)
		for i := range jobs {
			jobs[i] = b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 0 })
		}
		left, right := step("left", jobs[1], "first"), step("right", jobs[2], "first")
		out, last := step("out", jobs[3], "left"), step("last", jobs[4], "left", "right", "out")
		last.If = "always()"
		job := b.addFlow(flow.Definition{OnFailure: flow.OnFailureContinue, Steps: []flow.Step{step("first", jobs[0]), left, right, out, last}},
			func(p *db.InsertJobParams) { p.MaxConcurrent = 100 })
		const rounds = 6
		for round := range rounds {
			run := b.trigger(job)
			one, two := engines[round%2], engines[(round+1)%2]
			end := func(e *Engine, id int64, code int) {
				t.Helper()
				if err := e.Complete(t.Context(), []wire.Callback{{LogID: id, HandleCode: code}}); err != nil {
					t.Error(err)
				}
			}
			end(one, b.runOf(run, "first"), 200)
			ids := []int64{b.runOf(run, "left"), b.runOf(run, "right")}
			b.wantKeptAsStored(engines, run)

			// One skips what waits for the end that the other records, and both record an end.
			var both sync.WaitGroup
			var skipped error
			both.Go(func() { end(one, ids[0], 200) })
			both.Go(func() { end(two, ids[1], []int{200, 500}[round%2]) })
			both.Go(func() { skipped = two.flows.SkipStep(t.Context(), StepDeed{Run: run, Step: "out", User: "eve"}) })
			both.Wait()
			b.wantKeptAsStored(engines, run)
			if skipped != nil {
				if !errors.Is(skipped, ErrStepNotSo) {
					t.Errorf("round %d: %v", round, skipped)
				}
				end(two, b.runOf(run, "out"), 200)
			}
			b.wantKeptAsStored(engines, run)
			end(one, b.runOf(run, "last"), 200)
			if r := b.ended(run); r.Outcome != []event.Outcome{event.Succeeded, event.Failed}[round%2] {
				t.Errorf("round %d ended as %v: %s", round, r.Outcome, b.states(run))
			}
			b.wantKeptAsStored(engines, run)
		}
		for i, id := range jobs {
			if n := len(b.runsOf(id)); n != rounds && (i != 3 || n > rounds) {
				t.Errorf("the job of step %d ran %d times in %d runs of the flow", i, n, rounds)
			}
		}
	})
}

// TestTheEndOfAStepWaitsForNoCompany: the next step waits for it, also where it came before the answer to its request, or long after.
func TestTheEndOfAStepWaitsForNoCompany(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		plain := b.trigger(b.addJob(nil))
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil))}}, nil))
		first := b.runOf(run, "first")
		b.await("the step is kept", func() bool { return b.engine.urgent(finishing{id: first, code: 200}) })
		if b.engine.urgent(finishing{id: plain, code: 200}) {
			t.Error("the result of a run of no flow waits for no company either")
		}

		// Nor does a flow that is a step: its beginning, and its end.
		inner := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "wait", Wait: &flow.Wait{Seconds: 3600}}}}, func(p *db.InsertJobParams) { p.JobDesc = "inner" })
		outer := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "inner", Flow: &flow.JobRef{ID: inner}}}}, nil))
		end := finishing{id: b.runOf(outer, "inner"), code: 200, flow: true}
		b.await("the inner flow is kept", func() bool { return b.engine.urgent(end) })
		if of := b.engine.beginner.patience; of(&dispatch{step: 1}) != 0 || of(&dispatch{}) == 0 {
			t.Error("a flow that is a step begins with company, or all others without")
		}
	})
}

// wantKeptAsStored says that what an admin would take from its memory for the revision that is in the database is what is there.
func (b *bundle) wantKeptAsStored(engines []*Engine, run int64) {
	b.t.Helper()
	row, err := b.engine.queries.GetFlowRun(b.t.Context(), b.pool, run)
	if err != nil {
		b.t.Fatal(err)
	}
	steps, err := b.engine.queries.ListFlowSteps(b.t.Context(), b.pool, []int64{run})
	if err != nil {
		b.t.Fatal(err)
	}
	after, err := b.engine.queries.GetFlowRun(b.t.Context(), b.pool, run)
	if err != nil || after.Revision != row.Revision {
		return // somebody decides just now
	}
	said := func(state, attempt, run, going, begun, ended int64) string {
		return fmt.Sprintf("state %d, attempt %d, run %d, going %d, from %d to %d", state, attempt, run, going, begun, ended)
	}
	for i, e := range engines {
		f := e.flows.kept.at(run, row.Revision)
		if f == nil {
			continue
		}
		if row.State != flowGoing {
			b.t.Errorf("admin %d keeps a run that is over", i)
		}
		for _, r := range steps {
			s := f.steps[f.plan.place[r.Step]]
			want, got := said(r.State, r.Attempt, r.RunID, r.Going, r.BeganAt, r.EndedAt), said(s.State, s.Attempt, s.RunID, s.Going, s.BeganAt, s.EndedAt)
			if got != want || s.ID != r.ID {
				b.t.Errorf("admin %d keeps of step %s: %s, want %s", i, r.Step, got, want)
			}
		}
	}
}
