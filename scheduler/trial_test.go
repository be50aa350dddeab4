package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// try runs a text in the place of a job's script.
func (b *bundle) try(job int64, text string) int64 {
	b.t.Helper()
	ids, err := b.engine.Trigger(b.t.Context(), TriggerRequest{
		JobID: job, Type: jobspec.TriggerTrial, Addresses: []string{addressA}, User: "ada",
		Within: func(ctx context.Context, tx *sql.Tx, ids []int64) error {
			return b.engine.queries.InsertTrial(ctx, tx, db.InsertTrialParams{LogID: ids[0], JobID: job, MadeAt: 4321, Source: text})
		},
	})
	if err != nil || len(ids) != 1 {
		b.t.Fatalf("try: %v, %v", ids, err)
	}
	return ids[0]
}

// scripted makes a job of a script that is due when its last run has ended, with all that a fire can lead to.
func (b *bundle) scripted() (job, child int64) {
	child = b.addJob(nil)
	return b.addJob(func(p *db.InsertJobParams) {
		p.GlueType, p.GlueSource, p.ExecutorParam = wire.GlueShell, "echo live", "own"
		p.ExecutorFailRetryCount, p.ChildJobIDs = 2, db.Text(fmt.Sprint(child))
		p.ScheduleType, p.ScheduleConf, p.MaxConcurrent = jobspec.ScheduleFixDelay, "5", 1
	}), child
}

// TestATrialIsNoFireOfItsJob: it runs the text that is tried, beside whatever its job does, and nothing comes of it.
func TestATrialIsNoFireOfItsJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &heard{}
		b := setup(t, pool, func(c *Config) { c.Alarms, c.AskAfter, c.ReportEvery = alarms, time.Hour, time.Hour }, addressA, addressB)
		job, child := b.scripted()
		live := b.trigger(job) // has the job's only slot
		b.await("the job's own run is sent", func() bool { return b.run(live).TriggerCode == 200 })
		good, bad := b.try(job, "echo draft"), b.try(job, "exit 1")
		b.await("the trials are sent", func() bool { return b.run(good).TriggerCode == 200 && b.run(bad).TriggerCode == 200 })
		called := make(map[int64]bool)
		for _, sent := range b.executors.received() {
			want := map[int64]string{live: "echo live", good: "echo draft", bad: "exit 1"}[sent.req.LogID]
			trial := sent.req.LogID != live
			switch {
			case sent.req.GlueSource != want || sent.req.ExecutorParams != "own":
				t.Errorf("run %d was sent %q with %q", sent.req.LogID, sent.req.GlueSource, sent.req.ExecutorParams)
			case trial && (sent.req.GlueUpdateTime != 4321 || sent.req.JobID >= 0 || sent.req.JobID < -1<<31):
				t.Errorf("a trial is version %d of job %d", sent.req.GlueUpdateTime, sent.req.JobID)
			case !trial && sent.req.JobID != job:
				t.Errorf("the job is called %d", sent.req.JobID)
			}
			called[sent.req.JobID] = true
		}
		if len(called) != 3 {
			t.Errorf("executors know three runs by %d jobs", len(called))
		}

		b.finish(good, 200, "")
		b.finish(bad, 500, "no")
		for id, want := range map[int64]event.Outcome{good: event.Succeeded, bad: event.Failed} {
			if r := b.run(id); r.Outcome != want || r.AlarmStatus != alarmNone || r.TriggerType != jobspec.TriggerTrial {
				t.Errorf("the trial: %+v", r)
			}
		}
		if n := len(b.runsOf(child)); n != 0 || len(b.runsOf(job)) != 3 || len(alarms.events) != 0 {
			t.Errorf("%d children, runs %s, alarms %v", n, b.dump(), alarms.events)
		}
		if j := b.job(job); j.TriggerNextTime != 0 {
			t.Errorf("the trials set the next time of their job: %d", j.TriggerNextTime)
		}
		if list, err := db.ListOutcomes(t.Context(), pool, []int64{job}, nil, 10); err != nil || len(list) != 1 || list[0].ID != live {
			t.Errorf("the bars have %+v, %v", list, err)
		}
		if n, err := b.engine.queries.CountOpenRuns(t.Context(), pool, db.CountOpenRunsParams{JobID: job}); err != nil || n != 1 {
			t.Errorf("%d fires are open, %v", n, err)
		}
		failures, err := b.engine.queries.ListFailuresByCode(t.Context(), pool, db.ListFailuresByCodeParams{HandleCode: 500, BeforeID: 1 << 40, Limit: 10})
		if err != nil || len(failures) != 1 || failures[0].Failed != 0 {
			t.Errorf("failures %+v, %v", failures, err)
		}
		b.settled()
		if err := b.engine.upkeep.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got, rows upkeep.Day
		for _, day := range []time.Time{b.today().AddDate(0, 0, -1), b.today()} { // the test may run over midnight
			got.Add(reported(t, b.engine, day))
			rows.Add(counted(t, b.engine, day))
		}
		if want := (upkeep.Day{Running: 1}); got != want || rows != want {
			t.Errorf("counted %+v, by the rows %+v, want %+v", got, rows, want)
		}
	})
}

// TestATrialIsEndedByItsOwnNumber: an executor of XXL-JOB ends whatever runs under a job's number.
func TestATrialIsEndedByItsOwnNumber(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA)
		job, _ := b.scripted()
		id := b.try(job, "sleep 60")
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
		if err := b.engine.Kill(t.Context(), id, "ada"); err != nil {
			t.Fatal(err)
		}
		want := wire.KillRequest{JobID: calledJob(jobspec.TriggerTrial, job, id), LogID: id}
		if got := b.executors.kills; len(got) != 1 || got[0] != want || want.JobID >= 0 {
			t.Errorf("asked to end %+v, want %+v", got, want)
		}
	})
}

// TestATrialThatCannotBeSentFailsAlone also when its text is gone.
func TestATrialThatCannotBeSentFailsAlone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &heard{}
		b := setup(t, pool, func(c *Config) { c.Alarms = alarms }, addressA)
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "glue is off"}, nil
		}
		job, _ := b.scripted()
		refused := b.try(job, "echo draft")
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: job, Type: jobspec.TriggerTrial, Addresses: []string{addressA}})
		if err != nil {
			t.Fatal(err)
		}
		b.await("both have failed", func() bool { return b.run(refused).TriggerCode == 500 && b.run(ids[0]).TriggerCode == 500 })
		if len(b.allRuns()) != 2 || len(alarms.events) != 0 || !b.has(ids[0], event.NoSource) {
			t.Errorf("runs %s, alarms %v", b.dump(), alarms.events)
		}
	})
}

// TestATrialIsTakenOverWithItsText by the admin that finds it unsent.
func TestATrialIsTakenOverWithItsText(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA, addressB)
		job, child := b.scripted()
		node := b.deadNode(db.NewRun{JobID: job, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerTrial, Address: addressB})
		id := b.runsOf(job)[0].ID
		if err := b.engine.queries.InsertTrial(t.Context(), pool, db.InsertTrialParams{LogID: id, JobID: job, MadeAt: 1, Source: "echo draft"}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.takeOver(t.Context(), db.Node{ID: node, Name: "dead"}); err != nil {
			t.Fatal(err)
		}
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
		sent := b.executors.received()
		if len(sent) != 1 || sent[0].to.Address != addressB || sent[0].req.GlueSource != "echo draft" || sent[0].req.JobID != calledJob(jobspec.TriggerTrial, job, id) {
			t.Errorf("sent %+v", sent)
		}
		b.finish(id, 200, "")
		if n := len(b.runsOf(child)); n != 0 {
			t.Errorf("%d children", n)
		}
	})
}
