package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// flowPreview answers a form whose definition has changed: the picture of it, or what is wrong.
func (c *gluePages) flowPreview(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	if !p.CanAnywhere(auth.RightEdit) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	job := jobspec.Job{Glue: wire.Glue(ec.FormValue(jobs.FieldGlue)), GlueSource: ec.FormValue(flows.FieldSource), ChildJobIDs: ec.FormValue(jobs.FieldChildren), Param: ec.FormValue(jobs.FieldParam)}
	if id, err := strconv.ParseInt(ec.FormValue(flows.FieldJob), 10, 64); err == nil && id > 0 {
		j, err := c.jobs.Get(ctx, p, id)
		if err != nil {
			return err
		}
		spec := j.Spec()
		spec.GlueSource, job = job.GlueSource, spec
	}
	preview, err := drawnFlow(ctx, c.Page(ec), c.frame, c.jobs, p, job)
	if err != nil {
		return err
	}
	return render(ec, http.StatusOK, flows.PreviewPart(preview))
}

// drawnFlow draws what the definition of a flow means, and says what is wrong with it, for whoever would save it.
func drawnFlow(ctx context.Context, page layout.Page, c *frame, all *manage.Jobs, p auth.Principal, job jobspec.Job) (flows.Preview, error) {
	out := flows.Preview{Printer: page.Printer, Job: job.ID, Type: string(job.Glue), Empty: strings.TrimSpace(job.GlueSource) == ""}
	if job.Glue != jobspec.GlueFlow || out.Empty {
		return out, nil
	}
	def, faults, err := all.JudgeFlow(ctx, p, job)
	if err != nil {
		return out, err
	}
	wrong := make(map[string]string)
	for _, f := range faults {
		text := manage.FlowFault(f).Text(page.Printer)
		out.Faults = append(out.Faults, text)
		if f.Step != "" && wrong[f.Step] == "" {
			wrong[f.Step] = text
		}
	}
	if def == nil {
		return out, nil
	}
	if out.Graph, err = flowGraph(ctx, page, all, p, def, wrong); err != nil || len(faults) > 0 {
		return out, err
	}
	if plan, faults := flow.Compile(def); len(faults) == 0 {
		out.Plan = flowPlan(page, out.Graph, plan, flow.Data{Param: job.Param, Planned: c.now(), Zone: c.zoneOf(job.Zone)})
	}
	return out, nil
}

// flowGraph is the picture of a definition. Jobs that the reader may not see have no name in it.
func flowGraph(ctx context.Context, page layout.Page, all *manage.Jobs, p auth.Principal, def *flow.Definition, wrong map[string]string) (flows.Graph, error) {
	g := flows.Graph{Label: page.T("flow.picture")}
	var ids []int64
	for i := range def.Steps {
		if ref := def.Steps[i].Ref(); ref != nil && ref.ID != 0 {
			ids = append(ids, ref.ID)
		}
	}
	known, err := all.ByID(ctx, ids)
	if err != nil {
		return g, err
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		n := flows.Node{ID: s.ID, Title: stepTitle(s), Kind: s.Kind(), Needs: s.Needs, Wrong: wrong[s.ID]}
		switch ref := s.Ref(); {
		case ref != nil && ref.ID != 0:
			n.Note = "#" + format.Digits(ref.ID)
			if j, ok := known[ref.ID]; ok && p.CanUseGroup(j.JobGroup) {
				n.Note, n.URL = j.JobDesc, link.Job(j.ID)
			}
		case ref != nil:
			n.Note = ref.Description
		case s.Wait != nil && s.Wait.Until == "":
			n.Note = format.Duration(page.Printer, time.Duration(s.Wait.Seconds)*time.Second)
		case s.Wait != nil:
			n.Note = s.Wait.Until
		case s.Approve != nil:
			n.Note = page.T("flow.kind.approve")
		}
		if s.Foreach != nil {
			n.Note = page.T("flow.each", "Job", n.Note)
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g, nil
}

// flowPlan is what would run if every step succeeded: those that start together, in order. A parameter that hangs on results is shown as
// it is written.
func flowPlan(page layout.Page, g flows.Graph, plan *flow.Plan, data flow.Data) []flows.Wave {
	def, run := plan.Definition(), plan.NewRun()
	var waves []flows.Wave
	for left := len(def.Steps); left > 0; {
		var wave flows.Wave
		var started []int
		for i := range def.Steps {
			if run.Steps[i].State == flow.Waiting && !waitsFor(plan, run, &def.Steps[i]) {
				started = append(started, i)
			}
		}
		if len(started) == 0 {
			return waves
		}
		for _, i := range started {
			s := &def.Steps[i]
			run.Steps[i].State = flow.Success
			planned := flows.Planned{Title: stepTitle(s), Kind: page.T("flow.kind." + string(s.Kind())), What: g.Nodes[i].Note, If: s.If}
			if s.Ref() == nil {
				planned.Kind, planned.What = g.Nodes[i].Note, ""
			}
			if s.Param != nil {
				planned.Param = *s.Param
				if planned.Later = s.Foreach != nil || strings.Contains(*s.Param, "steps."); !planned.Later {
					if value, fault := plan.Param(run, data, i, nil); fault == nil && value != nil {
						planned.Param = *value
					}
				}
			}
			wave.Steps = append(wave.Steps, planned)
		}
		waves, left = append(waves, wave), left-len(started)
	}
	return waves
}

// waitsFor says whether something that a step needs has not ended yet.
func waitsFor(plan *flow.Plan, run flow.Run, s *flow.Step) bool {
	for _, id := range s.Needs {
		if i, ok := plan.Index(id); ok && !run.Steps[i].State.Ended() {
			return true
		}
	}
	return false
}
