package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// flowItems is how many items the list of a flow under load has, and flowRuns how many runs its steps make.
const (
	flowItems = 3
	flowRuns  = flowItems + 4
)

// TestKillAdminsUnderFlows kills admins at random moments while flows go on: two steps and a list beside each other, which a third one
// joins, and a last one. No step is left out and none is started twice, whoever took the end of the one before. What it finds is rare, so it is
// for make test/flows, which does it five times.
func TestKillAdminsUnderFlows(t *testing.T) {
	if os.Getenv("TEST_FLOW_KILLS") == "" {
		t.Skip("make test/flows")
	}
	t.Parallel()
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) {
			waits(t)
			admins := 1
			if dialect == db.MySQL {
				admins = 2
			}
			l := newLoad(t, dialect, admins, 0, 14)
			steps := l.addFlows(t, 15)
			var running []*admin
			for i := range admins {
				running = append(running, l.start(t, i))
			}
			for i, second := range []float64{2, 5, 10} {
				l.at(t, somewhen(t, second))
				running[i%admins].kill()
				running[i%admins] = l.start(t, i%admins)
			}
			l.at(t, float64(l.fires))
			t.Cleanup(func() {
				if t.Failed() {
					l.dumpOpen(t)
				}
			})
			l.database.settled(t)
			l.accountFlows(t, steps)
			for _, a := range running {
				a.noPanic(t)
			}
		})
	}
}

// addFlows adds flows to a load, and returns the jobs of their steps.
func (l *load) addFlows(t *testing.T, flows int) (steps map[int64]string) {
	t.Helper()
	steps = make(map[int64]string)
	l.database.seed(t, func(ctx context.Context, pool *db.Pool) error {
		var group int64
		if err := pool.QueryRowContext(ctx, "SELECT MAX(id) FROM xxl_job_group").Scan(&group); err != nil {
			return err
		}
		var def flow.Definition
		add := func(id string, needs ...string) (*flow.Step, error) {
			job, err := addJob(ctx, pool, group, func(p *db.InsertJobParams) { p.JobDesc = "step " + id })
			steps[job] = id
			def.Steps = append(def.Steps, flow.Step{ID: id, Job: &flow.JobRef{ID: job}, Needs: needs})
			return &def.Steps[len(def.Steps)-1], err
		}
		for id, needs := range map[string][]string{"first": nil, "beside": {"first"}, "each": {"first"}, "join": {"beside", "each"}, "last": {"join"}} {
			s, err := add(id, needs...)
			if err != nil {
				return err
			}
			if id == "each" {
				s.Foreach = &flow.Foreach{Items: "['a', 'b', 'c']", Parallel: 2}
			}
		}
		text, err := json.Marshal(&def)
		if err != nil {
			return err
		}
		l.begin = time.Now().Add(4 * time.Second).Truncate(time.Second)
		for i := range flows {
			first := l.begin.Add(time.Duration(i) * every / time.Duration(flows)).Truncate(time.Millisecond)
			id, err := addJob(ctx, pool, group, func(p *db.InsertJobParams) {
				p.JobDesc, p.ScheduleConf, p.EndAt = fmt.Sprintf("flow %d", i), "1", first.Add(time.Duration(l.fires-1)*every).UnixMilli()
				p.GlueType, p.GlueSource, p.ExecutorHandler, p.MaxConcurrent = jobspec.GlueFlow, db.Text(text), "", 0
			})
			if err != nil {
				return err
			}
			if err := startJob(ctx, pool, id, first); err != nil {
				return err
			}
			l.jobs[id] = first
		}
		return nil
	})
	return steps
}

// accountFlows compares what was planned with what the database and the executor say: each fire is in one row; each run of a flow has each
// of its steps, with a run of its own, which the executor carried out once; and there are no other runs.
func (l *load) accountFlows(t *testing.T, steps map[int64]string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.database
	outcomes := make(map[int64]event.Outcome)
	covered := make(map[int64]map[int64]int)
	flows, failed, takenOver, skipped, missed := 0, 0, 0, 0, make(map[int64]bool)
	for _, r := range d.runs(t) {
		outcomes[r.id] = r.outcome
		takenOver += len(r.events.All(event.TakenOver))
		if _, isStep := steps[r.job]; isStep {
			continue
		}
		if covered[r.job] == nil {
			covered[r.job] = make(map[int64]int)
		}
		if fires, passed := r.events.Last(event.SkippedFires); passed {
			for at := fires.Number(2); at <= fires.Number(3); at += every.Milliseconds() {
				covered[r.job][at]++
				skipped++
			}
			missed[r.id] = true
			continue
		}
		covered[r.job][r.planned]++
		flows++
		if r.outcome != event.Succeeded {
			failed++
		}
	}
	for job, first := range l.jobs {
		for k := range l.fires {
			if n := covered[job][first.UnixMilli()+int64(k)*every.Milliseconds()]; n != 1 {
				t.Errorf("flow %d has %d rows for its fire %d", job, n, k)
			}
		}
	}
	rows, err := d.sql.QueryContext(t.Context(), "SELECT flow_log_id, step, item, state, run_id, total FROM punctual_flow_step")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	made := make(map[int64]map[string]int) // rows of each run of a flow, by step
	started := make(map[int64]bool)
	for rows.Next() {
		var of, item, state, run, total int64
		var step string
		if err := rows.Scan(&of, &step, &item, &state, &run, &total); err != nil {
			t.Fatal(err)
		}
		if made[of] == nil {
			made[of] = make(map[string]int)
		}
		made[of][step]++
		ended := outcomes[of] == event.Succeeded
		if ended && flow.State(state) != flow.Success {
			t.Errorf("flow run %d succeeded, and its step %s (%d) is %v", of, step, item, flow.State(state))
		}
		if run == 0 {
			if ended && total != flowItems {
				t.Errorf("flow run %d: step %s (%d) has no run", of, step, item)
			}
			continue
		}
		if started[run] {
			t.Errorf("run %d is of two steps", run)
		}
		started[run] = true
		switch calls := l.calls[run]; {
		case calls > 1:
			t.Errorf("run %d of step %s was executed %d times", run, step, calls)
		case outcomes[run] == event.Succeeded && calls != 1:
			t.Errorf("run %d of step %s has succeeded, and was executed %d times", run, step, calls)
		case outcomes[run] != event.Succeeded && outcomes[run] != event.Unconfirmed && calls != 0:
			t.Errorf("run %d of step %s was executed and is %v", run, step, outcomes[run])
		}
		delete(l.calls, run)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for of, n := range made {
		if outcomes[of] == event.Succeeded && (n["first"] != 1 || n["beside"] != 1 || n["each"] != 1+flowItems || n["join"] != 1 || n["last"] != 1) {
			t.Errorf("flow run %d has the steps %v", of, n)
		}
	}
	if n := len(outcomes) - flows - len(missed); n != len(started) {
		t.Errorf("there are %d runs of steps, and %d belong to one", n, len(started))
	}
	for id, n := range l.calls {
		t.Errorf("the executor ran %d, %d times, which is no step", id, n)
	}
	t.Logf("%d runs of flows, %d of them failed, and %d fires skipped; %d runs of steps, %d taken over", flows, failed, skipped, len(started), takenOver)
	if failed > flows*l.unsent/100 {
		t.Errorf("%d runs of flows failed, which is too many for what happened here", failed)
	}
	if want := (flows - failed) * flowRuns; len(started) < want {
		t.Errorf("%d runs of steps, at least %d are in flows that succeeded", len(started), want)
	}
}
