package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestAdminsOnTheNodesOfAGaleraCluster has one admin work on each node of a cluster, and results arrive at any of them, so
// that certification conflicts happen all the time. TEST_GALERA_SECONDS is for how long.
func TestAdminsOnTheNodesOfAGaleraCluster(t *testing.T) {
	seconds, err := strconv.Atoi(cmp.Or(os.Getenv("TEST_GALERA_SECONDS"), "6"))
	if err != nil {
		t.Fatal(err)
	}
	g := dbtest.NewGalera(t)
	name := g.Database(t)
	executors := &fakeExecutors{has: make(map[int64]string)}
	bundles := make([]*bundle, len(g.Nodes))
	for i := range g.Nodes {
		pool := dbtest.Open(t, db.Config{URL: g.URL(name, g.Addr(i))})
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := &bundle{t: t, pool: pool, executors: executors}
		b.engine = newEngine(t, pool, executors, func(c *Config) { c.Name = fmt.Sprintf("admin%d", i+1); c.ClaimEvery = 200 * time.Millisecond })
		bundles[i] = b
	}
	b := bundles[0]
	b.group = b.addGroup("orders", addressA, addressB)

	// Each run is received once; "fails" fails at its first attempt.
	var received sync.Map
	var twice, reports atomic.Int64
	results := make(chan wire.Callback, 100_000)
	executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		if _, had := received.LoadOrStore(req.LogID, true); had {
			twice.Add(1)
		}
		code := 200
		if req.ExecutorParams == "fails" {
			code = 500
		}
		results <- wire.Callback{LogID: req.LogID, HandleCode: code}
		return yes, nil
	}
	done := make(chan struct{})
	var reporters sync.WaitGroup
	for range 4 {
		reporters.Go(func() {
			for {
				select {
				case c := <-results:
					for try := 0; ; try++ { // as an executor would: until somebody takes it
						to := bundles[int(reports.Add(1))%len(bundles)].engine
						if err := to.Complete(context.WithoutCancel(t.Context()), []wire.Callback{c}); err == nil || try > 100 {
							break
						}
					}
				case <-done:
					return
				}
			}
		})
	}
	const jobs = 90
	ids := make([]int64, jobs)
	first := time.Now().Add(2 * time.Second).Truncate(time.Second)
	for i := range ids {
		ids[i] = b.addJob(func(p *db.InsertJobParams) {
			p.ScheduleConf = "1"
			switch {
			case i%5 == 0:
				p.ExecutorFailRetryCount, p.ExecutorParam = 1, "fails"
			case i%5 == 1:
				p.MaxConcurrent = 1
			}
		})
	}
	for _, other := range bundles {
		other.startEngine(other.engine)
	}
	b.await("the admins share the work", func() bool { return len(b.engine.Load().Alive) == len(bundles) })
	for _, id := range ids {
		b.start(id, first)
	}
	until := first.Add(time.Duration(seconds) * time.Second)
	<-time.After(time.Until(until)) // the load goes on for so long
	b.haltJobs()
	const open = "trigger_code = 0 OR trigger_code = 200 AND handle_code = 0"
	ended := time.After(time.Minute) // what a dead admin sent and could not record is found within half of that
	for b.countRuns(open) > 0 {
		select {
		case <-time.After(100 * time.Millisecond):
			continue
		case <-ended:
		}
		for _, r := range b.allRuns() {
			if r.TriggerCode == 0 || r.TriggerCode == 200 && r.HandleCode == 0 {
				t.Errorf("run %d of job %d, owner %d: %d %d %s", r.ID, r.JobID, r.OwnerNode, r.TriggerCode, r.HandleCode, r.TriggerMsg)
			}
		}
		break
	}
	close(done)
	reporters.Wait()

	fires, failing := 0, 0
	for i, id := range ids {
		n := b.checkFires(id, first, time.Second)
		fires += n
		if i%5 == 0 {
			failing += n
		}
	}
	if n := b.countRuns("trigger_type = 'RETRY'"); n != failing {
		t.Errorf("%d retries of %d failures", n, failing)
	}
	if n := b.countRuns("trigger_code <> 200"); n > 0 || twice.Load() > 0 {
		t.Errorf("%d runs were not sent, %d were sent twice", n, twice.Load())
	}
	byOwner := ""
	for i, other := range bundles {
		byOwner += fmt.Sprintf(" admin%d: %d", i+1, b.countRuns("owner_node = ?", other.engine.node.ID()))
	}
	t.Logf("%d fires, %d retries;%s", fires, failing, byOwner)
}

// TestAJoinStartsOnceOnAGaleraCluster has the ends of two parents reported on two nodes at the same time, each of which lets the join start
// as far as it can see.
func TestAJoinStartsOnceOnAGaleraCluster(t *testing.T) {
	const flows = 40
	g := dbtest.NewGalera(t)
	name := g.Database(t)
	executors := &fakeExecutors{has: make(map[int64]string)}
	bundles := make([]*bundle, len(g.Nodes))
	for i := range g.Nodes {
		pool := dbtest.Open(t, db.Config{URL: g.URL(name, g.Addr(i))})
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := &bundle{t: t, pool: pool, executors: executors}
		b.engine = newEngine(t, pool, executors, func(c *Config) { c.Name = fmt.Sprintf("admin%d", i+1) })
		bundles[i] = b
	}
	b := bundles[0]
	b.group = b.addGroup("orders", addressA, addressB)
	left, right, joined := b.addJob(nil), b.addJob(nil), b.addJob(nil)
	job := b.addFlow(flow.Definition{Steps: []flow.Step{step("left", left), step("right", right), step("join", joined, "left", "right")}}, func(p *db.InsertJobParams) { p.MaxConcurrent = flows })
	for _, other := range bundles {
		other.startEngine(other.engine)
	}
	b.await("the admins share the work", func() bool { return len(b.engine.Load().Alive) == len(bundles) })
	runs := make([]int64, flows)
	for i := range runs {
		runs[i] = b.trigger(job)
	}
	report := func(on int, run int64) {
		for range 100 { // as an executor would: until somebody takes it
			if bundles[on%len(bundles)].engine.Complete(t.Context(), []wire.Callback{{LogID: run, HandleCode: 200}}) == nil {
				return
			}
		}
		t.Errorf("nobody took the result of run %d", run)
	}
	for i, run := range runs {
		first, second := b.runOf(run, "left"), b.runOf(run, "right")
		var both sync.WaitGroup
		both.Go(func() { report(i, first) })
		both.Go(func() { report(i+1, second) })
		both.Wait()
	}
	for i, run := range runs {
		report(i+2, b.runOf(run, "join"))
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("run %d ended as %v: %s", run, r.Outcome, b.states(run))
		}
	}
	if n := len(b.runsOf(joined)); n != flows {
		t.Errorf("%d joins of %d", n, flows)
	}
}
