package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestWhatExecutorsDoNotTakeStaysDue has more due than an executor takes: nothing of it fails, the others of its group are not claimed, and
// other groups are.
func TestWhatExecutorsDoNotTakeStaysDue(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.MaxWaiting, c.PerAddress, c.PerJob = 30, 1, 1 }, addressA)
		other := b.addGroup("billing", addressB)
		release, open := b.latch()
		b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			if to.Address == addressA {
				<-release
			}
			return yes, nil
		}
		busy := b.addJob(nil)
		for range 5 { // one is being sent and four wait, of which three are enough
			b.trigger(busy)
		}
		b.await("enough wait", func() bool { queued, _ := b.engine.queues.load(addressA); return queued == 4 })
		late := b.addJob(nil)
		b.start(late, time.Now())
		b.await("it is held back", func() bool { groups, _ := b.engine.crowd.waiting(); return groups == 1 })
		elsewhere := b.addJob(func(p *db.InsertJobParams) { p.JobGroup = other })
		b.start(elsewhere, time.Now())
		b.await("another group's is claimed and sent", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", elsewhere) == 1 })
		b.await("the condition says so", func() bool {
			for _, c := range b.engine.Conditions() {
				if c.Key == ConditionCrowded {
					return c.Count == 1 && !c.Stops()
				}
			}
			return false
		})
		if n := b.countRuns("job_id = ?", late); n != 0 {
			t.Errorf("%d runs were claimed of a job whose executor has enough", n)
		}
		open()
		b.await("it is claimed", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", late) == 1 })
		if n := b.countRuns("trigger_code = 500"); n != 0 {
			t.Errorf("%d runs failed", n)
		}
		b.await("nothing is held back any more", func() bool { groups, _ := b.engine.crowd.waiting(); return groups == 0 })
	})
}
