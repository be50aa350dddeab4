package scheduler

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestABackfillOfAFlowReachesItsSteps: each day's time comes to the jobs of steps, of items and of flows within, with their retries, and no more days go
// on at a time than it says.
func TestABackfillOfAFlowReachesItsSteps(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		work := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorParam, p.TimeZone, p.ExecutorFailRetryCount = "own ${{ planned | yyyy-MM-dd }}", "UTC", 1
		})
		within := step("work", work)
		within.Param = new("within ${{ planned | yyyy-MM-dd }} ${{ flow.planned }}")
		inner := b.addFlow(flow.Definition{Steps: []flow.Step{within}}, func(p *db.InsertJobParams) { p.TimeZone, p.MaxConcurrent = "UTC", 5 })
		each := step("each", work, "inner")
		each.Foreach, each.Param = &flow.Foreach{Items: "1..2"}, new("item ${{ item }} ${{ planned | yyyy-MM-dd }}")
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", work), {ID: "inner", Needs: []string{"first"}, Flow: &flow.JobRef{ID: inner}}, each}}, func(p *db.InsertJobParams) {
			p.TimeZone, p.MaxConcurrent = "UTC", 5
		})
		id := b.addBackfill(job, 5, 2)
		failed := int64(-1) // the day whose first step is retried
		b.await("all days are done", func() bool {
			b.round(b.engine)
			going := 0
			for _, r := range b.runsOf(job) {
				if r.HandleCode == 0 {
					going++
				}
			}
			if going > 2 {
				t.Errorf("%d days at a time", going)
			}
			for _, r := range b.runsOf(work) {
				if r.HandleCode == 0 && r.TriggerCode == 200 {
					code := 200
					if failed < 0 { // its retry is for the same day
						failed, code = r.PlannedFor, 500
					}
					b.finish(r.ID, code, "")
				}
			}
			return b.backfill(id).Succeeded == 5
		})
		b.each(job, 5)
		got := make(map[string]int)
		for _, r := range b.executors.received() {
			got[r.req.ExecutorParams]++
		}
		for i := range 5 {
			on := day(i).Format("2006-01-02")
			want := map[string]int{"own " + on: 1, "within " + on + " " + on + "T02:00:00Z": 1, "item 1 " + on: 1, "item 2 " + on: 1}
			if day(i).UnixMilli() == failed {
				want["own "+on]++
			}
			for param, n := range want {
				if got[param] != n {
					t.Errorf("%q was sent %d times, not %d: %v", param, got[param], n, got)
				}
			}
		}
	})
}

// TestAPauseOfAStepsJobHoldsNoFlowUp, nor does that its job is stopped: both are about schedules. A flow that is paused itself goes on where it has begun.
func TestAPauseOfAStepsJobHoldsNoFlowUp(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		first, second := b.addJob(nil), b.addJob(nil)
		b.exec("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = ?", first)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", first), step("second", second, "first")}}, nil)
		run := b.trigger(job)
		b.finish(b.runOf(run, "first"), 200, "")
		b.finish(b.runOf(run, "second"), 200, "")
		b.ended(run)
		b.pause(db.InsertPauseParams{Scope: "job", Target: second, FromAt: 1, Strategy: "skip"})
		if err := b.engine.PausesChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		run = b.trigger(job)
		began := b.runOf(run, "first")
		b.pause(db.InsertPauseParams{Scope: "group", Target: b.group, FromAt: 1, Strategy: "skip"})
		if err := b.engine.PausesChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.finish(began, 200, "")
		b.finish(b.runOf(run, "second"), 200, "")
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("it ended as %v: %s", r.Outcome, b.states(run))
		}
	})
}
