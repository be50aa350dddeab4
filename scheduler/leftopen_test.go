package scheduler

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// leftOpen puts a run into the log as an XXL-JOB admin does, that has no result.
func (b *bundle) leftOpen(jobID int64, code int, address string) int64 {
	b.t.Helper()
	res, err := b.pool.ExecContext(b.t.Context(), `INSERT INTO xxl_job_log (job_group, job_id, executor_address, executor_fail_retry_count, trigger_time, trigger_code, handle_code)
 VALUES (1, ?, ?, 3, ?, ?, 0)`, jobID, address, b.pool.Wall(time.Now().Add(-100*24*time.Hour)), code)
	if err != nil {
		b.t.Fatal(err)
	}
	id, err := res.LastInsertId()
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// alarmCount counts what somebody would be told of as a failure.
type alarmCount struct{ n atomic.Int64 }

func (c *alarmCount) Wanted(cause AlarmCause, _ int64) bool { return cause != AlarmRecovered }
func (c *alarmCount) Wake()                                 {}
func (c *alarmCount) Raise(_ context.Context, _ db.DBTX, events []AlarmEvent) error {
	c.n.Add(int64(len(events)))
	return nil
}

// TestWhatXXLJOBLeftOpenIsClosedAndNotRunAgain: at the first start on its database, runs that were sent months ago would else be
// given up, and retried within seconds.
func TestWhatXXLJOBLeftOpenIsClosedAndNotRunAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &alarmCount{}
		told := func(c *Config) { quick(c); c.Alarms = alarms }
		b := setup(t, pool, told, addressA)
		if err := b.engine.Stop(t.Context()); err != nil { // what comes while one works is a sign of another scheduler
			t.Fatal(err)
		}
		b.executors.mu.Lock()
		b.executors.idle = func(address string) (wire.Answer, error) {
			if address == addressB {
				return busy, nil
			}
			return wire.Answer{}, errRefused
		}
		b.executors.mu.Unlock()
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 3 })
		gone, unsent, atWork := b.leftOpen(job, 200, addressA), b.leftOpen(job, 0, ""), b.leftOpen(job, 200, addressB)
		b.engine = newEngine(t, pool, b.executors, told)
		b.startEngine(b.engine)
		b.await("both are closed", func() bool { return b.run(gone).HandleCode == 500 && b.run(unsent).HandleCode == 500 })
		for _, id := range []int64{gone, unsent} {
			if r := b.run(id); r.Outcome != event.Lost || r.AlarmStatus != alarmNone || !b.has(id, event.LeftOpen) {
				t.Errorf("want one that is closed: %+v", r)
			}
		}
		if !b.has(gone, event.LostRun) {
			t.Error("it does not say what its executor showed")
		}
		if r := b.run(atWork); r.HandleCode != 0 {
			t.Errorf("one that its executor is busy with was closed: %+v", r)
		}
		b.await("it is said", func() bool { return b.stands(ConditionAdopted) })
		b.finish(atWork, 200, "done")
		if r := b.run(atWork); r.Outcome != event.Succeeded {
			t.Errorf("the result of one that went on: %+v", r)
		}
		if all := b.allRuns(); len(all) != 3 || alarms.n.Load() > 0 {
			t.Errorf("something followed: %s, %d alarms", b.dump(), alarms.n.Load())
		}
	})
}

// TestAnOldAdminThatStillWorksDecidesAboutItsRuns: Punctual closes nothing of it.
func TestAnOldAdminThatStillWorksDecidesAboutItsRuns(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	b := setup(t, pool, quick, addressA)
	b.executors.mu.Lock()
	b.executors.idle = func(string) (wire.Answer, error) { return wire.Answer{}, errRefused }
	b.executors.mu.Unlock()
	job := b.addJob(nil)
	b.engine.noteForeign(signRun, 1, "log_id", 1)
	theirs, unsent := b.leftOpen(job, 200, addressA), b.leftOpen(job, 0, "")
	ours := b.trigger(job)
	b.await("ours is given up", func() bool { return b.run(ours).Outcome == event.Lost })
	for _, id := range []int64{theirs, unsent} {
		if r := b.run(id); r.HandleCode != 0 {
			t.Errorf("closed: %+v", r)
		}
	}
}
