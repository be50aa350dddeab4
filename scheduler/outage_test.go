package scheduler

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestTheDatabaseGoesAwayAndComesBack stops the server in the middle of everything: runs being sent, results being
// reported, jobs due every second. Afterwards nothing is lost and nothing was done twice.
func TestTheDatabaseGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*dbtest.Server){
		"stopped": (*dbtest.Server).Stop,
		"killed":  (*dbtest.Server).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dbtest.NewServer(t)
			pool := dbtest.Open(t, db.Config{URL: server.Database(t)})
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			b := setup(t, pool, func(c *Config) {
				c.Lease, c.BeatEvery = time.Second, 50*time.Millisecond
				c.MisfireAfter = time.Hour // what the outage delays is sent late, not skipped
			}, addressA)
			release, open := b.latch()
			var blocked atomic.Int64
			b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
				if req.ExecutorParams == "slow" {
					blocked.Add(1)
					<-release
				}
				return yes, nil
			}
			sent := b.trigger(b.addJob(nil))
			b.await("a run is sent", func() bool { return b.run(sent).TriggerCode == 200 })
			slow := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam = "slow" }))
			b.await("another is being sent", func() bool { return blocked.Load() == 1 })
			first := time.Now().Add(-5 * time.Second).Truncate(time.Second)
			var jobs []int64
			for range 40 {
				id := b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "1" })
				jobs = append(jobs, id)
				b.start(id, first)
			}
			b.await("fires are claimed", func() bool { return len(b.executors.received()) > 100 })

			end(server)
			asked := b.engine.now()
			report := []wire.Callback{{LogID: sent, HandleCode: 200, HandleMsg: "done"}}
			if err := b.engine.Complete(t.Context(), report); err == nil {
				t.Error("a result was accepted that nobody could write down")
			}
			tried := b.engine.now()
			open() // the slow run's outcome comes while nobody can write it down
			b.await("the engine says that it is not ready", func() bool { return b.engine.Ready() != nil })
			b.await("the lease has run out", func() bool { return !b.engine.node.MayAct() })

			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			b.await("the engine is ready again", func() bool { return b.engine.Ready() == nil })
			b.await("the result is accepted", func() bool { return b.engine.Complete(t.Context(), report) == nil })
			if r := b.run(sent); r.HandleCode != 200 || r.HandleMsg != "done" {
				t.Errorf("the reported run: %+v", r)
			} else if end := time.UnixMilli(r.FinishedAt); end.After(tried) && end.Sub(asked) >= lateEnd {
				t.Errorf("the outage is part of what the run took: it ended at %v, was reported until %v; %v", end, tried, b.events(sent))
			}
			b.await("the slow run is recorded as sent", func() bool { return b.run(slow).TriggerCode == 200 })
			before := b.countRuns("trigger_type = 'CRON'")
			b.await("jobs are claimed again", func() bool { return b.countRuns("trigger_type = 'CRON'") > before+2*len(jobs) })
			b.haltJobs()
			b.await("all are sent", func() bool { return b.unsettled() == 0 })
			for _, id := range jobs {
				b.checkFires(id, first)
			}
			times := make(map[int64]int)
			for _, r := range b.executors.received() {
				if times[r.req.LogID]++; times[r.req.LogID] > 1 {
					t.Errorf("run %d was sent twice", r.req.LogID)
				}
			}
			if n := b.countRuns("trigger_code <> 200"); n != 0 {
				t.Errorf("%d runs failed: %s", n, b.dump())
			}
		})
	}
}
