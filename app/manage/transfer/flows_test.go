package transfer

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func flowOf(name, source string) func(*manage.JobInput) {
	return func(in *manage.JobInput) {
		in.Name, in.Glue, in.Handler, in.GlueSource, in.GlueRemark = name, jobspec.GlueFlow, "", source, "first"
	}
}

// toldOf is what a plan does, with what is wrong.
func toldOf(plan Plan) string {
	var list []string
	for _, item := range plan.Items {
		text := item.Name + " " + string(item.Outcome)
		for _, f := range item.Faults {
			text += fmt.Sprintf(" (%d %s %v)", f.Line, f.Key, f.Args)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func (b *bundle) planOf(t *testing.T, text string, opts Options) (jobfile.File, Plan) {
	t.Helper()
	f, err := jobfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := b.files.Plan(t.Context(), b.admin, f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return f, plan
}

// TestAFlowTravelsWithItsJobs exports a flow, which then names its jobs as a file does, and imports it where other jobs have their ids.
func TestAFlowTravelsWithItsJobs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		one := b.create(t, func(in *manage.JobInput) { in.Name = "write the ledger" })
		inner := b.create(t, flowOf("inner", fmt.Sprintf("steps: [{id: a, job: %d}]", one)))
		twin := b.create(t, func(in *manage.JobInput) { in.Name = "twin" })
		b.create(t, func(in *manage.JobInput) { in.Name = "twin" })
		b.create(t, flowOf("a flow", fmt.Sprintf("# nightly\nsteps:\n  - id: a\n    job: %d # pays\n    retries: 2\n  - {id: b, needs: a, flow: %d}\n  - {id: c, job: %d}\n", one, inner, twin)))
		out, err := b.files.Export(t.Context(), b.admin, manage.JobFilter{Status: manage.AnyStatus}, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := jobfile.Write(out.File, jobfile.YAML)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"job: {app_name: orders, description: write the ledger} # pays", "# nightly", "flow: {app_name: orders, description: inner}", fmt.Sprintf("job: %d", twin)} {
			if !strings.Contains(string(raw), want) {
				t.Errorf("no %q in the file:\n%s", want, raw)
			}
		}
		for _, byID := range []bool{false, true} {
			if _, plan := b.planOf(t, string(raw), Options{ByID: byID}); plan.Work() != 0 || plan.Count(Refuse) != 0 {
				t.Errorf("the same file: %s", toldOf(plan))
			}
		}
	})
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		other := b.create(t, func(in *manage.JobInput) { in.Name = "delete everything" }) // has the id that the ledger had
		text := fmt.Sprintf(`punctual_jobs: 1
executors:
  - app_name: orders
    jobs:
      - description: a flow
        author: ann
        schedule: NONE
        kind: FLOW
        script: |
          steps:
            - id: a
              job: {app_name: orders, description: write the ledger}
            - id: b
              needs: a
              flow: {app_name: orders, description: inner}
      - description: inner
        author: ann
        schedule: NONE
        kind: FLOW
        script: |
          steps:
            - id: a
              job: %d
      - id: %[1]d
        description: write the ledger
        author: ann
        schedule: NONE
        handler: write
`, other)
		f, plan := b.planOf(t, text, Options{})
		if got := toldOf(plan); got != "a flow create, inner create, write the ledger create" {
			t.Fatal(got)
		}
		done, err := b.files.Import(t.Context(), b.admin, f, Options{}, plan.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if source := string(b.read(t, done.Items[1].ID).GlueSource); strings.Contains(source, fmt.Sprint(other)) || !strings.Contains(source, "write the ledger") {
			t.Errorf("the flow runs another job:\n%s", source)
		}
		if _, plan := b.planOf(t, text, Options{}); plan.Work() != 0 {
			t.Errorf("once more: %s", toldOf(plan))
		}
	})
}

// TestAFileIsRefusedForItsFlows on the lines where their definitions are wrong, before anything is done.
func TestAFileIsRefusedForItsFlows(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		one := b.create(t, nil)
		used := b.create(t, flowOf("used", fmt.Sprintf("steps: [{id: a, job: %d}]", one)))
		file := func(jobs ...string) string {
			return "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n" + strings.Join(jobs, "")
		}
		flow := func(name, more, source string) string {
			return "      - {description: " + name + ", author: ann, schedule: NONE, kind: FLOW" + more + ", script: " + source + "}\n"
		}
		job := func(name, more string) string {
			return "      - {description: " + name + ", author: ann, schedule: NONE, handler: x" + more + "}\n"
		}
		for _, tt := range []struct{ name, text, want string }{
			{"two flows that run each other", file(flow("f", "", "'steps: [{id: a, flow: {app_name: orders, description: g}}]'"), flow("g", "", "'steps: [{id: a, flow: {app_name: orders, description: f}}]'")),
				"f refuse (5 flow.error.at [Step a Line 1 Part flow Text { flow.error.circle [Ring f → g → f] }])"},
			{"a job that is refused", file(flow("f", "", "'steps: [{id: a, job: {app_name: orders, description: j}}]'"), job("j", ", retries: -1")),
				"f refuse (5 flow.error.at [Step a Line 1 Part job Text { flow.error.job_gone [Value orders / j] }]), j refuse"},
			{"a child that is a flow with the job as a step", file(job("close the day", fmt.Sprintf(", children: [%d]", used))),
				"close the day refuse (5 job.error.child_cycle"},
			{"a child that is a flow of the file", file(flow("f", "", "'steps: [{id: a, job: {app_name: orders, description: j}}]'"), job("j", ", children: [{app_name: orders, description: f}]")),
				"f refuse (5 flow.error.at [Step a Line 1 Part job Text { flow.error.circle [Ring f → j → f] }]), j refuse"},
		} {
			_, plan := b.planOf(t, tt.text, Options{})
			if got := toldOf(plan); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
			}
		}
	})
}

// TestNoRingIsMadeByAFileAndAnEdit that each make a half of it at once.
func TestNoRingIsMadeByAFileAndAnEdit(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets them in one after the other
	b, ctx := setup(t, pool), t.Context()
	other := b.create(t, nil)
	first := b.create(t, func(in *manage.JobInput) { in.Name = "first" })
	f, plan := b.planOf(t, fmt.Sprintf("punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - {description: first, author: ann, schedule: NONE, handler: x, children: [%d]}\n", other), Options{})
	imported := make(chan error, 1)
	pool.SetMaxIdleConns(0) // a new session sends what it has not sent thrice with its values: the turn of imports is another one
	err := pool.InTurn(ctx, "starts", func(_ context.Context, tx *sql.Tx) error {
		dbtest.Hold(t, pool, tx)
		if _, err := tx.ExecContext(ctx, "UPDATE xxl_job_info SET child_jobid = ?, revision = revision + 1 WHERE id = ?", fmt.Sprint(first), other); err != nil {
			return err
		}
		go func() {
			_, err := b.files.Import(db.Patient(ctx), b.admin, f, Options{}, plan.Digest)
			imported <- err
		}()
		dbtest.AwaitStatement(t, pool, "INTO punctual_turn (kind, taken) VALUES ('starts'")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-imported; err == nil || !strings.Contains(err.Error(), "child_cycle") {
		t.Errorf("the import: %v", err)
	}
}

// TestPruningTakesNoJobFromTheFiles: what a job of the files starts, or a flow of theirs runs, is not deleted because it is in them no more, as
// one that was given another description is not. The plan says where the files name it.
func TestPruningTakesNoJobFromTheFiles(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		file := func(jobs ...string) string {
			return "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n" + strings.Join(jobs, "")
		}
		job := func(name, more string) string {
			return "      - {description: " + name + ", author: ann, schedule: NONE, handler: x" + more + "}\n"
		}
		flow := func(name, source string) string {
			return "      - {description: " + name + ", author: ann, schedule: NONE, kind: FLOW, script: '" + source + "'}\n"
		}
		const runs = "steps: [{id: a, job: {app_name: orders, description: load}}]"
		opts := Options{Source: "git/jobs", Prune: true}
		apply := func(text string) {
			t.Helper()
			f, plan := b.planOf(t, text, opts)
			if _, err := b.files.Import(t.Context(), b.admin, f, opts, plan.Digest); err != nil {
				t.Fatalf("%v: %s", err, toldOf(plan))
			}
		}
		apply(file(job("load", ""), job("more", ""), job("parent", ", children: [{app_name: orders, description: load}]"), flow("f", runs)))
		var load int64
		if err := pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_info WHERE job_desc = 'load'").Scan(&load); err != nil {
			t.Fatal(err)
		}
		lost := "(5 flow.error.at [Step a Line 1 Part job Text { flow.error.job_gone [Value orders / load] }])"
		for _, tt := range []struct{ name, text, want string }{
			{"a step, of a flow as it is", file(flow("f", runs), job("load orders", "")), "f refuse " + lost + ", load orders create, load delete, more delete, parent delete"},
			{"a step, of a flow that changes", file(flow("f", runs+" # new")), "f refuse " + lost + ", load delete, more delete, parent delete"},
			{"a step by its number", file(flow("f", fmt.Sprintf("steps: [{id: a, job: %d}]", load))), "f refuse (5 flow.error.at [Step a Line 1 Part job Text { flow.error.job_gone [Value #" + fmt.Sprint(load) + "] }]), load delete, more delete, parent delete"},
			{"a child", file(job("parent", ", children: [{app_name: orders, description: load}]"), job("more", "")), "parent refuse (5 import.error.child [Name load Group orders ID 0]), more same, load delete, f delete"},
			{"a child by its number", file(job("parent", fmt.Sprintf(", children: [%d]", load))), fmt.Sprintf("parent refuse (5 import.error.child_id [Name  Group  ID %d]), load delete, more delete, f delete", load)},
			{"nothing that the files name", file(job("load", ""), job("parent", ", children: [{app_name: orders, description: load}]"), flow("f", runs)), "load same, parent same, f same, more delete"},
			{"what named it goes too", file(job("more", "")), "more same, load delete, parent delete, f delete"},
		} {
			if _, plan := b.planOf(t, tt.text, opts); toldOf(plan) != tt.want {
				t.Errorf("%s: %s\nwant %s", tt.name, toldOf(plan), tt.want)
			}
		}
		// What the files do not name, and uses it, stays as it is and is told of.
		parent := b.create(t, func(in *manage.JobInput) { in.Name, in.ChildJobIDs = "outside", fmt.Sprint(load) })
		nightly := b.create(t, func(in *manage.JobInput) {
			in.Name, in.Glue, in.GlueSource, in.Handler = "nightly", jobspec.GlueFlow, runs, ""
		})
		if _, plan := b.planOf(t, file(job("more", "")), opts); toldOf(plan) != "more same, load delete, parent delete, f delete" {
			t.Errorf("with jobs outside: %s", toldOf(plan))
		} else if u := plan.Items[1].Used; len(u.Parents.Jobs) != 1 || u.Parents.Jobs[0].ID != parent || len(u.Flows.Jobs) != 1 || u.Flows.Jobs[0].ID != nightly || plan.Items[2].Used.Any() {
			t.Errorf("what uses the job that goes: %+v, and its parent: %+v", u, plan.Items[2].Used)
		}
		// What is wrong already stays nobody's business.
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_info WHERE job_desc = 'load'"); err != nil {
			t.Fatal(err)
		}
		if _, plan := b.planOf(t, file(flow("f", runs)), opts); toldOf(plan) != "f same, more delete, parent delete" {
			t.Errorf("a flow that had lost its job: %s", toldOf(plan))
		}
	})
}
