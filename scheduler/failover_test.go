package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
)

// TestNothingIsMadeTwiceByAFailoverToAReplicaThatWasBehind: real servers, of which the second has not copied the last seconds when the
// first dies.
func TestNothingIsMadeTwiceByAFailoverToAReplicaThatWasBehind(t *testing.T) {
	t.Parallel()
	servers := dbtest.NewReplicated(t)
	pool := dbtest.Open(t, db.Config{URL: servers.URL()})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := setup(t, pool, nil, addressA)
	b.started(time.Now().Add(time.Second), func(p *db.InsertJobParams) { p.ScheduleConf = "1" })
	b.exec("UPDATE punctual_schedule SET made_at = made_at - 3600000") // nobody has changed it lately
	b.engine.JobsChanged()
	fired := func(n int) func() bool { return func() bool { return len(b.executors.received()) >= n } }
	b.await("three runs", fired(3))
	b.await("the replica has them", func() bool {
		n, err := servers.Replica(t.Context(), "SELECT COUNT(*) FROM xxl_job_log")
		return err == nil && n >= 3
	})
	servers.FallBehind()
	had := len(b.executors.received())
	b.await("more of them", fired(had+4))
	lost := len(b.executors.received())
	servers.Failover()
	b.await("and more after it", fired(lost+6))
	if n := b.countRuns("outcome = ? AND events LIKE '%madebefore%'", event.Skipped); n == 0 {
		t.Error("nothing says which fires are not made again")
	}
	times, numbers := make(map[int64]int64), make(map[int64]int64)
	for _, r := range b.executors.received() {
		r := r.req
		if was, twice := times[r.LogDateTime]; twice {
			t.Errorf("the fire of %s was made twice, by the runs %d and %d", time.UnixMilli(r.LogDateTime), was, r.LogID)
		}
		if was, twice := numbers[r.LogID]; twice {
			t.Errorf("the number %d was given to the fires of %s and %s", r.LogID, time.UnixMilli(was), time.UnixMilli(r.LogDateTime))
		}
		times[r.LogDateTime], numbers[r.LogID] = r.LogID, r.LogDateTime
	}
}
