package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestStatementsOfARun: what a run, a step of a flow, and a flow cost the database, in round trips. One more is one more for each of some
// thousand a second, and for the executor or the next step that waits for it.
func TestStatementsOfARun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		want := func(what, name string, want ...string) {
			t.Helper()
			b.await(what, func() bool { return len(sent.Transactions(name)) > 0 })
			all := sent.Transactions(name)
			if diff := cmp.Diff(want, all[len(all)-1]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		const runs, jobs, flows, steps = " xxl_job_log", " xxl_job_info", " punctual_flow_run", " punctual_flow_step"

		plain := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 0 })
		b.start(plain, time.Now())
		b.await("it is sent", func() bool { return len(b.runsOf(plain)) == 1 && b.runsOf(plain)[0].TriggerCode == 200 })
		want("a claim", "UPDATE"+jobs, "BEGIN", "GetPauseRevision", "UPDATE"+jobs, "INSERT"+runs, "COMMIT")
		want("an outcome", "UPDATE"+runs, "UPDATE"+runs)
		b.finish(b.runsOf(plain)[0].ID, 200, "")
		want("a result", "ListRunsToEnd", "BEGIN", "ListRunsToEnd", "UPDATE"+runs, "COMMIT")

		job := func() int64 { return b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 0 }) }
		whole := b.addFlow(flow.Definition{Steps: []flow.Step{
			step("first", job()), step("left", job(), "first"), step("right", job(), "first"), step("last", job(), "left", "right"),
		}}, nil)
		b.start(whole, time.Now())
		b.await("the flow runs", func() bool { return len(b.runsOf(whole)) == 1 })
		run := b.runsOf(whole)[0].ID
		end := func(id string) {
			t.Helper()
			of := b.runOf(run, id)
			b.await("it is kept", func() bool { return b.engine.flows.kept.has([]int64{of}) })
			b.finish(of, 200, "")
		}
		end("first")
		want("the first beginning of a flow", "INSERT"+flows, "BEGIN", "TouchGates", "INSERT punctual_gate", "CountSlots", "FindFlowTexts", "INSERT punctual_flow_text",
			"FindFlowTexts", "TakeSlots", "UPDATE"+runs, "ListJobsToRun", "INSERT"+flows, "INSERT"+steps, "INSERT"+runs, "UPDATE"+steps, "COMMIT")
		starts := []string{"BEGIN", "ListStepsToEnd", "UPDATE" + runs, "ListJobsToRun", "UPDATE" + flows, "INSERT" + runs, "UPDATE" + steps, "COMMIT"}
		want("the end of a step that two follow", "ListStepsToEnd", starts...)
		end("left")
		want("the end of a step that a join waits for", "ListStepsToEnd", "BEGIN", "ListStepsToEnd", "UPDATE"+runs, "UPDATE"+flows, "UPDATE"+steps, "COMMIT")
		end("right")
		want("the end of a step that one follows", "ListStepsToEnd", starts...)
		end("last")
		b.ended(run)
		want("the end of a flow", "FreeSlots", "BEGIN", "ListRunsToEnd", "ListJobsWithConsequences", "UPDATE"+runs, "EndFlowRuns", "FreeSlots", "COMMIT")

		b.exec("UPDATE xxl_job_info SET trigger_next_time = ? WHERE id = ?", b.engine.now().UnixMilli(), whole)
		b.engine.JobsChanged()
		b.await("the flow runs again", func() bool { return len(b.runsOf(whole)) == 2 && len(b.steps(b.runsOf(whole)[1].ID)) > 0 })
		want("the beginning of a flow", "INSERT"+flows, "BEGIN", "TouchGates", "CountSlots", "TakeSlots", "UPDATE"+runs, "ListJobsToRun", "INSERT"+flows,
			"INSERT"+steps, "INSERT"+runs, "UPDATE"+steps, "COMMIT")

		if got := sent.Transactions("ListFlowRevisions"); len(got) > 0 {
			t.Errorf("revisions were asked for: %v", got)
		}
		if got := slices.Concat(sent.Transactions("SELECT @@auto_increment_increment")...); len(got) > 0 {
			t.Errorf("the distance between ids was asked for: %v", got)
		}
	})
}
