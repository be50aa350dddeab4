package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestGaleraFlowsGoOnWhenNodesAreLost has two admins, each on a node of its own, move the same runs of flows by turns and together, each with what it
// decided last in its memory, while first the node of the one is killed and then that of the other leaves. Both go on with the third. What an
// admin was told was committed may be lost with a node, and what it was told had failed may have been committed: no step runs twice, and none is left.
func TestGaleraFlowsGoOnWhenNodesAreLost(t *testing.T) {
	const flows = 90
	g := dbtest.NewGalera(t)
	name := g.Database(t)
	executors := &fakeExecutors{has: make(map[int64]string)}
	engines := make([]*Engine, 2)
	for i := range engines {
		pool := dbtest.Open(t, db.Config{URL: g.URL(name, g.Addr(i), g.Addr(2))})
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		engines[i] = newEngine(t, pool, executors, func(c *Config) { c.Name = fmt.Sprintf("admin%d", i+1) })
	}
	b := &bundle{t: t, pool: dbtest.Open(t, db.Config{URL: g.URL(name, g.Addr(2))}), executors: executors, engine: engines[0]} // looks at the node that stays
	b.group = b.addGroup("orders", addressA, addressB)
	jobs := make([]int64, 5)
	for i := range jobs {
		jobs[i] = b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 0 })
	}
	left, right := step("left", jobs[1], "first"), step("right", jobs[2], "first")
	out, last := step("out", jobs[3], "left", "right"), step("last", jobs[4], "out")
	last.If = "always()"
	job := b.addFlow(flow.Definition{OnFailure: flow.OnFailureContinue, Steps: []flow.Step{step("first", jobs[0]), left, right, out, last}}, func(p *db.InsertJobParams) { p.MaxConcurrent = flows })

	// Results of runs that leave at the same time come at both admins, until one takes them, as executors do.
	results := make(chan int64, 100_000)
	executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		results <- req.LogID
		return yes, nil
	}
	done := make(chan struct{})
	var turns atomic.Int64
	var reporters sync.WaitGroup
	for range 6 {
		reporters.Go(func() {
			for {
				select {
				case id := <-results:
					b.untilTaken(engines, &turns, func(ctx context.Context, e *Engine) error {
						return e.Complete(ctx, []wire.Callback{{LogID: id, HandleCode: 200}})
					})
				case <-done:
					return
				}
			}
		})
	}
	stop := sync.OnceFunc(func() {
		close(done)
		reporters.Wait()
	})
	defer stop()
	for _, e := range engines {
		b.startEngine(e)
	}
	b.await("the admins share the work", func() bool { return len(engines[0].Load().Alive) == len(engines) })

	var skips sync.WaitGroup
	for i := range flows {
		switch i {
		case flows / 3:
			g.Nodes[0].Kill()
		case 2 * flows / 3:
			g.Nodes[1].Stop()
		}
		var run int64
		b.untilTaken(engines, &turns, func(ctx context.Context, e *Engine) error {
			ids, err := e.Trigger(ctx, TriggerRequest{JobID: job, Type: jobspec.TriggerManual})
			if err == nil {
				run = ids[0]
			}
			return err
		})
		if i%3 == 0 {
			skips.Go(func() { // as soon as it has begun; it may have gone by, or its admin be without a node
				for range 100 {
					if err := engines[i%2].flows.SkipStep(t.Context(), StepDeed{Run: run, Step: "out", User: "eve"}); !errors.Is(err, ErrNoFlowRun) {
						return
					}
					<-time.After(5 * time.Millisecond)
				}
			})
		}
		if _, err := b.engine.queries.GetFlowRun(t.Context(), b.pool, run); err == nil { // it has begun, and the third node knows
			b.wantKeptAsStored(engines, run)
		}
	}
	skips.Wait()
	begun := len(b.runsOf(job)) // more than flows where a trigger was told to have failed
	b.awaitNone("outcome = 0")
	stop()

	for _, r := range b.runsOf(job) {
		if r.Outcome != event.Succeeded {
			t.Errorf("run %d ended as %v: %s", r.ID, r.Outcome, b.states(r.ID))
		}
		for name, s := range b.steps(r.ID) {
			if state := flow.State(s.State); state != flow.Success && (state != flow.Skipped || name != "out") || state == flow.Success && s.RunID == 0 {
				t.Errorf("step %s of run %d is %v, run %d", name, r.ID, state, s.RunID)
			}
		}
		b.wantKeptAsStored(engines, r.ID)
	}
	for i, id := range jobs {
		if n := len(b.runsOf(id)); n > begun || n < begun && i != 3 {
			t.Errorf("the job of step %d ran %d times in %d runs of the flow", i, n, begun)
		}
	}
	t.Logf("%d runs of the flow, in %d of which nobody skipped the step; admins decided %d and %d", begun, len(b.runsOf(jobs[3])),
		b.countRuns("owner_node = ?", engines[0].node.ID()), b.countRuns("owner_node = ?", engines[1].node.ID()))
}

// untilTaken asks the admins by turns until one has done something.
func (b *bundle) untilTaken(engines []*Engine, turns *atomic.Int64, do func(context.Context, *Engine) error) {
	b.t.Helper()
	ctx := context.WithoutCancel(b.t.Context())
	if err := executortest.Within(ctx, executortest.Patience, func() error { return do(ctx, engines[int(turns.Add(1))%len(engines)]) }); err != nil {
		b.t.Errorf("no admin does it: %v", err)
	}
}
