package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestOneAnswerHolds of several that are given to an approval at once, by the admins of a cluster, and while somebody stops the flow: the others are refused
// and leave no trace, the step says who gave the one that holds, and the flow goes on by it.
func TestOneAnswerHolds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		engines := []*Engine{b.engine, b.engine}
		if pool.Dialect() == db.MySQL {
			engines[1] = b.second(nil)
		}
		pay := b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "ask", Approve: &flow.Approve{}}, step("pay", pay, "ask")}}, nil)
		for round := range 20 {
			run := b.trigger(job)
			b.await("it asks", func() bool { return b.states(run) == "ask approval, pay waiting" })
			var mu sync.Mutex
			held := make(map[string]bool) // who was told that theirs holds
			var all sync.WaitGroup
			for i := range 6 {
				who, yes := fmt.Sprintf("user%d", i), i%2 == 0
				all.Go(func() {
					kept := false
					err := engines[i%len(engines)].flows.Approve(t.Context(), StepDeed{Run: run, Step: "ask", User: who, Within: func(context.Context, *sql.Tx) error {
						kept = true
						return nil
					}}, yes)
					switch {
					case err == nil:
						mu.Lock()
						held[who] = yes
						mu.Unlock()
						if !kept {
							t.Errorf("the answer of %s is not in the record", who)
						}
					case !errors.Is(err, ErrNoQuestion) && !errors.Is(err, ErrFlowEnded):
						t.Errorf("%s is told %v", who, err)
					}
				})
			}
			if round%2 == 1 {
				all.Go(func() {
					if err := engines[round/2%len(engines)].Kill(t.Context(), run, "stopper"); err != nil && !errors.Is(err, ErrRunNotRunning) {
						t.Errorf("the stop is told %v", err)
					}
				})
			}
			all.Wait()
			ask := b.steps(run)["ask"]
			if len(held) > 1 || len(held) == 0 && round%2 == 0 {
				t.Fatalf("round %d: %d answers hold: %v", round, len(held), held)
			}
			for who, yes := range held {
				want := flow.Rejected
				if yes {
					want = flow.Success
				}
				if string(ask.DecidedBy) != who || flow.State(ask.State) != want {
					t.Errorf("round %d: %s said %v, and the step is %v by %q", round, who, yes, flow.State(ask.State), ask.DecidedBy)
				}
				if round%2 == 0 && yes {
					b.finish(b.runOf(run, "pay"), 200, "")
				}
			}
			if len(held) == 0 && (string(ask.DecidedBy) != "" || flow.State(ask.State) != flow.Cancelled) {
				t.Errorf("round %d: nobody's answer holds, and the step is %v by %q", round, flow.State(ask.State), ask.DecidedBy)
			}
			if round%2 == 1 { // it was stopped, before or behind the answer
				b.await("what runs of it has ended", func() bool {
					if r := b.steps(run)["pay"].RunID; r != 0 && b.run(r).KillAskedAt != 0 && b.run(r).HandleCode == 0 {
						b.finish(r, 500, "killed")
					}
					return b.run(run).Outcome != event.Open
				})
			}
			b.ended(run)
		}
	})
}
