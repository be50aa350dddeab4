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
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// onGalera has an engine, not started, on each node of a cluster. The first one's group of executors is all of theirs.
func onGalera(t *testing.T, change func(*Config)) []*bundle {
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
		b.engine = newEngine(t, pool, executors, func(c *Config) {
			if c.Name = fmt.Sprintf("admin%d", i+1); change != nil {
				change(c)
			}
		})
		bundles[i] = b
	}
	bundles[0].group = bundles[0].addGroup("orders", addressA, addressB)
	return bundles
}

// share starts the engines and waits until all of them know of all.
func share(bundles []*bundle) {
	for _, b := range bundles {
		b.startEngine(b.engine)
	}
	b := bundles[0]
	b.await("the admins share the work", func() bool { return len(b.engine.Load().Alive) == len(bundles) })
}

// complete reports a result to an admin, as an executor would: until one takes it.
func complete(bundles []*bundle, on int, run int64) {
	b := bundles[on%len(bundles)]
	err := executortest.Within(b.t.Context(), executortest.Patience, func() error {
		return b.engine.Complete(b.t.Context(), []wire.Callback{{LogID: run, HandleCode: 200}})
	})
	if err != nil {
		b.t.Errorf("nobody takes the result of run %d: %v", run, err)
	}
}

// TestAdminsOnTheNodesOfAGaleraCluster has one admin work on each node of a cluster, and results arrive at any of them, so
// that certification conflicts happen all the time. TEST_GALERA_SECONDS is for how long.
func TestAdminsOnTheNodesOfAGaleraCluster(t *testing.T) {
	seconds, err := strconv.Atoi(cmp.Or(os.Getenv("TEST_GALERA_SECONDS"), "6"))
	if err != nil {
		t.Fatal(err)
	}
	bundles := onGalera(t, func(c *Config) { c.ClaimEvery, c.MisfireAfter = 200*time.Millisecond, time.Hour })
	b := bundles[0]
	executors := b.executors

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
					ctx := context.WithoutCancel(t.Context())
					err := executortest.Within(ctx, executortest.Patience, func() error { // as an executor would: until somebody takes it
						return bundles[int(reports.Add(1))%len(bundles)].engine.Complete(ctx, []wire.Callback{c})
					})
					if err != nil {
						t.Errorf("nobody takes a result: %v", err)
					}
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
	const jobs = 90
	ids := make([]int64, jobs)
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
	share(bundles)
	first := time.Now().Add(2 * time.Second).Truncate(time.Second)
	b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?", first.UnixMilli())
	for _, other := range bundles {
		other.engine.JobsChanged()
	}
	until := first.Add(time.Duration(seconds) * time.Second)
	<-time.After(time.Until(until)) // the load goes on for so long
	b.haltJobs()
	b.awaitNone("trigger_code = 0 OR trigger_code = 200 AND handle_code = 0")
	stop()

	fires, failing := 0, 0
	for i, id := range ids {
		n := b.checkFires(id, first)
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
	bundles := onGalera(t, nil)
	b := bundles[0]
	left, right, joined := b.addJob(nil), b.addJob(nil), b.addJob(nil)
	job := b.addFlow(flow.Definition{Steps: []flow.Step{step("left", left), step("right", right), step("join", joined, "left", "right")}}, func(p *db.InsertJobParams) { p.MaxConcurrent = flows })
	share(bundles)
	runs := make([]int64, flows)
	for i := range runs {
		runs[i] = b.trigger(job)
	}
	for i, run := range runs {
		first, second := b.runOf(run, "left"), b.runOf(run, "right")
		var both sync.WaitGroup
		both.Go(func() { complete(bundles, i, first) })
		both.Go(func() { complete(bundles, i+1, second) })
		both.Wait()
	}
	for i, run := range runs {
		complete(bundles, i+2, b.runOf(run, "join"))
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("run %d ended as %v: %s", run, r.Outcome, b.states(run))
		}
	}
	if n := len(b.runsOf(joined)); n != flows {
		t.Errorf("%d joins of %d", n, flows)
	}
}

// TestTheLimitOfAGroupHoldsOnAGaleraCluster, whose nodes do not see each other's locks: runs of many jobs are triggered on all nodes at once
// and end on others than they were made on, and never does one more run than may. No run is lost for it.
func TestTheLimitOfAGroupHoldsOnAGaleraCluster(t *testing.T) {
	const most, runs = 3, 240
	bundles := onGalera(t, nil)
	b := bundles[0]
	var going, over, ended atomic.Int64
	done := make(chan int64, runs)
	b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		if n := going.Add(1); n > most {
			over.Add(1)
		}
		done <- req.LogID
		return yes, nil
	}
	others := make([]*Engine, 0, len(bundles))
	for _, other := range bundles[1:] {
		others = append(others, other.engine)
	}
	b.limitGroup(most, others...)
	jobs := make([]int64, 12)
	for i := range jobs {
		jobs[i] = b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = int64(i % 3) }) // 0: as many as come
	}
	share(bundles)
	var hands sync.WaitGroup
	for range most {
		hands.Go(func() {
			for run := range done {
				going.Add(-1) // it ends before anybody can know
				complete(bundles, int(run)+1, run)
				if ended.Add(1) == runs {
					close(done)
				}
			}
		})
	}
	for i := range runs {
		hands.Go(func() {
			on := bundles[i%len(bundles)]
			for {
				_, err := on.engine.Trigger(t.Context(), TriggerRequest{JobID: jobs[i%len(jobs)], Type: jobspec.TriggerManual})
				if err == nil {
					return
				}
				if !db.IsTransient(err) {
					t.Errorf("trigger: %v", err)
					return
				}
			}
		})
	}
	b.awaitAll("ended", runs, func() int { return int(ended.Load()) })
	hands.Wait()
	if n := over.Load(); n > 0 {
		t.Errorf("%d times more than %d runs went on", n, most)
	}
	b.awaitAll("written", runs, func() int { return b.countRuns("handle_code = 200") })
	if n := b.countRuns("handle_code <> 200"); n > 0 {
		t.Errorf("%d runs did not succeed", n)
	}
	var left, turns int
	if err := b.pool.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM punctual_slot), (SELECT SUM(turn) FROM punctual_group_gate)").Scan(&left, &turns); err != nil || left > 0 {
		t.Errorf("%d slots are left, %v", left, err)
	}
	// Each other one would have undone those of other nodes that give a slot.
	if turns > runs {
		t.Errorf("%d transactions have gone through the gate of the group for %d runs", turns, runs)
	}
}
