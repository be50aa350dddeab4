package scheduler

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestAFlowThatIsAStepOfSeveralFlowsAtOnce goes by its own block strategy, and each flow around it by what became of its run: it waits, is discarded, or is
// covered.
func TestAFlowThatIsAStepOfSeveralFlowsAtOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		block wire.Block
		limit int64
		want  []event.Outcome // of the three flows around it
		state []string        // of their steps
	}{
		{"one after the other", wire.BlockSerial, 0, []event.Outcome{event.Succeeded, event.Succeeded, event.Succeeded}, []string{"in success, after success", "in success, after success", "in success, after success"}},
		{"two at a time", wire.BlockSerial, 2, []event.Outcome{event.Succeeded, event.Succeeded, event.Succeeded}, []string{"in success, after success", "in success, after success", "in success, after success"}},
		{"the later are discarded", wire.BlockDiscardLater, 0, []event.Outcome{event.Succeeded, event.Failed, event.Failed}, []string{"in success, after success", "in failed, after skipped", "in failed, after skipped"}},
		{"the third is discarded", wire.BlockDiscardLater, 2, []event.Outcome{event.Succeeded, event.Succeeded, event.Failed}, []string{"in success, after success", "in success, after success", "in failed, after skipped"}},
		{"the earlier are covered", wire.BlockCoverEarly, 0, []event.Outcome{event.Killed, event.Killed, event.Succeeded}, []string{"in cancelled, after skipped", "in cancelled, after skipped", "in success, after success"}},
		{"the first is covered", wire.BlockCoverEarly, 2, []event.Outcome{event.Killed, event.Succeeded, event.Succeeded}, []string{"in cancelled, after skipped", "in success, after success", "in success, after success"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				work, last := b.addJob(nil), b.addJob(nil)
				inner := b.addFlow(flow.Definition{Steps: []flow.Step{step("work", work)}}, func(p *db.InsertJobParams) {
					p.ExecutorBlockStrategy, p.MaxConcurrent = db.Text(tc.block), tc.limit
				})
				outer := func() int64 {
					run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "in", Flow: &flow.JobRef{ID: inner}}, step("after", last, "in")}}, nil))
					b.await("its step has a run", func() bool { return b.steps(run)["in"].RunID != 0 })
					return run
				}
				runs := make([]int64, len(tc.want))
				for i := range runs {
					runs[i] = outer()
					sub := b.steps(runs[i])["in"].RunID
					b.await("its run has begun, waits or is over", func() bool {
						r := b.run(sub)
						return r.Outcome != event.Open || r.OwnerNode == waitingOwner || b.steps(sub)["work"].RunID != 0
					})
				}
				for i, run := range runs {
					sub := b.steps(run)["in"].RunID
					b.await("it is to end, where it is covered", func() bool {
						work := b.steps(sub)["work"].RunID
						return tc.want[i] != event.Killed || b.run(sub).Outcome != event.Open || work != 0 && b.run(work).KillAskedAt != 0
					})
				}
				done := make(map[int64]bool)
				for !tidy(b, runs) {
					for _, job := range []int64{work, last} {
						for _, r := range b.runsOf(job) {
							if r.TriggerCode == wire.CodeSuccess && r.HandleCode == 0 && !done[r.ID] {
								done[r.ID] = true
								code := wire.CodeSuccess
								if r.KillAskedAt != 0 {
									code = wire.CodeFail
								}
								b.finish(r.ID, code, "")
							}
						}
					}
					n := b.countRuns("handle_code = 0 AND trigger_code IN (0, 200)")
					b.await("something goes on", func() bool {
						return tidy(b, runs) || n != b.countRuns("handle_code = 0 AND trigger_code IN (0, 200)") || b.open(done, work, last)
					})
				}
				for i, run := range runs {
					if r := b.ended(run); r.Outcome != tc.want[i] || b.states(run) != tc.state[i] {
						t.Errorf("flow %d ended as %v: %s", i, r.Outcome, b.states(run))
					}
				}
			})
		})
	}
}

// tidy says whether these runs are over.
func tidy(b *bundle, runs []int64) bool {
	for _, run := range runs {
		if b.run(run).Outcome == event.Open {
			return false
		}
	}
	return true
}

// open says whether a run of these jobs waits for a result that it was not given.
func (b *bundle) open(given map[int64]bool, jobs ...int64) bool {
	for _, job := range jobs {
		for _, r := range b.runsOf(job) {
			if r.TriggerCode == wire.CodeSuccess && r.HandleCode == 0 && !given[r.ID] {
				return true
			}
		}
	}
	return false
}

// TestAFlowThatIsAStepIsDeletedWhileItRuns: what it runs ends, its step has failed, and the flow around it comes to its end.
func TestAFlowThatIsAStepIsDeletedWhileItRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		work := b.addJob(nil)
		inner := b.addFlow(flow.Definition{Steps: []flow.Step{step("work", work)}}, nil)
		clean := step("clean", work, "in")
		clean.If = "always()"
		run := b.trigger(b.addFlow(flow.Definition{OnFailure: flow.OnFailureContinue, Steps: []flow.Step{{ID: "in", Flow: &flow.JobRef{ID: inner}}, clean}}, nil))
		sub := b.runOf(run, "in")
		of := b.runOf(sub, "work")
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", inner)
		if _, err := b.engine.upkeep.DeleteRunsOfJob(t.Context(), inner, 100); err != nil {
			t.Fatal(err)
		}
		if r := b.ended(of); r.Outcome != event.Killed {
			t.Errorf("what it ran ended as %v", r.Outcome)
		}
		b.await("the next step has a run", func() bool { return b.steps(run)["clean"].RunID != 0 })
		b.finish(b.runOf(run, "clean"), 200, "")
		if r := b.ended(run); r.Outcome != event.Failed || b.states(run) != "in failed, clean success" {
			t.Errorf("the flow around it ended as %v: %s", r.Outcome, b.states(run))
		}
	})
}
