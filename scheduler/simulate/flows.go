package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// drawFlows makes as many flows as there are other jobs, which their steps run. They are drawn by a stream of their own and stand behind the
// others, so that a seed without them is what it was.
func (s *scenario) drawFlows(r *rand.Rand) {
	jobs := len(s.jobs)
	for i := range jobs {
		j := &job{
			name: fmt.Sprintf("flow-%d", i), group: r.IntN(len(s.groups)), misfire: pick(r, jobspec.MisfireDoNothing, jobspec.MisfireFireOnceNow),
			route: jobspec.RouteFirst, block: pick(r, wire.BlockSerial, wire.BlockSerial, wire.BlockDiscardLater, wire.BlockCoverEarly), retries: pick[int64](r, 0, 0, 0, 1),
			when: when{zone: installation, kind: jobspec.ScheduleFixRate, every: pick[int64](r, 5, 10, 20, 30, 60)},
			def:  s.drawDefinition(r, jobs),
		}
		s.jobs = append(s.jobs, j)
	}
}

// drawDefinition makes a flow whose steps run jobs that were drawn before it; their ids are known later, so they stand for their indexes.
func (s *scenario) drawDefinition(r *rand.Rand, jobs int) *flow.Definition {
	def := &flow.Definition{OnFailure: pick(r, flow.OnFailureStop, flow.OnFailureContinue)}
	for i := range 1 + r.IntN(6) {
		step := flow.Step{ID: fmt.Sprintf("s%d", i)}
		for k := range i {
			if r.IntN(i) < 2 && r.IntN(2) == 0 {
				step.Needs = append(step.Needs, fmt.Sprintf("s%d", k))
			}
		}
		if len(step.Needs) > 1 && r.IntN(4) == 0 {
			step.Join = flow.JoinAny
		}
		step.If = pick(r, "", "", "", "always()", "failure()", "failure() || cancelled()")
		step.ContinueOnError = r.IntN(6) == 0
		if len(step.Needs) == 0 {
			step.If = ""
		}
		switch x := r.IntN(12); {
		case x == 0:
			step.Wait = &flow.Wait{Seconds: 1 + r.Int64N(5)}
		case x == 1 && len(s.jobs) > jobs: // a flow that was drawn before
			step.Flow = &flow.JobRef{ID: int64(jobs + r.IntN(len(s.jobs)-jobs) + 1)}
		default:
			step.Job = &flow.JobRef{ID: int64(r.IntN(jobs) + 1)}
			if x == 2 {
				step.Foreach = &flow.Foreach{Items: "[1, 2, 3, 4, 5, 6, 7]"[:2+3*r.IntN(7)] + "]", Parallel: 1 + r.IntN(4)}
			}
			if x == 3 {
				step.TimeoutSeconds = 1 + r.Int64N(20)
			}
		}
		def.Steps = append(def.Steps, step)
	}
	return def
}

// definition is the text of a flow, with the ids that its jobs have by now.
func (w *world) definition(j *job) ([]byte, error) {
	for i := range j.def.Steps {
		if ref := j.def.Steps[i].Ref(); ref != nil {
			ref.ID = w.jobs[ref.ID-1].id
		}
	}
	return json.Marshal(j.def)
}

// stepRow is a step of a run of a flow, or an item of one, at the end.
type stepRow struct {
	id, run, item, began, ended, total int64
	step                               string
	state                              flow.State
}

// flows holds the runs of flows against their definitions: every step that began has one run, or as many as shards, whose end is the step's;
// none that did not begin has any; none began before what it needs had ended; and none is open when its flow is over.
func (c *checker) flows(ctx context.Context) error {
	of := make(map[int64][]*row) // by step
	for i := range c.rows {
		if r := &c.rows[i]; r.step != 0 {
			of[r.step] = append(of[r.step], r)
			c.steps++
		}
	}
	steps := make(map[int64][]stepRow) // by run
	found, err := c.w.oracle.QueryContext(ctx, "SELECT id, flow_log_id, step, item, state, began_at, ended_at, total FROM punctual_flow_step ORDER BY id")
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var s stepRow
		if err := found.Scan(&s.id, &s.run, &s.step, &s.item, &s.state, &s.began, &s.ended, &s.total); err != nil {
			return err
		}
		steps[s.run] = append(steps[s.run], s)
	}
	if err := found.Err(); err != nil {
		return err
	}
	for i := range c.rows {
		r := &c.rows[i]
		j := c.w.byID[r.job]
		if j == nil || j.def == nil || r.triggerCode != wire.CodeSuccess || r.handleCode == 0 {
			continue
		}
		c.flowRuns++
		byID := make(map[string]stepRow)
		for _, s := range steps[r.id] {
			if s.item < 0 {
				byID[s.step] = s
			}
		}
		for k := range j.def.Steps {
			c.step(r, &j.def.Steps[k], byID)
		}
		for _, s := range steps[r.id] {
			at := strings.TrimPrefix(s.step, "s")
			var k int
			if _, err := fmt.Sscan(at, &k); err != nil || k >= len(j.def.Steps) {
				c.w.violate("step of no definition", "run %d: %s", r.id, s.step)
				continue
			}
			if def := &j.def.Steps[k]; def.Ref() != nil && (def.Foreach == nil || s.item >= 0) {
				c.runsOf(r, s, of[s.id])
			}
		}
	}
	return nil
}

// step checks how a step stands to the others of its run.
func (c *checker) step(r *row, def *flow.Step, byID map[string]stepRow) {
	s, ok := byID[def.ID]
	switch {
	case !ok:
		c.w.violate("step without a row", "run %d: %s", r.id, def.ID)
		return
	case !s.state.Ended():
		c.w.violate("step left open", "run %d, which ended as %s: %s is %s", r.id, r.outcome, def.ID, s.state)
	case r.outcome == event.Succeeded && (s.state.IsFailure() && !def.Allows(s.state) || s.state == flow.Cancelled):
		c.w.violate("success with a step that is none", "run %d: %s is %s", r.id, def.ID, s.state)
	}
	if s.began == 0 || def.Join != flow.JoinAll {
		return
	}
	for _, need := range def.Needs {
		if n := byID[need]; n.ended == 0 || n.ended > s.began {
			c.w.violate("step before its needs", "run %d: %s began at %s, %s ended at %s", r.id, def.ID, stamp(s.began), need, stamp(n.ended))
		}
	}
}

// runsOf checks the runs of a step or an item.
func (c *checker) runsOf(r *row, s stepRow, runs []*row) {
	first := make(map[string]int)
	good, bad := 0, 0
	repeated := make(map[int64]bool)
	for _, o := range runs {
		repeated[o.origin] = true
	}
	for _, o := range runs {
		if o.trigger == string(jobspec.TriggerFlow) {
			if c.passedOver(o) {
				first["at "+o.address]++
			} else {
				first[o.sharding]++
			}
		}
		switch {
		case repeated[o.id] && o.id != r.id:
		case o.handleCode == wire.CodeSuccess && o.outcome != event.Killed, o.outcome == event.Cancelled:
			good++
			if o.triggerCode != 0 && o.triggerCode != wire.CodeSuccess {
				bad++ // its sending counted as failed, with which the step ended, and the success came after that
			}
		default:
			bad++
		}
	}
	for shard, n := range first {
		if n > 1 {
			c.stepsTwice++
			c.w.violate("step doubled", "run %d: %s item %d %s has %d runs", r.id, s.step, s.item, shard, n)
		}
	}
	switch {
	case s.began > 0 && len(runs) == 0:
		c.stepsLost++
		c.w.violate("step lost", "run %d: %s item %d is %s and has no run", r.id, s.step, s.item, s.state)
	case s.began == 0 && len(runs) > 0:
		c.w.violate("step that was not to start", "run %d: %s item %d is %s and has %d runs", r.id, s.step, s.item, s.state, len(runs))
	case s.state == flow.Success && good == 0:
		c.w.violate("step that succeeded without a success", "run %d: %s item %d, %d runs", r.id, s.step, s.item, len(runs))
	case s.state == flow.Failed && bad == 0 && !c.lateSuccess(runs):
		c.w.violate("step that failed without a failure", "run %d: %s item %d, %d runs", r.id, s.step, s.item, len(runs))
	}
}

// lateSuccess says whether one of the runs was taken for lost, and its executor reported a success after all.
func (c *checker) lateSuccess(runs []*row) bool {
	for _, r := range runs {
		if strings.Contains(r.events, `["lost",`) {
			return true
		}
	}
	return false
}
