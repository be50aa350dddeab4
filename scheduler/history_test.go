package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// history are the causes in a job's history.
func (b *bundle) history(job int64) []db.JobSchedule {
	b.t.Helper()
	rows, err := b.engine.queries.ListSchedules(b.t.Context(), b.pool, db.ListSchedulesParams{JobIds: []int64{job}, FromMs: -1})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

func TestAJobThatTheEngineStopsHasItInItsHistory(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		next := time.Now().Add(-time.Second).Truncate(time.Second)
		once := b.addJob(func(p *db.InsertJobParams) {
			p.ScheduleType, p.ScheduleConf = jobspec.ScheduleOnce, db.Text(next.Format(time.RFC3339))
		})
		broken := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleCron, "nonsense" })
		b.start(once, next)
		b.start(broken, next)
		for _, c := range []struct {
			job   int64
			cause db.ScheduleCause
		}{{once, db.ScheduleEnded}, {broken, db.ScheduleUnreadable}} {
			var last db.JobSchedule
			b.await("the history says it", func() bool {
				rows := b.history(c.job)
				if len(rows) > 0 {
					last = rows[len(rows)-1]
				}
				return last.Cause == c.cause
			})
			if last.Started != 0 || last.NextAt != 0 || last.UntilAt != 0 {
				t.Errorf("%s: %+v", c.cause, last)
			}
		}
	})
}

func TestTheFirstStartBeginsTheHistoryOfAnAdoptedDatabase(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, nil)
		id := b.addJob(nil)
		b.startEngine(b.engine)
		b.await("the job has a history", func() bool { return len(b.history(id)) == 1 })
		if h := b.history(id)[0]; h.Cause != db.ScheduleNoticed || h.SinceAt != 0 {
			t.Errorf("it begins with %+v", h)
		}
	})
}
