package scheduler

import (
	"errors"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// steer are what people do to a step of a run of a flow, by their names.
func (b *bundle) steer(deed string, run int64, step string) error {
	b.t.Helper()
	fs, d := b.engine.flows, StepDeed{Run: run, Step: step, User: "ada"}
	switch deed {
	case "approve", "reject":
		return fs.Approve(b.t.Context(), d, deed == "approve")
	case "skip":
		return fs.SkipStep(b.t.Context(), d)
	case "set":
		return fs.SetStepSuccess(b.t.Context(), d)
	case "rerun":
		_, err := fs.Repeat(b.t.Context(), Repeat{Run: run, From: step, User: "ada"})
		return err
	case "rerun failed":
		_, err := fs.Repeat(b.t.Context(), Repeat{Run: run, User: "ada"})
		return err
	}
	b.t.Fatalf("deed %q", deed)
	return nil
}

// TestWhatMayBeDoneToAStep in every state of it and of its run. What is refused changes nothing, and every run ends.
func TestWhatMayBeDoneToAStep(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		ok, bad, long := b.addJob(nil), b.addJob(nil), b.addJob(nil)
		each := step("each", long)
		each.Foreach = &flow.Foreach{Items: "1..2"}
		late := step("late", long)
		late.TimeoutSeconds = 1
		job := b.addFlow(flow.Definition{OnFailure: flow.OnFailureContinue, Steps: []flow.Step{
			step("ok", ok), step("bad", bad), step("skipped", ok, "bad"), step("runs", long), each, step("waits", ok, "runs"),
			{ID: "pause", Wait: &flow.Wait{Seconds: 3600}}, {ID: "ask", Approve: &flow.Approve{}}, {ID: "no", Approve: &flow.Approve{}}, late,
		}}, nil)
		begin := func() int64 {
			run := b.trigger(job)
			b.finish(b.runOf(run, "ok"), 200, "")
			b.finish(b.runOf(run, "bad"), 500, "")
			lateRun := b.runOf(run, "late")
			b.await("the late step is to end", func() bool { return b.steps(run)["late"].Ending != 0 })
			b.finish(lateRun, 500, "")
			b.runOf(run, "runs")
			if err := b.steer("reject", run, "no"); err != nil {
				t.Fatal(err)
			}
			const want = "ok success, bad failed, skipped skipped, runs running, each running, waits waiting, pause running, ask approval, no rejected, late timeout"
			b.await("all states are there", func() bool { return b.states(run) == want })
			return run
		}
		deeds := []string{"approve", "reject", "skip", "set", "rerun", "rerun failed"}
		goesOn := [2]error{ErrFlowGoesOn, ErrFlowGoesOn}
		going := map[string][]error{ // in the order of deeds; nil: it may be done
			"ok":      {ErrNoQuestion, ErrNoQuestion, flow.ErrSuccess, flow.ErrSuccess, goesOn[0], goesOn[1]},
			"bad":     {ErrNoQuestion, ErrNoQuestion, nil, nil, goesOn[0], goesOn[1]},
			"skipped": {ErrNoQuestion, ErrNoQuestion, nil, nil, goesOn[0], goesOn[1]},
			"runs":    {ErrNoQuestion, ErrNoQuestion, flow.ErrOpen, flow.ErrOpen, goesOn[0], goesOn[1]},
			"each":    {ErrNoQuestion, ErrNoQuestion, flow.ErrOpen, flow.ErrOpen, goesOn[0], goesOn[1]},
			"waits":   {ErrNoQuestion, ErrNoQuestion, nil, nil, goesOn[0], goesOn[1]},
			"pause":   {ErrNoQuestion, ErrNoQuestion, nil, nil, goesOn[0], goesOn[1]},
			"ask":     {nil, nil, flow.ErrAsks, flow.ErrAsks, goesOn[0], goesOn[1]},
			"no":      {ErrNoQuestion, ErrNoQuestion, nil, nil, goesOn[0], goesOn[1]},
			"late":    {ErrNoQuestion, ErrNoQuestion, nil, nil, goesOn[0], goesOn[1]},
			"nobody":  {ErrNoStep, ErrNoStep, ErrNoStep, ErrNoStep, goesOn[0], goesOn[1]},
		}
		run := begin()
		before := b.states(run)
		refused := func(name string, run int64, step, deed string, want error) {
			if err := b.steer(deed, run, step); !errors.Is(err, want) {
				t.Errorf("%s: %s %s: %v, want %v", name, deed, step, err, want)
			}
		}
		for step, wants := range going {
			for i, want := range wants {
				if want != nil {
					refused("going", run, step, deeds[i], want)
				}
			}
		}
		if after := b.states(run); after != before {
			t.Errorf("what was refused left %s", after)
		}
		// All that may be done, one after the other.
		for _, d := range [][2]string{{"skip", "skipped"}, {"set", "bad"}, {"skip", "waits"}, {"set", "waits"}, {"set", "pause"}, {"set", "no"}, {"skip", "late"}, {"reject", "ask"}} {
			if err := b.steer(d[0], run, d[1]); err != nil {
				t.Errorf("%s %s: %v", d[0], d[1], err)
			}
		}
		b.endAll(long)
		if r := b.ended(run); r.Outcome != event.Failed || b.states(run) != "ok success, bad success, skipped skipped, runs success, each success, waits success, pause success, ask rejected, no success, late skipped" {
			t.Errorf("it ended as %v: %s", r.Outcome, b.states(run))
		}
		b.over(run)
		for step := range going {
			for _, deed := range deeds[:4] {
				refused("over", run, step, deed, ErrFlowEnded)
			}
		}
		refused("over", run, "nobody", "rerun", ErrNoStep)

		// While it ends, and after that.
		run = begin()
		b.exec("UPDATE punctual_flow_run SET asked = ?, stopped_by = 'ada', revision = revision + 1 WHERE log_id = ?", int(flow.AskedStop), run)
		for step := range going {
			for i, deed := range deeds {
				switch {
				case step == "ask" && i < 2: // which may be answered until it is ended
				case step == "nobody" && i < 4:
					refused("ending", run, step, deed, ErrNoStep)
				case i < 2:
					refused("ending", run, step, deed, ErrNoQuestion)
				case i < 4:
					refused("ending", run, step, deed, flow.ErrEnding)
				default:
					refused("ending", run, step, deed, ErrFlowGoesOn)
				}
			}
		}
		b.endAll(long)
		if r := b.ended(run); r.Outcome != event.Killed {
			t.Errorf("it ended as %v: %s", r.Outcome, b.states(run))
		}
		b.over(run)
		if err := b.steer("rerun", run, "ok"); err != nil {
			t.Errorf("rerun of a stopped flow: %v", err)
		}
	})
}

// endAll ends the runs of a job that go on, and those that follow.
func (b *bundle) endAll(job int64) {
	b.t.Helper()
	b.await("its runs end", func() bool {
		open := 0
		for _, r := range b.runsOf(job) {
			if r.HandleCode == 0 {
				open++
				if r.TriggerCode == 200 {
					b.finish(r.ID, 200, "")
				}
			}
		}
		return open == 0
	})
}
