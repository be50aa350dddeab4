package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestAnOlderRunOfAFlowCoversNoNewerOne: it came to ask for its place when the newer one had it.
func TestAnOlderRunOfAFlowCoversNoNewerOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", b.addJob(nil))}}, nil)
		newer := b.trigger(job)
		sent := b.runOf(newer, "a")
		older := b.trigger(job)
		b.await("it waits", func() bool { return b.run(older).OwnerNode == waitingOwner })
		b.exec("UPDATE xxl_job_info SET executor_block_strategy = ? WHERE id = ?", string(wire.BlockCoverEarly), job)
		for _, q := range []string{"UPDATE xxl_job_log SET planned_at = ? WHERE id = ?", "UPDATE punctual_slot SET planned_at = ? WHERE log_id = ?"} {
			b.exec(q, b.run(newer).PlannedAt-1000, older)
		}
		rows, err := b.engine.queries.ListRunsByID(t.Context(), pool, []int64{older})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		row, err := b.engine.queries.GetJob(t.Context(), pool, job)
		if err != nil {
			t.Fatal(err)
		}
		d := b.engine.adopted((*db.ListUnsentRunsOfNodeRow)(&rows[0]), waitingOwner, jobOf(&row, pool))
		d.taken, d.waiting, d.waited = false, true, true
		// It is told that there is no place. Fired, it could be in one batch with the engine's own attempt, by how the job was before.
		b.engine.pending.add(d)
		b.engine.noSlot(t.Context(), d, lack{running: 1, limit: 1, waiting: 1})
		if r := b.ended(older); r.Outcome != event.Killed {
			t.Errorf("the older run ended as %v", r.Outcome)
		}
		if e, ok := b.events(older).Last(event.KilledAt); !ok || e.Text(0) != fmt.Sprintf("#%d", newer) {
			t.Errorf("it does not say which run ended it: %s", b.events(older))
		}
		b.finish(sent, 200, "")
		if r := b.ended(newer); r.Outcome != event.Succeeded {
			t.Errorf("the newer run ended as %v", r.Outcome)
		}
		third := b.trigger(job)
		b.finish(b.runOf(third, "a"), 200, "")
		if r := b.ended(third); r.Outcome != event.Succeeded {
			t.Errorf("a run after that ended as %v: its place was not free", r.Outcome)
		}
	})
}

// TestOnlyAFlowThatSaysSoIsEndedByItsNextRun: the next run of any other waits for its place.
func TestOnlyAFlowThatSaysSoIsEndedByItsNextRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		one := b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", one), step("b", one, "a")}}, func(p *db.InsertJobParams) {
			p.ExecutorBlockStrategy = db.Text(wire.BlockSerial)
		})
		first := b.trigger(job)
		sent := b.runOf(first, "a")
		second := b.trigger(job)
		b.await("it waits", func() bool { return b.run(second).OwnerNode == waitingOwner && b.engine.pending.len() == 0 })
		b.finish(sent, 200, "")
		b.finish(b.runOf(first, "b"), 200, "")
		if r := b.ended(first); r.Outcome != event.Succeeded {
			t.Errorf("the first run ended as %v", r.Outcome)
		}
		b.runOf(second, "a")
	})
}

func TestWhichRunOfAFlowIsNewer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		planned, id, thanPlanned, thanID int64
		want                             bool
	}{
		{5, 1, 4, 2, true}, {4, 2, 5, 1, false}, {5, 2, 5, 1, true}, {5, 1, 5, 2, false}, {5, 1, 5, 1, false},
	} {
		if got := isNewer(tt.planned, tt.id, tt.thanPlanned, tt.thanID); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestACoveredRunOfAFlowWhoseStepWaits: the step's run waits for its job's place in the cluster, or at the executor behind another one. It ends
// in either case, is said to have been covered, what cleans up after a stop runs, and the newer run begins.
func TestACoveredRunOfAFlowWhoseStepWaits(t *testing.T) {
	t.Parallel()
	for _, waits := range []string{"in the cluster", "at the executor"} {
		t.Run(waits, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				inCluster := waits == "in the cluster"
				work := b.addJob(func(p *db.InsertJobParams) {
					if inCluster {
						p.MaxConcurrent = 1
					}
				})
				clean := step("clean", b.addJob(nil), "a")
				clean.If = "cancelled()"
				job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", work), step("b", b.addJob(nil), "a"), clean}}, func(p *db.InsertJobParams) {
					p.ExecutorBlockStrategy = db.Text(wire.BlockCoverEarly)
				})
				other := b.trigger(work) // has the place
				b.await("it is sent", func() bool { return b.run(other).TriggerCode == wire.CodeSuccess })
				older := b.trigger(job)
				var waiting int64
				if inCluster {
					b.await("the step's run waits", func() bool {
						waiting = b.steps(older)["a"].RunID
						return waiting != 0 && b.run(waiting).OwnerNode == waitingOwner
					})
				} else {
					waiting = b.runOf(older, "a")
				}
				newer := b.trigger(job)
				if !inCluster { // its executor drops it from its queue, and reports that
					b.await("the executor is asked to end it", func() bool { return b.run(waiting).KillAskedAt != 0 || b.run(waiting).Outcome != event.Open })
					b.finish(waiting, 500, "killed by an admin [job not executed, in the job queue, killed.]")
				}
				if r := b.ended(waiting); r.Outcome != event.Killed {
					t.Errorf("the step's run ended as %v: %s", r.Outcome, b.events(waiting))
				}
				b.finish(b.runOf(older, "clean"), 200, "")
				if r := b.ended(older); r.Outcome != event.Killed || b.states(older) != "a cancelled, b cancelled, clean success" {
					t.Errorf("the older run ended as %v: %s", r.Outcome, b.states(older))
				}
				if e, ok := b.events(older).Last(event.KilledAt); !ok || e.Text(0) != fmt.Sprintf("#%d", newer) {
					t.Errorf("it does not say which run covered it: %s", b.events(older))
				}
				b.finish(other, 200, "")
				b.finish(b.runOf(newer, "a"), 200, "")
				b.finish(b.runOf(newer, "b"), 200, "")
				if r := b.ended(newer); r.Outcome != event.Succeeded || b.states(newer) != "a success, b success, clean skipped" {
					t.Errorf("the newer run ended as %v: %s", r.Outcome, b.states(newer))
				}
			})
		})
	}
}

// TestAStepThatItsExecutorCovers has failed, as any run that an executor ends by its job's block strategy, with the executor's words: the steps after
// it are skipped, and the flow whose step covered it goes on.
func TestAStepThatItsExecutorCovers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		work := b.addJob(func(p *db.InsertJobParams) { p.ExecutorBlockStrategy = db.Text(wire.BlockCoverEarly) })
		after := step("after", b.addJob(nil), "a")
		mend := step("mend", b.addJob(nil), "a")
		mend.If = "failure()"
		older := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("a", work), after, mend}}, nil))
		covered := b.runOf(older, "a")
		newer := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("a", work)}}, nil))
		sent := b.runOf(newer, "a")
		const words = "block strategy effect：Cover Early [job not executed, in the job queue, killed.]"
		b.finish(covered, 500, words)
		b.finish(b.runOf(older, "mend"), 200, "")
		if r := b.ended(older); r.Outcome != event.Failed || b.states(older) != "a failed, after skipped, mend success" {
			t.Errorf("the older flow ended as %v: %s", r.Outcome, b.states(older))
		}
		if r := b.run(covered); r.Outcome != event.Failed || string(r.HandleMsg) != words {
			t.Errorf("the step's run: %v, %q", r.Outcome, r.HandleMsg)
		}
		if e, ok := b.events(older).Last(event.FlowFailed); !ok || e.Text(0) != "a" {
			t.Errorf("it does not say which step failed: %s", b.events(older))
		}
		b.finish(sent, 200, "")
		if r := b.ended(newer); r.Outcome != event.Succeeded {
			t.Errorf("the newer flow ended as %v", r.Outcome)
		}
	})
}
