package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// addFlow makes a flow of steps, as the job that its run is of.
func (b *bundle) addFlow(def flow.Definition, change func(*db.InsertJobParams)) int64 {
	b.t.Helper()
	text, err := json.Marshal(&def)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.addJob(func(p *db.InsertJobParams) {
		p.GlueType, p.GlueSource, p.ExecutorHandler, p.ExecutorParam = jobspec.GlueFlow, db.Text(text), "", "of the flow"
		if change != nil {
			change(p)
		}
	})
}

// step is a step that runs a job once others have ended.
func step(id string, job int64, needs ...string) flow.Step {
	return flow.Step{ID: id, Job: &flow.JobRef{ID: job}, Needs: needs}
}

// steps are the rows of a run of a flow, by the ids of the steps.
func (b *bundle) steps(run int64) map[string]db.FlowStep {
	b.t.Helper()
	rows, err := b.engine.queries.ListWholeFlowSteps(b.t.Context(), b.pool, []int64{run})
	if err != nil {
		b.t.Fatal(err)
	}
	byID := make(map[string]db.FlowStep, len(rows))
	for _, r := range rows {
		byID[r.Step] = r
	}
	return byID
}

// states are how the steps of a run of a flow stand, in the order of the definition.
func (b *bundle) states(run int64) string {
	b.t.Helper()
	rows, err := b.engine.queries.ListFlowSteps(b.t.Context(), b.pool, []int64{run})
	if err != nil {
		b.t.Fatal(err)
	}
	var s []string
	for _, r := range rows {
		s = append(s, r.Step+" "+flow.State(r.State).String())
	}
	return strings.Join(s, ", ")
}

// runOf waits until a step has a run that is sent, and gives it.
func (b *bundle) runOf(flowRun int64, step string) int64 {
	b.t.Helper()
	var id int64
	b.await("step "+step+" is sent", func() bool {
		id = b.steps(flowRun)[step].RunID
		return id != 0 && b.run(id).TriggerCode == wire.CodeSuccess
	})
	return id
}

// ended waits for the end of a run and gives its row.
func (b *bundle) ended(run int64) db.Run {
	b.t.Helper()
	b.await(fmt.Sprintf("run %d has ended", run), func() bool { r := b.run(run); return r.Outcome != event.Open })
	return b.run(run)
}

func TestAFlowRunsItsStepsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, two := b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam = "own" }), b.addJob(nil)
		child := b.addJob(nil)
		param := "for two"
		second := step("second", two, "first")
		second.Param = &param
		job := b.addFlow(flow.Definition{Steps: []flow.Step{second, step("first", one)}}, func(p *db.InsertJobParams) { p.ChildJobIDs = db.Text(fmt.Sprint(child)) })
		run := b.trigger(job)
		first := b.runOf(run, "first")
		if got := b.states(run); got != "second waiting, first running" {
			t.Errorf("at the beginning: %s", got)
		}
		if r := b.run(first); r.TriggerType != jobspec.TriggerFlow || r.OriginLogID != run || r.ExecutorParam != "own" || r.FlowStep != b.steps(run)["first"].ID {
			t.Errorf("the run of the first step: %+v", r)
		}
		b.finish(first, 200, "done")
		id := b.runOf(run, "second")
		if r := b.run(id); r.ExecutorParam != "for two" {
			t.Errorf("the second step got %q", r.ExecutorParam)
		}
		if got := b.run(run); got.HandleCode != 0 {
			t.Errorf("it has ended before its steps: %d", got.HandleCode)
		}
		b.finish(id, 200, "done")
		if r := b.ended(run); r.Outcome != event.Succeeded || r.HandleCode != 200 {
			t.Errorf("the flow ended as %v, %d", r.Outcome, r.HandleCode)
		}
		if got := b.states(run); got != "second success, first success" {
			t.Errorf("in the end: %s", got)
		}
		b.await("its child is started", func() bool { return len(b.runsOf(child)) == 1 })
		b.await("it is noted as over", func() bool {
			row, err := b.engine.queries.GetFlowRun(t.Context(), pool, run)
			return err == nil && row.State == flowOver
		})
	})
}

// TestAJoinStartsOnce has two engines record the ends of two parents at the very same time, many times.
func TestAJoinStartsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		two := b.second(nil)
		a, c, join := b.addJob(nil), b.addJob(nil), b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", a), step("c", c), step("join", join, "a", "c")}}, func(p *db.InsertJobParams) { p.MaxConcurrent = 100 })
		const rounds = 12
		var runs []int64
		for range rounds {
			run := b.trigger(job)
			runs = append(runs, run)
			ra, rc := b.runOf(run, "a"), b.runOf(run, "c")
			var both sync.WaitGroup
			for i, e := range []*Engine{b.engine, two} {
				both.Go(func() {
					if err := e.Complete(t.Context(), []wire.Callback{{LogID: []int64{ra, rc}[i], HandleCode: 200}}); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
		}
		for _, run := range runs {
			b.finish(b.runOf(run, "join"), 200, "")
			if r := b.ended(run); r.Outcome != event.Succeeded {
				t.Errorf("run %d ended as %v", run, r.Outcome)
			}
		}
		if n := len(b.runsOf(join)); n != rounds {
			t.Errorf("the join ran %d times in %d runs", n, rounds)
		}
	})
}

func TestAFailedStepFailsItsFlow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &heard{}
		b := setup(t, pool, func(c *Config) { c.Alarms = alarms }, addressA)
		one, two := b.addJob(nil), b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), step("second", two, "first")}}, nil)
		run := b.trigger(job)
		b.finish(b.runOf(run, "first"), 500, "no disk")
		if r := b.ended(run); r.Outcome != event.Failed || r.HandleCode != 500 || !strings.Contains(string(r.HandleMsg), "first: no disk") {
			t.Errorf("the flow ended as %v, %d: %s", r.Outcome, r.HandleCode, r.HandleMsg)
		}
		if e, ok := b.events(run).Last(event.FlowFailed); !ok || e.Text(0) != "first" {
			t.Errorf("it does not say which step failed: %s", b.events(run))
		}
		if len(b.runsOf(two)) != 0 {
			t.Error("the second step ran")
		}
		if !slices.ContainsFunc(alarms.events, func(a AlarmEvent) bool { return a.LogID == run && a.Cause == AlarmFailed }) {
			t.Error("nobody is told of the flow's failure")
		}
	})
}

// TestAStepIsToldByItsName: what people read of a step, in the console, in alarms and in XXL-JOB's column, is what they called it.
func TestAStepIsToldByItsName(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		first := step("first", b.addJob(nil))
		first.Name = "Load the ledger"
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{first}}, nil))
		of := b.runOf(run, "first")
		b.finish(of, 500, "no disk")
		if r := b.ended(run); !strings.Contains(string(r.HandleMsg), "Load the ledger: no disk") {
			t.Errorf("the flow ended with %s", r.HandleMsg)
		}
		if e, ok := b.events(run).Last(event.FlowFailed); !ok || e.Text(0) != first.Name {
			t.Errorf("it does not name the step that failed: %s", b.events(run))
		}
		if e, ok := b.events(of).Last(event.FlowStep); !ok || e.Text(1) != first.Name {
			t.Error("the run of the step does not name it")
		}
	})
}

func TestAStepThatIsRetriedToSuccessIsASuccess(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, two := b.addJob(nil), b.addJob(nil)
		retries := int64(1)
		first := step("first", one)
		first.Retries = &retries
		job := b.addFlow(flow.Definition{Steps: []flow.Step{first, step("second", two, "first")}}, nil)
		run := b.trigger(job)
		attempt := b.runOf(run, "first")
		b.finish(attempt, 500, "not yet")
		b.await("the retry is sent", func() bool {
			id := b.steps(run)["first"].RunID
			return id != attempt && b.run(id).TriggerCode == 200
		})
		if got := b.states(run); got != "first running, second waiting" {
			t.Errorf("after the first attempt: %s", got)
		}
		b.finish(b.steps(run)["first"].RunID, 200, "")
		b.finish(b.runOf(run, "second"), 200, "")
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("the flow ended as %v", r.Outcome)
		}
	})
}

// TestAStepSaysHowLongItsRetriesWait, whatever its job says; of one that says nothing its job does.
func TestAStepSaysHowLongItsRetriesWait(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		hours := func(p *db.InsertJobParams) { p.RetryBackoff, p.ExecutorFailRetryCount = "2h", 1 }
		own, said := step("own", b.addJob(hours)), step("said", b.addJob(hours))
		said.RetryBackoff = "3h"
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{own, said}}, nil))
		for id, wait := range map[string]time.Duration{"own": 2 * time.Hour, "said": 3 * time.Hour} {
			attempt := b.runOf(run, id)
			b.finish(attempt, 500, "not yet")
			b.await("the retry is made", func() bool { return b.steps(run)[id].RunID != attempt })
			failed, retry := b.run(attempt), b.run(b.steps(run)[id].RunID)
			if got := time.Duration(retry.PlannedAt-failed.FinishedAt) * time.Millisecond; got < wait-time.Minute || got > wait+time.Minute {
				t.Errorf("%s waits %v, want %v", id, got, wait)
			}
		}
	})
}

// TestAFailureThatIsAllowedLetsTheFlowGoOn, and shows as one.
func TestAFailureThatIsAllowedLetsTheFlowGoOn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		first := step("first", b.addJob(nil))
		first.ContinueOnError = true
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{first, step("second", b.addJob(nil), "first")}}, nil))
		b.finish(b.runOf(run, "first"), 500, "no")
		b.finish(b.runOf(run, "second"), 200, "")
		if r := b.ended(run); r.Outcome != event.Succeeded || b.states(run) != "first failed, second success" {
			t.Errorf("the flow ended as %v: %s", r.Outcome, b.states(run))
		}
		// With another one that is not, it is that one that the flow says has failed.
		other := step("other", b.addJob(nil), "first")
		run = b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{first, other}}, nil))
		b.finish(b.runOf(run, "first"), 500, "no")
		b.finish(b.runOf(run, "other"), 500, "never")
		if r := b.ended(run); r.Outcome != event.Failed || !strings.HasPrefix(string(r.HandleMsg), "other: never") {
			t.Errorf("the flow ended as %v: %s", r.Outcome, r.HandleMsg)
		}
	})
}

// TestALongMessageOfAStepIsCut to what is kept of it, and keeps no result from being taken: its executor would report it for ever.
func TestALongMessageOfAStepIsCut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		next := step("next", b.addJob(nil), "first")
		next.Param = new("${{ len(steps.first.message) }}")
		for _, size := range []int{flow.MaxOutput, flow.MaxOutput + 1, 3 * flow.MaxOutput} {
			run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil)), next}}, nil))
			b.finish(b.runOf(run, "first"), 200, strings.Repeat("x", size))
			if got, most := string(b.run(b.runOf(run, "next")).ExecutorParam), fmt.Sprint(flow.MaxOutput); size == flow.MaxOutput && got != most || len(got) > len(most) {
				t.Errorf("of %d bytes the next step has %s", size, got)
			}
		}
	})
}

// TestAFlowSaysWhatItsFailedStepSaid, also where others of its steps end later.
func TestAFlowSaysWhatItsFailedStepSaid(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil)), step("other", b.addJob(nil))}}, nil))
		b.finish(b.runOf(run, "first"), 500, "never")
		b.finish(b.runOf(run, "other"), 200, "")
		if r := b.ended(run); r.Outcome != event.Failed || !strings.HasPrefix(string(r.HandleMsg), "first: never") {
			t.Errorf("the flow ended as %v: %s", r.Outcome, r.HandleMsg)
		}
	})
}

// TestStepsAreReadOnce by an admin that decides about one end after another, and again when another admin has decided in between.
func TestStepsAreReadOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, nil)
		b.group = b.addGroup("orders", addressA)
		var mu sync.Mutex
		read := -1
		b.engine.flows.watched = func(m *flowMove) {
			mu.Lock()
			defer mu.Unlock()
			if len(m.ends) > 0 {
				read = m.read
			}
		}
		b.startEngine(b.engine)
		two := b.second(nil)
		finish := func(e *Engine, id int64, want int) {
			t.Helper()
			if err := e.Complete(t.Context(), []wire.Callback{{LogID: id, HandleCode: 200}}); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if e == b.engine && read != want {
				t.Errorf("%d rows of steps were read, want %d", read, want)
			}
		}
		job := b.addJob(nil)
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("s1", job), step("s2", job, "s1"), step("s3", job, "s2"), step("s4", job, "s3"), step("s5", job, "s4")}}, nil))
		first := b.runOf(run, "s1")
		b.engine.flows.kept.keep(two.flowOf(t, run)) // whichever of the two began it
		finish(b.engine, first, 0)
		finish(b.engine, b.runOf(run, "s2"), 0)
		finish(two, b.runOf(run, "s3"), 0)
		finish(b.engine, b.runOf(run, "s4"), 5)
		finish(b.engine, b.runOf(run, "s5"), 0)
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("the flow ended as %v: %s", r.Outcome, b.states(run))
		}
		b.await("nothing is kept of it", func() bool {
			k := b.engine.flows.kept
			k.mu.Lock()
			defer k.mu.Unlock()
			return len(k.runs) == 0 && len(k.steps) == 0
		})
	})
}

// flowOf is a run of a flow as a decision reads it.
func (e *Engine) flowOf(t *testing.T, run int64) (f *flowState) {
	t.Helper()
	err := e.cfg.Pool.Tx(t.Context(), func(tx *sql.Tx) error {
		m := &flowMove{look: []int64{run}}
		err := e.flows.load(t.Context(), tx, m)
		f = m.states[run]
		return err
	})
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	f.row.Revision-- // as before the decision that left it so
	return f
}

// TestNoMoreStepsAreKeptThanAllowed, and what is kept is a copy.
func TestNoMoreStepsAreKeptThanAllowed(t *testing.T) {
	t.Parallel()
	plan, err := newFlowPlan(1, "steps:\n  - id: a\n    job: 1\n  - id: b\n    job: 1\n")
	if err != nil {
		t.Fatal(err)
	}
	k := newKeptFlows(5)
	state := func(log, revision int64) *flowState {
		f := &flowState{row: db.FlowRun{LogID: log, Revision: revision}, plan: plan}
		for i := range 2 {
			f.steps = append(f.steps, &flowStep{place: i, FlowStep: db.FlowStep{ID: 10*log + int64(i), FlowLogID: log, State: int64(flow.Running), Message: "long"}})
		}
		return f
	}
	for log := range int64(10) {
		k.keep(state(log+1, 3))
	}
	if len(k.runs) != 2 || len(k.steps) != 4 || k.at(10, 4) == nil {
		t.Errorf("%d runs and %d steps are kept", len(k.runs), len(k.steps))
	}
	if k.at(10, 3) != nil || k.at(10, 5) != nil {
		t.Error("given with another revision")
	}
	k.keep(state(10, 2)) // told of late
	f := k.at(10, 4)
	if f == nil || f.steps[0].Message != "" || f.run.Steps[0].State != flow.Running {
		t.Fatalf("kept %+v", f)
	}
	f.steps[0].State, f.run.Steps[0].State = int64(flow.Failed), flow.Failed
	if f := k.at(10, 4); f.steps[0].State != int64(flow.Running) || f.run.Steps[0].State != flow.Running {
		t.Error("a decision that was not committed changed what is kept")
	}
	ended := state(10, 4)
	ended.row.State = flowDecided
	k.keep(ended)
	if k.at(10, 5) != nil || len(k.of([]int64{100, 101}, []int64{10})) != 0 {
		t.Error("a run that has ended is kept")
	}
}

// TestAStoppedFlowCleansUp: what asks for the stop starts when what it needs has ended, and the flow ends with it.
func TestAStoppedFlowCleansUp(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		clean := step("clean", b.addJob(nil), "first")
		clean.If = "cancelled()"
		def := flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil)), clean, step("second", b.addJob(nil), "first")}}
		job := b.addFlow(def, nil)
		run := b.trigger(job)
		first := b.runOf(run, "first")
		stopped := make(chan error, 1)
		go func() { stopped <- b.engine.Kill(t.Context(), run, "ada") }()
		cleaning := b.runOf(run, "clean")
		if r := b.run(first); r.Outcome != event.Killed || b.states(run) != "first cancelled, clean running, second cancelled" {
			t.Errorf("the step's run ended as %v: %s", r.Outcome, b.states(run))
		}
		if err := <-stopped; err != nil && !errors.Is(err, ErrKillLater) {
			t.Fatal(err)
		}
		b.finish(cleaning, 200, "")
		if r := b.ended(run); r.Outcome != event.Killed || b.states(run) != "first cancelled, clean success, second cancelled" {
			t.Errorf("the flow ended as %v: %s", r.Outcome, b.states(run))
		}

		// What cleans up and hangs is ended as any run.
		run = b.trigger(job)
		b.runOf(run, "first")
		go func() { stopped <- b.engine.Kill(t.Context(), run, "ada") }()
		cleaning = b.runOf(run, "clean")
		if err := <-stopped; err != nil && !errors.Is(err, ErrKillLater) {
			t.Fatal(err)
		}
		if err := b.engine.Kill(t.Context(), cleaning, "ada"); err != nil {
			t.Fatal(err)
		}
		if r := b.ended(run); r.Outcome != event.Killed || b.states(run) != "first cancelled, clean cancelled, second cancelled" {
			t.Errorf("the flow ended as %v: %s", r.Outcome, b.states(run))
		}
	})
}

// TestAStepWhoseRunCannotBeSentFails: nobody is registered for its group.
func TestAStepWhoseRunCannotBeSentFails(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		empty := b.addGroup("nobody")
		one := b.addJob(func(p *db.InsertJobParams) { p.JobGroup = empty })
		gone := b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one)}}, nil)
		if r := b.ended(b.trigger(job)); r.Outcome != event.Failed {
			t.Errorf("with a group of nobody it ended as %v", r.Outcome)
		}
		job = b.addFlow(flow.Definition{Steps: []flow.Step{step("first", gone)}}, nil)
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", gone)
		run := b.trigger(job)
		if r := b.ended(run); r.Outcome != event.Failed || b.steps(run)["first"].State != int64(flow.Failed) {
			t.Errorf("with a job that is gone it ended as %v, its step as %s", r.Outcome, b.states(run))
		}
	})
}

// TestAStepIsDecidedOnce: a success that comes after its run counted as lost, or its sending as failed, is the run's alone.
func TestAStepIsDecidedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA)
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 })
		id := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", job)}}, nil)
		for name, fail := range map[string]func(run int64){
			"lost": func(run int64) {
				b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
				if err := b.engine.complete(t.Context(), []finishing{{id: run, code: wire.CodeFail, given: event.Lost}}); err != nil {
					t.Fatal(err)
				}
			},
			"not sent": func(run int64) {
				b.await("its sending has failed", func() bool { return b.run(run).TriggerCode == wire.CodeFail })
			},
		} {
			b.executors.mu.Lock()
			b.executors.run = nil
			if name == "not sent" {
				b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) { return wire.Answer{Code: wire.CodeFail}, nil }
			}
			b.executors.mu.Unlock()
			of := b.trigger(id)
			var run int64
			b.await("its step runs", func() bool { run = b.steps(of)["a"].RunID; return run > 0 })
			fail(run)
			if r := b.ended(of); r.Outcome != event.Failed {
				t.Errorf("%s: the flow ended as %s", name, r.Outcome)
			}
			b.finish(run, wire.CodeSuccess, "done after all")
			if r, s := b.run(run), b.states(of); r.HandleCode != wire.CodeSuccess || s != "a failed" {
				t.Errorf("%s: the run has code %d, its steps are %s", name, r.HandleCode, s)
			}
		}
	})
}

func TestStoppingAFlowEndsItsSteps(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, two := b.addJob(nil), b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), step("second", two, "first")}}, nil)
		run := b.trigger(job)
		first := b.runOf(run, "first")
		if err := b.engine.Kill(t.Context(), run, "ada"); err != nil {
			t.Fatal(err)
		}
		if r := b.run(first); r.Outcome != event.Killed {
			t.Errorf("the step's run ended as %v", r.Outcome)
		}
		if r := b.run(run); r.Outcome != event.Killed || b.states(run) != "first cancelled, second cancelled" {
			t.Errorf("the flow ended as %v: %s", r.Outcome, b.states(run))
		}
		if e, ok := b.events(run).Last(event.KilledAt); !ok || e.Text(0) != "ada" {
			t.Errorf("it does not say who ended it: %s", b.events(run))
		}
	})
}

// TestAFlowThatWasQuickerThanItsStopHasSucceeded: its last step, or item, does all the same, so that nothing of it was ended.
func TestAFlowThatWasQuickerThanItsStopHasSucceeded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		child := b.addJob(nil)
		items := step("items", b.addJob(nil))
		items.Foreach = &flow.Foreach{Items: "[1]"}
		for _, s := range []flow.Step{step("step", b.addJob(nil)), items} {
			job := b.addFlow(flow.Definition{Steps: []flow.Step{s}}, func(p *db.InsertJobParams) { p.ChildJobIDs = db.Text(fmt.Sprint(child)) })
			for stopped := true; stopped; {
				run, last := b.trigger(job), int64(0)
				b.await("it is sent", func() bool {
					if err := pool.QueryRowContext(t.Context(), "SELECT COALESCE(MAX(run_id), 0) FROM punctual_flow_step WHERE flow_log_id = ?", run).Scan(&last); err != nil {
						t.Fatal(err)
					}
					return last != 0 && b.run(last).TriggerCode == wire.CodeSuccess
				})
				if err := b.engine.flows.stop(t.Context(), run, "ada"); err != nil {
					t.Fatal(err)
				}
				b.finish(last, 200, "")
				if stopped = b.ended(last).Outcome == event.Killed; stopped { // a slow machine was not quicker
					continue
				}
				if r := b.ended(run); r.Outcome != event.Succeeded || r.HandleCode != wire.CodeSuccess {
					t.Errorf("a flow with a %s ended as %v: %s", s.ID, r.Outcome, b.states(run))
				}
			}
		}
		b.await("the children of both", func() bool { return len(b.runsOf(child)) == 2 })
	})
}

func TestAFlowOfWhichAStepWasKilledIsNotRetried(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil))}}, func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 2 })
		run := b.trigger(job)
		if err := b.engine.Kill(t.Context(), b.runOf(run, "first"), "ada"); err != nil {
			t.Fatal(err)
		}
		if r := b.ended(run); r.Outcome != event.Killed || len(b.runsOf(job)) != 1 {
			t.Errorf("it ended as %v, and ran %d times", r.Outcome, len(b.runsOf(job)))
		}
		if by := endedByWhom(b.events(run)); by != "ada" {
			t.Errorf("it was ended by %q", by)
		}
	})
}

// TestAStepThatOthersEndedIsFound: an XXL-JOB admin took its report, or somebody wrote into the table, or deleted the row.
func TestAStepThatOthersEndedIsFound(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, two := b.addJob(nil), b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), step("second", two, "first")}}, nil)
		run := b.trigger(job)
		b.exec("UPDATE xxl_job_log SET handle_code = 200, handle_time = trigger_time WHERE id = ?", b.runOf(run, "first"))
		second := b.runOf(run, "second")
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", second)
		if r := b.ended(run); r.Outcome != event.Failed || b.states(run) != "first success, second failed" {
			t.Errorf("it ended as %v: %s", r.Outcome, b.states(run))
		}
	})
}

// TestADecidedFlowComesToItsEnd: the admin died between the decision and the record of the end.
func TestADecidedFlowComesToItsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil))}}, nil)
		run := b.trigger(job)
		b.runOf(run, "first")
		b.exec("UPDATE punctual_flow_run SET state = 1, ends = ? WHERE log_id = ?", int(flow.Success), run)
		if err := b.engine.flows.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := b.run(run); r.Outcome != event.Succeeded {
			t.Errorf("it ended as %v", r.Outcome)
		}
	})
}

// TestTheRunOfAFlowIsTakenOver as any that a dead admin left, and begins once.
func TestTheRunOfAFlowIsTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, shortLease, addressA)
		one := b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one)}}, nil)
		now := b.engine.now()
		b.deadNode(db.NewRun{JobGroup: b.group, JobID: job, TriggerTime: pool.Wall(now), PlannedAt: now.UnixMilli(), Type: jobspec.TriggerCron})
		b.await("its step runs", func() bool { return len(b.runsOf(one)) == 1 })
		b.finish(b.runsOf(one)[0].ID, 200, "")
		if r := b.ended(b.runsOf(job)[0].ID); r.Outcome != event.Succeeded {
			t.Errorf("it ended as %v", r.Outcome)
		}
	})
}

// TestAFlowThatIsNotAsItWasMadeDoesNotBegin: an admin writes that a run of a flow begins without having read it.
func TestAFlowThatIsNotAsItWasMadeDoesNotBegin(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		flowJob := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil))}}, func(p *db.InsertJobParams) { p.MaxConcurrent = 3 })
		jobs, err := b.engine.jobsByID(t.Context(), []int64{flowJob})
		if err != nil {
			t.Fatal(err)
		}
		var waiting []*dispatch
		later := b.engine.now().Add(time.Hour)
		for range 5 {
			made, err := b.engine.commit(t.Context(), func(tx *sql.Tx) ([]*dispatch, error) {
				runs := b.engine.newRuns(jobs[flowJob], cause{trigger: jobspec.TriggerCron, planned: later})
				return runs, b.engine.insert(t.Context(), tx, runs)
			})
			if err != nil {
				t.Fatal(err)
			}
			waiting = append(waiting, made...)
		}
		if err := b.engine.Kill(t.Context(), waiting[0].id, "ada"); err != nil {
			t.Fatal(err)
		}
		b.exec("UPDATE xxl_job_log SET owner_node = 99, trigger_code = 200 WHERE id = ?", waiting[1].id)
		b.exec("UPDATE punctual_slot SET running = 1 WHERE log_id = ?", waiting[1].id)
		b.exec("DELETE FROM xxl_job_log WHERE id = ?", waiting[2].id)
		b.exec("DELETE FROM punctual_slot WHERE log_id = ?", waiting[2].id)
		for _, d := range waiting {
			b.engine.timer.remove(d.id)
		}
		b.engine.beginFlows(t.Context(), waiting)
		for i, begins := range []bool{false, false, false, true, true} {
			if n := len(b.steps(waiting[i].id)); n > 0 != begins {
				t.Errorf("run %d has %d steps", i, n)
			}
			if i > 2 {
				b.finish(b.runOf(waiting[i].id, "first"), 200, "")
				if r := b.ended(waiting[i].id); r.Outcome != event.Succeeded || r.OwnerNode != b.engine.node.ID() {
					t.Errorf("run %d ended as %v, of node %d", i, r.Outcome, r.OwnerNode)
				}
			}
		}
		b.await("nothing of them is open", func() bool { return b.engine.pending.len() == 0 })
		b.await("their slots are free", func() bool {
			rows, err := db.CountSlots(t.Context(), pool, []int64{flowJob}, 10)
			return err == nil && len(rows) == 1 && rows[0].Running == 1 && rows[0].Waiting == 0
		})
	})
}

// TestTheLimitOfAFlowHoldsForAllAdmins who let its runs begin at the same time, each with runs of its own and those that the other left waiting.
func TestTheLimitOfAFlowHoldsForAllAdmins(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const limit, rounds = 3, 12
		b := setup(t, pool, nil, addressA)
		sent := make(chan int64, 1000)
		var going, most atomic.Int64
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if n := going.Add(1); n > most.Load() {
				most.Store(n)
			}
			sent <- req.LogID
			return yes, nil
		}
		engines := []*Engine{b.engine, b.second(nil)}
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("only", b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 0 }))}}, func(p *db.InsertJobParams) { p.MaxConcurrent = limit })
		var triggers sync.WaitGroup
		for _, e := range engines {
			for range rounds {
				triggers.Go(func() {
					if _, err := e.Trigger(t.Context(), TriggerRequest{JobID: job, Type: jobspec.TriggerManual}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		for i := range rounds * len(engines) {
			id := <-sent
			if i == 0 { // all that may are there
				b.await("as many run as may", func() bool { return going.Load() == limit })
			}
			going.Add(-1)
			if err := engines[i%2].Complete(t.Context(), []wire.Callback{{LogID: id, HandleCode: 200}}); err != nil {
				t.Error(err)
			}
		}
		triggers.Wait()
		b.await("all have ended", func() bool {
			return b.countRuns("job_id = ? AND outcome = ?", job, int64(event.Succeeded)) == rounds*len(engines)
		})
		if n := most.Load(); n != limit {
			t.Errorf("%d ran at a time, %d may", n, limit)
		}
		if n := b.countRuns("flow_step > 0"); n != rounds*len(engines) {
			t.Errorf("%d runs of steps of %d", n, rounds*len(engines))
		}
	})
}

// TestARunOfNoFlowPaysNothing: nothing of what flows keep is looked at on its way. The tables might as well not be there.
func TestARunOfNoFlowPaysNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		for _, table := range []string{"punctual_flow_run", "punctual_flow_step", "punctual_flow_text"} {
			b.exec("ALTER TABLE " + table + " RENAME TO " + table + "_gone")
		}
		t.Cleanup(func() {
			for _, table := range []string{"punctual_flow_run", "punctual_flow_step", "punctual_flow_text"} {
				_, _ = pool.ExecContext(context.Background(), "ALTER TABLE "+table+"_gone RENAME TO "+table)
			}
		})
		parent, child := b.family(1)
		run := b.trigger(parent)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		b.finish(run, 500, "no")
		b.await("its retry is sent", func() bool { return len(b.runsOf(parent)) == 2 && b.runsOf(parent)[1].TriggerCode == 200 })
		b.finish(b.runsOf(parent)[1].ID, 200, "")
		b.await("its child is sent", func() bool { return len(b.runsOf(child)) == 1 && b.runsOf(child)[0].TriggerCode == 200 })
		if err := b.engine.Kill(t.Context(), b.runsOf(child)[0].ID, "ada"); err != nil {
			t.Fatal(err)
		}
		lonely := b.addJob(func(p *db.InsertJobParams) { p.JobGroup = b.addGroup("nobody") })
		if r := b.ended(b.trigger(lonely)); r.Outcome != event.NotSent {
			t.Errorf("one that cannot be sent ended as %v", r.Outcome)
		}
	})
}

// TestADefinitionThatWasRolledBackIsForgotten: the row of the next one may get its number.
func TestADefinitionThatWasRolledBackIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		work := b.addJob(nil)
		planFor := func(step1 string, end error) (plan *flowPlan) {
			t.Helper()
			id := b.addFlow(flow.Definition{Steps: []flow.Step{step(step1, work)}}, nil)
			jobs, err := b.engine.jobsByID(t.Context(), []int64{id})
			if err != nil {
				t.Fatal(err)
			}
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
				plans, _, err := b.engine.flows.plansFor(t.Context(), tx, jobs)
				plan = plans[id]
				return errors.Join(err, end)
			}); !errors.Is(err, end) {
				t.Fatal(err)
			}
			return plan
		}
		planFor("first", errors.New("undone"))
		plan := planFor("second", nil)
		kept, err := b.engine.flows.planOf(t.Context(), pool, plan.text)
		if err != nil || plan.def.Steps[0].ID != "second" || kept.def.Steps[0].ID != "second" {
			t.Errorf("the second flow begins with %+v and goes on with %+v, %v", plan.def, kept, err)
		}
	})
}

// TestAKnownDefinitionStaysOnRecord: one that is known is not looked for, but when it may be deleted soon, so that none is while a run begins.
func TestAKnownDefinitionStaysOnRecord(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil))}}, nil)
		jobs, err := b.engine.jobsByID(t.Context(), []int64{job})
		if err != nil {
			t.Fatal(err)
		}
		flows := b.engine.flows
		plan := func() (plan *flowPlan) {
			t.Helper()
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
				plans, _, err := flows.plansFor(t.Context(), tx, jobs)
				plan = plans[job]
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return plan
		}
		first := plan()
		flows.remember(first)
		if next := plan(); next.text != first.text || next.row != nil {
			t.Errorf("it is looked for: %+v after %+v", next, first)
		}
		old := b.engine.now().Add(-keptText - time.Minute).UnixMilli()
		b.exec("UPDATE punctual_flow_text SET made_at = ? WHERE id = ?", old, first.text)
		flows.known.put(first.key, textRow{first.text, old})
		next := plan()
		row, err := b.engine.queries.GetFlowText(t.Context(), pool, first.text)
		if err != nil || next.text != first.text || row.MadeAt <= old {
			t.Errorf("of one that is old: %+v, on record since %d after %d, %v", next, row.MadeAt, old, err)
		}
		flows.remember(next)
		if known, _ := flows.known.get(first.key); known.madeAt != row.MadeAt {
			t.Errorf("it is known as of %d, and is on record since %d", known.madeAt, row.MadeAt)
		}
	})
}

// TestADeletedFlowIsStopped: its runs are deleted with it, and what they had begun is ended.
func TestADeletedFlowIsStopped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", b.addJob(nil))}}, nil)
		run := b.trigger(job)
		first := b.runOf(run, "first")
		b.exec("DELETE FROM xxl_job_info WHERE id = ?", job)
		if _, err := b.engine.upkeep.DeleteRunsOfJob(t.Context(), job, 100); err != nil {
			t.Fatal(err)
		}
		if r := b.ended(first); r.Outcome != event.Killed {
			t.Errorf("the step's run ended as %v", r.Outcome)
		}
		b.await("it is over", func() bool {
			row, err := b.engine.queries.GetFlowRun(t.Context(), pool, run)
			return err == nil && row.State == flowOver
		})
	})
}

// TestARunThatIsAStepStartsNoChildren, also where it succeeds together with another run of its job, which does.
func TestARunThatIsAStepStartsNoChildren(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		child := b.addJob(nil)
		parent := b.addJob(func(p *db.InsertJobParams) { p.ChildJobIDs = db.Text(fmt.Sprint(child)) })
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("a", parent)}}, nil))
		of, other := b.runOf(run, "a"), b.trigger(parent)
		b.await("the other run is sent", func() bool { return b.run(other).TriggerCode == wire.CodeSuccess })
		if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: of, HandleCode: 200}, {LogID: other, HandleCode: 200}}); err != nil {
			t.Fatal(err)
		}
		if runs := b.runsOf(child); len(runs) != 1 || runs[0].OriginLogID != other || b.has(of, event.NoChild) || b.has(of, event.Child) {
			t.Errorf("the child ran %d times; of the step's run is told: %s", len(runs), b.events(of))
		}
	})
}
