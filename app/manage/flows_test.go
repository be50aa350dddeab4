package manage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// flowOf makes a job a flow with a definition.
func flowOf(source string) func(*JobInput) {
	return func(in *JobInput) {
		in.Glue, in.Handler, in.GlueSource, in.GlueRemark = jobspec.GlueFlow, "", source, "first"
	}
}

// TestAFlowIsSavedWhenItsDefinitionHolds: each fault names its step and line, and every job that it uses is one that whoever saves it may run.
func TestAFlowIsSavedWhenItsDefinitionHolds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		one := b.create(t, nil)
		hidden := b.create(t, func(in *JobInput) { in.Group = b.closed })
		code := b.create(t, func(in *JobInput) { in.Handler = "commandJobHandler" })
		inner := b.create(t, flowOf(fmt.Sprintf("steps: [{id: a, job: {id: %d}}]", one)))
		editor := auth.NewPrincipal(3, "eve", auth.RoleUser, "").Grant(b.group, auth.RightEdit|auth.RightRun|auth.RightView)
		for name, tc := range map[string]struct{ source, key string }{
			"that is none":                       {"steps: 7", ""},
			"with a job that there is not":       {"steps: [{id: a, job: {id: 99999}}]", flow.CodeJobGone},
			"with a job that nobody may see":     {fmt.Sprintf("steps: [{id: a, job: {id: %d}}]", hidden), flow.CodeJobGone},
			"with steps that need each other":    {fmt.Sprintf("steps: [{id: a, needs: [b], job: {id: %d}}, {id: b, needs: [a], job: {id: %[1]d}}]", one), flow.CodeCycle},
			"with a flow that is used as a job":  {fmt.Sprintf("steps: [{id: a, job: {id: %d}}]", inner), flow.CodeIsFlow},
			"with a program as the parameter":    {fmt.Sprintf("steps: [{id: a, job: {id: %d}, parameter: rm}]", code), "job.error.param_code"},
			"with an expression that means none": {fmt.Sprintf("steps: [{id: a, job: {id: %d}, if: 'nobody.knows'}]", one), ""},
		} {
			in := b.job(flowOf(tc.source))
			_, err := b.Jobs.Create(ctx, editor, in)
			if got := kind(err); !strings.HasPrefix(got, "422 source:flow.error.") {
				t.Errorf("a definition %s: %s", name, got)
			}
			_, faults, err := b.Jobs.JudgeFlow(ctx, editor, in.Job)
			if err != nil || len(faults) == 0 || tc.key != "" && faults[0].Key != tc.key || tc.key != "" && (faults[0].Step != "a" && faults[0].Step != "b" || faults[0].Line != 1) {
				t.Errorf("a definition %s: %v, %v", name, faults, err)
			}
		}
		id, err := b.Jobs.Create(ctx, editor, b.job(flowOf(fmt.Sprintf("steps: [{id: a, job: {id: %d}}, {id: b, needs: [a], flow: {id: %d}}]", one, inner))))
		if err != nil {
			t.Fatal(kind(err))
		}
		// Through its own step it would start itself for ever.
		in := b.job(flowOf(fmt.Sprintf("steps: [{id: a, flow: {id: %d}}]", id)))
		if got := kind(b.Jobs.Update(ctx, b.admin, inner, in)); !strings.HasPrefix(got, "422 source:") {
			t.Errorf("a circle of flows: %s", got)
		}
		// Who may edit the job may change its definition, without the right to write scripts, and whatever is decided about scripts.
		if got := kind(b.Jobs.SaveGlue(ctx, editor, id, GlueInput{Source: fmt.Sprintf("steps: [{id: c, job: {id: %d}}]", one), Remark: "simpler"})); got != "ok" {
			t.Errorf("a new version: %s", got)
		}
		if got := kind(b.Jobs.SaveGlue(ctx, editor, id, GlueInput{Source: "steps: 7", Remark: "broken"})); !strings.HasPrefix(got, "422 source:") {
			t.Errorf("a new version that is none: %s", got)
		}
		versions, err := b.Jobs.GlueVersions(ctx, editor, id)
		if err != nil || len(versions) != 2 {
			t.Fatalf("%d versions, %v", len(versions), err)
		}
		if got := kind(b.Jobs.RestoreGlue(ctx, editor, id, versions[1].ID)); got != "ok" || !strings.Contains(string(b.read(t, id).GlueSource), "id: b") {
			t.Errorf("the first version again: %s: %s", got, b.read(t, id).GlueSource)
		}
		if _, err := b.Jobs.TryScript(ctx, b.admin, id, TrialInput{Source: "x", Address: "10.0.0.1:9999"}); kind(err) != "409 problem.glue.bean" {
			t.Errorf("tried as a script: %s", kind(err))
		}
		if _, err := b.Jobs.Trigger(ctx, b.admin, id, RunInput{Addresses: "10.0.0.1:9999"}); kind(err) != "422 addresses:flow.error.addresses" {
			t.Errorf("run at an address: %s", kind(err))
		}
	})
}

// TestARunThatNeverBeganIsOver: one that was to do a part of a flow again, and was discarded while it waited, has ended, and what it was to do can be
// asked for again.
func TestARunThatNeverBeganIsOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		source := fmt.Sprintf("steps: [{id: ask, approve: {}}, {id: pay, needs: [ask], job: {id: %d}}]", b.create(t, nil))
		job := b.create(t, flowOf(source))
		if err := db.InsertFlowTexts(ctx, pool, []db.FlowText{{JobID: job, Digest: "d", Source: source}}); err != nil {
			t.Fatal(err)
		}
		texts, err := db.New().FindFlowTexts(ctx, pool, []int64{job})
		if err != nil || len(texts) != 1 {
			t.Fatal(err)
		}
		const run = 7
		if err := db.InsertFlowRuns(ctx, pool, []db.FlowRun{{LogID: run, JobID: job, TextID: texts[0].ID, State: flowRunGiven}}); err != nil {
			t.Fatal(err)
		}
		steps := []*db.FlowStep{{FlowLogID: run, Step: "ask", Item: -1, State: int64(flow.Success)}, {FlowLogID: run, Step: "pay", Item: -1}}
		if err := db.InsertFlowSteps(ctx, pool, pool, steps); err != nil {
			t.Fatal(err)
		}
		f, _, err := b.Runs.Flow(ctx, db.Run{ID: run})
		if err != nil || f.Over() || f.Going() {
			t.Errorf("while it waits: over %v, going %v, %v", f.Over(), f.Going(), err)
		}
		f, _, err = b.Runs.Flow(ctx, db.Run{ID: run, TriggerCode: wire.CodeFail, Outcome: event.Discarded})
		if err != nil || !f.Over() || !slices.Equal(f.Again(""), []int{1}) || !slices.Equal(f.Again("ask"), []int{0, 1}) {
			t.Errorf("discarded: over %v, to be done again are %v, from the first step on %v, %v", f.Over(), f.Again(""), f.Again("ask"), err)
		}
	})
}

// TestWhatPeopleDoToARunOfAFlowIsRecorded, and is for those who may run it.
func TestWhatPeopleDoToARunOfAFlowIsRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		source := fmt.Sprintf("steps: [{id: ask, approve: {}}, {id: pay, needs: [ask], job: {id: %d}}]", b.create(t, nil))
		job := b.create(t, flowOf(source))
		run, err := db.InsertRuns(ctx, pool, []db.NewRun{{JobGroup: b.group, JobID: job, Type: jobspec.TriggerManual, TriggerTime: b.now, TriggerCode: wire.CodeSuccess}})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := b.Runs.Flow(ctx, db.Run{ID: run}); ok || err != nil {
			t.Errorf("before it began: %v, %v", ok, err)
		}
		q := db.New()
		if err := db.InsertFlowTexts(ctx, pool, []db.FlowText{{JobID: job, Digest: "d", Source: source}}); err != nil {
			t.Fatal(err)
		}
		texts, err := q.FindFlowTexts(ctx, pool, []int64{job})
		if err != nil || len(texts) != 1 {
			t.Fatal(err)
		}
		steps := []*db.FlowStep{{FlowLogID: run, Step: "ask", Item: -1, State: int64(flow.Approval)}, {FlowLogID: run, Step: "pay", Item: -1}}
		if err := db.InsertFlowRuns(ctx, pool, []db.FlowRun{{LogID: run, JobID: job, TextID: texts[0].ID}}); err != nil {
			t.Fatal(err)
		}
		if err := db.InsertFlowSteps(ctx, pool, pool, steps); err != nil {
			t.Fatal(err)
		}
		f, ok, err := b.Runs.Flow(ctx, db.Run{ID: run})
		if err != nil || !ok || len(f.Steps) != 2 || f.Steps[0].Step != "ask" || f.Steps[0].State != int64(flow.Approval) || f.Definition.Steps[1].ID != "pay" {
			t.Fatalf("the run: %+v, %v, %v", f, ok, err)
		}
		if s, err := b.Runs.FlowStep(ctx, db.Run{ID: run}, "pay"); err != nil || s.Step != "pay" {
			t.Errorf("a step: %+v, %v", s, err)
		}
		if _, err := b.Runs.FlowStep(ctx, db.Run{ID: run}, "none"); kind(err) != "404 problem.flow.step" {
			t.Errorf("a step that there is not: %s", kind(err))
		}
		if flowRun, s, ok, err := b.Runs.StepOf(ctx, b.user, db.Run{FlowStep: steps[1].ID}); err != nil || !ok || flowRun.ID != run || s.Step != "pay" {
			t.Errorf("the flow of a step's run: %d %s, %v, %v", flowRun.ID, s.Step, ok, err)
		}
		looker := auth.NewPrincipal(4, "tim", auth.RoleUser, "").Grant(b.group, auth.RightView)
		ask := StepInput{Step: "ask", Remark: " fine "}
		deeds := map[string]func(auth.Principal) error{
			string(ActionApprove): func(p auth.Principal) error { return b.Runs.ApproveStep(ctx, p, run, ask, true) },
			string(ActionReject):  func(p auth.Principal) error { return b.Runs.ApproveStep(ctx, p, run, ask, false) },
			string(ActionSkip):    func(p auth.Principal) error { return b.Runs.SkipStep(ctx, p, run, ask) },
			string(ActionSucceed): func(p auth.Principal) error { return b.Runs.SucceedStep(ctx, p, run, ask) },
			string(ActionRerun):   func(p auth.Principal) error { _, err := b.Runs.RerunFlow(ctx, p, run, "ask"); return err },
		}
		for action, do := range deeds {
			if got := kind(do(looker)); !strings.HasPrefix(got, "403") {
				t.Errorf("%s by who may only look: %s", action, got)
			}
			b.engine.refuse = scheduler.ErrStepNotSo
			if got := kind(do(b.user)); got != "409 problem.flow.notso" {
				t.Errorf("%s of a step that is not so: %s", action, got)
			}
			b.engine.refuse = nil
			if got := kind(do(b.user)); got != "ok" {
				t.Errorf("%s: %s", action, got)
			}
			var n int
			if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_audit WHERE action = ? AND object_kind = 'run' AND object_id = ? AND user_name = 'ann' AND after_json LIKE '%ask%'", action, run).Scan(&n); err != nil || n != 1 {
				t.Errorf("%s stands %d times in the audit log, %v", action, n, err)
			}
		}
		slices.Sort(b.engine.deeds)
		of := " ask of " + strconv.FormatInt(run, 10) + " by ann: fine"
		if want := []string{"approve false" + of, "approve true" + of, fmt.Sprintf("repeat %d from ask", run), "skip" + of, "succeed" + of}; !slices.Equal(b.engine.deeds, want) {
			t.Errorf("done is %q, want %q", b.engine.deeds, want)
		}
		// Its job has moved to where the one who saw its run may do nothing, or only look.
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET job_group = ? WHERE id = ?", b.closed, job); err != nil {
			t.Fatal(err)
		}
		for want, who := range map[string]auth.Principal{"404 problem.job.gone": b.user, "403": b.user.Grant(b.closed, auth.RightView)} {
			for action, do := range deeds {
				if got := kind(do(who)); !strings.HasPrefix(got, want) {
					t.Errorf("%s of a job that has moved away: %s, want %s", action, got, want)
				}
			}
		}
		if got := kind(b.Runs.SkipStep(ctx, b.admin, run, StepInput{Step: "ask", Remark: strings.Repeat("x", 501)})); got != "422 remark:"+jobspec.CodeTooLong {
			t.Errorf("a remark that is too long: %s", got)
		}
	})
}

// TestFaultsOfAFlowThatAreNotToldAreCounted in the order of the definition.
func TestFaultsOfAFlowThatAreNotToldAreCounted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, MaxFlowFaults: 0, MaxFlowFaults + 3: 3} {
		fields := flowFaults(make(flow.Faults, n))
		if told := min(n, MaxFlowFaults); len(fields) != told && want == 0 || want > 0 && (len(fields) != told+1 || fields[told].Key != document.CodeMore || fields[told].Args[1] != want) {
			t.Errorf("of %d faults: %v", n, fields)
		}
	}
}

// TestWhatIsRefusedSaysWhatCanBeDone of a step that does not stand as it has to.
func TestWhatIsRefusedSaysWhatCanBeDone(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		scheduler.ErrNoQuestion: "problem.flow.noquestion", errors.Join(scheduler.ErrStepNotSo, flow.ErrAsks): "problem.flow.asks",
		errors.Join(scheduler.ErrStepNotSo, flow.ErrEnding): "problem.flow.ending", errors.Join(scheduler.ErrStepNotSo, flow.ErrOpen): "problem.flow.runs",
		errors.Join(scheduler.ErrStepNotSo, flow.ErrSuccess): "problem.flow.succeeded", errors.Join(scheduler.ErrNothingToDo, flow.ErrNothing): "problem.flow.nothing",
	} {
		if got := kind(flowProblem(err)); got != "409 "+want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}
