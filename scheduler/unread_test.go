package scheduler

import (
	"database/sql"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAnUnreadRowIsAsTheDatabaseHasIt for every kind of run whose row is not read, so that nothing follows from a result that would not follow
// from its row.
func TestAnUnreadRowIsAsTheDatabaseHasIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e, err := New(Config{Pool: pool, Executors: &fakeExecutors{}, Name: "admin-1", Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		planned := time.Date(2026, 3, 1, 23, 59, 59, 987_000_000, time.UTC)
		plain := job{id: 1, group: 2, handler: "handler", route: jobspec.RouteRound, block: wire.BlockSerial}
		broadcast, nobody := plain, plain
		broadcast.route, nobody.route, nobody.handler = jobspec.RouteShardingBroadcast, jobspec.RouteFailover, ""
		with := func(c cause) cause {
			c.planned = planned
			if c.given == nil {
				c.given = []string{addressA, addressB}
			}
			return c
		}
		tests := []struct {
			name string
			job  job
			of   cause
		}{
			{"a fire", plain, cause{trigger: jobspec.TriggerCron, param: "第一个", retries: 3}},
			{"by hand", plain, cause{trigger: jobspec.TriggerManual, user: "ops", param: "x"}},
			{"by a program", plain, cause{trigger: jobspec.TriggerAPI}},
			{"a child", plain, cause{trigger: jobspec.TriggerParent, origin: 77}},
			{"a step of a flow", plain, cause{trigger: jobspec.TriggerFlow, origin: 78, step: 9, due: planned}},
			{"of an earlier time", plain, cause{trigger: jobspec.TriggerMisfire, due: planned.Add(-time.Hour)}},
			{"a broadcast", broadcast, cause{trigger: jobspec.TriggerCron}},
			{"its executor is chosen at its sending", nobody, cause{trigger: jobspec.TriggerCron}},
			{"with an address that no column holds", plain, cause{trigger: jobspec.TriggerCron, given: []string{"http://" + string(make([]byte, 300))}}},
		}
		for _, tt := range tests {
			runs := e.newRuns(&tt.job, with(tt.of))
			for _, d := range runs {
				d.owner = 5
			}
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return e.insert(t.Context(), tx, runs) }); err != nil {
				t.Fatal(err)
			}
			for _, d := range runs {
				got, ok := e.unread(&finishing{id: d.id, code: wire.CodeSuccess, sending: recorded(e, d)})
				if !ok {
					t.Errorf("%s: its row would be read", tt.name)
				}
				rows, err := db.New().ListRunsToEnd(t.Context(), pool, []int64{d.id})
				if err != nil || len(rows) != 1 {
					t.Fatal(rows, err)
				}
				rows[0].TriggerTime.Time = rows[0].TriggerTime.Time.UTC()
				if diff := cmp.Diff(rows[0], got); diff != "" {
					t.Errorf("%s (-row +unread):\n%s", tt.name, diff)
				}
			}
		}
	})
}

// TestWhatMayHaveChangedIsRead: a failure, whose retries others may have given, a run that was sent before, and one that is another's.
func TestWhatMayHaveChangedIsRead(t *testing.T) {
	t.Parallel()
	e := &Engine{cfg: Config{Pool: dbtest.New(t, db.SQLite)}}
	base := dispatch{id: 1, owner: 5, claimed: time.Now(), job: &job{}, trigger: jobspec.TriggerCron, shard: wireShard{Total: 1}}
	for name, change := range map[string]func(*dispatch, *finishing){
		"a failure":               func(_ *dispatch, f *finishing) { f.code = wire.CodeFail },
		"given up":                func(_ *dispatch, f *finishing) { f.given = event.Lost },
		"its sending is written":  func(_ *dispatch, f *finishing) { f.sending = nil },
		"nobody's yet":            func(d *dispatch, _ *finishing) { d.owner = waitingOwner },
		"taken over":              func(d *dispatch, _ *finishing) { d.taken = true },
		"made of its row":         func(d *dispatch, _ *finishing) { d.read = true },
		"claimed by nobody":       func(d *dispatch, _ *finishing) { d.claimed = time.Time{} },
		"it waited for a slot":    func(d *dispatch, _ *finishing) { d.waited = true },
		"a retry":                 func(d *dispatch, _ *finishing) { d.trigger = jobspec.TriggerRetry },
		"a retry after no answer": func(d *dispatch, _ *finishing) { d.recheck = true },
	} {
		d, f := base, finishing{id: 1, code: wire.CodeSuccess}
		f.sending = &outcome{d: &d}
		if _, ok := e.unread(&f); !ok {
			t.Fatal("nothing goes unread")
		}
		change(&d, &f)
		if _, ok := e.unread(&f); ok {
			t.Errorf("%s: not read", name)
		}
	}
}

// TestAResultHeedsWhatItsJobHasNow, also where its row is not read: a child that the job was given after the run had been made.
func TestAResultHeedsWhatItsJobHasNow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery, c.CarryFor = time.Hour, time.Hour }, addressA)
		child := b.addJob(func(p *db.InsertJobParams) {})
		run := func() (job, id int64) {
			job = b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 0 })
			b.start(job, time.Now())
			b.await("it is sent", func() bool { return len(b.runsOf(job)) == 1 && b.engine.carrier.len() == 1 })
			return job, b.runsOf(job)[0].ID
		}
		job, id := run()
		b.finish(id, 200, "")
		b.await("it has ended", func() bool { return b.runsOf(job)[0].HandleCode == 200 })
		if all := sent.Transactions("ListHeededJobs"); len(all) != 1 || len(sent.Transactions("ListRunsToEnd")) != 0 {
			t.Errorf("statements of a result that came at once: %v, and %v", all, sent.Transactions("ListRunsToEnd"))
		} else if diff := cmp.Diff([]string{"BEGIN", "ListHeededJobs", "UPDATE xxl_job_log", "COMMIT"}, all[0]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		job, id = run()
		b.exec("UPDATE xxl_job_info SET child_jobid = ? WHERE id = ?", child, job)
		b.finish(id, 200, "")
		b.await("the child runs", func() bool { return len(b.runsOf(child)) == 1 })
	})
}

// TestAStepThatWasQuickIsNotRead: nor is the run of the flow, as long as this admin has it in memory. The job that is run next is read as it is then.
func TestAStepThatWasQuickIsNotRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, func(c *Config) { c.SweepEvery, c.CarryFor = time.Hour, time.Hour }, addressA)
		job := func() int64 { return b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 0 }) }
		first := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent, p.ExecutorParam = 0, "of the first" })
		second, third := job(), job()
		whole := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", first), step("second", second, "first"), step("third", third, "second")}}, nil)
		run := b.trigger(whole)
		quick := func(flowRun int64, id string) (of int64) { // whose sending is not on record yet
			t.Helper()
			b.await(id+" is sent", func() bool {
				of = b.steps(flowRun)[id].RunID
				return of != 0 && b.engine.flows.kept.goes(of) && b.engine.carrier.len() > 0
			})
			return of
		}
		end := func(id string) (statements []string) {
			t.Helper()
			of := quick(run, id)
			before := len(sent.Transactions("ListJobsToRun"))
			b.finish(of, 200, "")
			b.await(id+" has ended", func() bool { return len(sent.Transactions("ListJobsToRun")) > before })
			return sent.Transactions("ListJobsToRun")[before]
		}
		want := []string{"BEGIN", "ListJobsToRun", "UPDATE xxl_job_log", "UPDATE punctual_flow_run", "INSERT xxl_job_log", "UPDATE punctual_flow_step", "COMMIT"}
		if diff := cmp.Diff(want, end("first")); diff != "" {
			t.Errorf("a step that one follows (-want +got):\n%s", diff)
		}
		if r := b.steps(run)["first"]; r.Param != "of the first" || r.State != int64(flow.Success) {
			t.Errorf("what stood in the row of the step is gone: %+v", r)
		}
		b.exec("UPDATE xxl_job_info SET executor_handler = 'changed' WHERE id = ?", third)
		b.exec("UPDATE xxl_job_info SET max_concurrent = 7 WHERE id = ?", second)
		if got := end("second"); !slices.Contains(got, "ListJobsWithConsequences") {
			t.Errorf("what its job has to do at the end of its run was not looked at: %v", got)
		}
		if r := b.runsOf(third); len(r) != 1 || r[0].ExecutorHandler != "changed" {
			t.Errorf("what runs next is not as it was changed: %+v", r)
		}
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", third)
		end("third")
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("the flow ended as %v: %s", r.Outcome, b.states(run))
		}
		b.await("nothing of it is kept", func() bool {
			kept := b.engine.flows.kept
			kept.mu.Lock()
			defer kept.mu.Unlock()
			return len(kept.runs)+len(kept.steps)+len(kept.going) == 0
		})

		// Another admin has decided meanwhile: what is in memory here is no ground for anything.
		run = b.trigger(whole)
		of := quick(run, "first")
		if jobs, ok := b.engine.flows.kept.ahead(b.steps(run)["first"].ID, of, new(flowsSeen)); !ok || !slices.Equal(jobs, []int64{second}) {
			t.Errorf("after the first step comes %v, %t", jobs, ok)
		}
		if _, ok := b.engine.flows.kept.ahead(b.steps(run)["first"].ID, of-1, new(flowsSeen)); ok {
			t.Error("another run is taken for the step's")
		}
		b.exec("UPDATE punctual_flow_run SET revision = revision + 5 WHERE log_id = ?", run)
		read := len(sent.Transactions("ListStepsToEnd"))
		b.finish(of, 200, "")
		quick(run, "second")
		if len(sent.Transactions("ListStepsToEnd")) != read+1 {
			t.Errorf("it was not read after another admin had decided")
		}
		if n := len(b.runsOf(second)); n != 2 {
			t.Errorf("the second step ran %d times in two runs of the flow", n)
		}
	})
}
