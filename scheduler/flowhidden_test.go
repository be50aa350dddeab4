package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAnOldAdminLeavesFlowsAlone: an XXL-JOB admin on the same database finds no started flow that is due, which fires here on its schedule. That
// somebody edits it there, who writes back all that the form had read, or starts it there, takes no fire from it and doubles none.
func TestAnOldAdminLeavesFlowsAlone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			clock.rule(c)
		}, addressA)
		defer clock.pass(time.Minute) // what is claimed ahead is sent when the engine stops
		job := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "ask", Approve: &flow.Approve{}}}}, func(p *db.InsertJobParams) {
			p.ScheduleType, p.ScheduleConf = jobspec.ScheduleFixRate, "2"
		})
		b.start(job, clock.start)
		state := func() (status, last, next int64) {
			t.Helper()
			if err := pool.QueryRowContext(t.Context(), "SELECT trigger_status, trigger_last_time, trigger_next_time FROM xxl_job_info WHERE id = ?", job).Scan(&status, &last, &next); err != nil {
				t.Fatal(err)
			}
			return status, last, next
		}
		const steps = 30
		for i := range steps {
			status, last, next := state() // an edit there begins
			if status != int64(jobspec.StatusMoved) {
				t.Fatalf("step %d: an XXL-JOB admin schedules the flow: its status is %d", i, status)
			}
			end := b.oldPass(clock.now())
			clock.pass(500 * time.Millisecond)
			if err := b.engine.claimDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			end()
			switch i % 6 {
			case 2:
				b.exec("UPDATE xxl_job_info SET job_desc = 'edited', trigger_status = ?, trigger_last_time = ?, trigger_next_time = ? WHERE id = ?", status, last, next, job)
			case 5: // started there; a claim finds it before that admin does
				b.exec("UPDATE xxl_job_info SET trigger_status = 1 WHERE id = ?", job)
				clock.pass(2 * time.Second)
				if err := b.engine.claimDue(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		fires := b.fires(job)
		_, _, next := state()
		for at := clock.start.UnixMilli(); at < next; at += 2000 {
			if fires[at] != 1 {
				t.Errorf("%d runs for %s", fires[at], time.UnixMilli(at))
			}
		}
		if len(fires) < steps/4 {
			t.Errorf("only %d fires", len(fires))
		}
	})
}

// TestAFlowWithADelayGoesOn: the sweep finds those that wait for the end of a run whatever their status is.
func TestAFlowWithADelayGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		delayed := func(p *db.InsertJobParams) {
			p.ScheduleType, p.ScheduleConf = jobspec.ScheduleFixDelay, "60"
		}
		ids := []int64{b.addJob(delayed), b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "ask", Approve: &flow.Approve{}}}}, delayed)}
		for _, id := range ids {
			b.start(id, jobspec.Waiting)
		}
		if err := b.engine.sweepWaiting(t.Context(), &sweeper{}, b.engine.now()); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			j, err := b.engine.queries.GetJob(t.Context(), pool, id)
			if err != nil || j.TriggerNextTime == jobspec.Waiting.UnixMilli() || j.TriggerNextTime == 0 {
				t.Errorf("job %d waits until %d, %v", id, j.TriggerNextTime, err)
			}
		}
	})
}
