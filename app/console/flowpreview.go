package console

import (
	"context"
	"net/http"
	"slices"
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
	sent, err := ec.FormParams()
	if err != nil {
		return &problem.Error{Kind: problem.Malformed, Err: err}
	}
	job := jobspec.Job{Glue: wire.Glue(sent.Get(jobs.FieldGlue))}
	if id, err := strconv.ParseInt(sent.Get(flows.FieldJob), 10, 64); err == nil && id > 0 {
		j, err := c.jobs.Get(ctx, p, id)
		if err != nil {
			return err
		}
		job = j.Spec()
	}
	job.GlueSource = sent.Get(flows.FieldSource)
	for field, into := range map[string]*string{jobs.FieldChildren: &job.ChildJobIDs, jobs.FieldParam: &job.Param} {
		if sent.Has(field) { // the editor of the definition has no more than that
			*into = sent.Get(field)
		}
	}
	var typed flows.FormValues
	if err := bind(ec, &typed); err != nil {
		return err
	}
	preview, err := drawnFlow(ctx, c.Page(ec), c.frame, c.jobs, p, job, typed)
	if err != nil {
		return err
	}
	return render(ec, http.StatusOK, flows.PreviewBody(preview))
}

// drawnFlow draws what the definition of a flow means, and says what is wrong with it, for whoever would save it. What was done in the form
// of its steps is done to the text first.
func drawnFlow(ctx context.Context, page layout.Page, c *frame, all *manage.Jobs, p auth.Principal, job jobspec.Job, typed flows.FormValues) (flows.Preview, error) {
	out := flows.Preview{Printer: page.Printer, Job: job.ID, Type: string(job.Glue)}
	if job.Glue != jobspec.GlueFlow {
		return out, nil
	}
	form := &flowForm{page: page, typed: typed}
	text, err := form.fill(job.GlueSource)
	if err != nil {
		return out, err
	}
	before := job.GlueSource
	job.GlueSource = text
	def, faults, err := all.JudgeFlow(ctx, p, job)
	if err != nil {
		return out, err
	}
	if form.faults == nil && len(form.draft.IDs()) == 0 {
		faults = nil // there is nothing yet, which its saving will call a fault
	}
	wrong := make(map[string]string)
	for _, f := range faults {
		text := manage.FlowFault(f).Text(page.Printer)
		out.Faults = append(out.Faults, text)
		if f.Step != "" && wrong[f.Step] == "" {
			wrong[f.Step] = text
		}
	}
	if def != nil {
		if out.Graph, err = flowGraph(ctx, page, all, p, def, wrong); err != nil {
			return out, err
		}
		if plan, faulty := flow.Compile(def); len(faulty) == 0 && len(faults) == 0 {
			out.Plan = flowPlan(page, out.Graph, plan, flow.Data{Param: job.Param, Planned: c.now(), Zone: c.zoneOf(job.Zone)})
			if text := flows.OutputsText(def.Outputs); text != "" {
				out.Gives = strings.Split(text, "\n")
			}
		}
	}
	if form.faults == nil { // a step of the picture leads to its fields
		ids := form.draft.IDs()
		for i := range out.Graph.Nodes {
			if n := &out.Graph.Nodes[i]; oneOf(ids, n.ID) {
				n.Deed = flows.DeedShow + " " + n.ID
			}
		}
	}
	if out.Form, err = form.drawn(ctx, all, p, job.ID, out.Graph, def, faults); err == nil && text != before {
		out.Form.Text = &text
	}
	return out, err
}

// oneOf says whether an id is there once, so that its step can be told from the others.
func oneOf(ids []string, id string) bool {
	at := slices.Index(ids, id)
	return id != "" && at >= 0 && !slices.Contains(ids[at+1:], id)
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
	known, err := all.OfRuns(ctx, p, ids...)
	if err != nil {
		return g, err
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		n := flows.Node{ID: s.ID, Title: s.Title(), Kind: s.Kind(), Needs: s.Needs, Wrong: wrong[s.ID]}
		switch ref := s.Ref(); {
		case ref != nil && ref.ID != 0:
			n.Note = "#" + format.Digits(ref.ID)
			if j, ok := known.Seen(ref.ID); ok {
				n.URL = link.Job(j.ID)
				if j.JobDesc != n.Title {
					n.Note = j.JobDesc
				}
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

// flowDifference is the picture of what changed between two definitions; nil where one of them cannot be read.
func flowDifference(page layout.Page, before, after string) *flows.Graph {
	old, err := flow.Parse([]byte(before))
	if err != nil {
		return nil
	}
	now, err := flow.Parse([]byte(after))
	if err != nil {
		return nil
	}
	g := &flows.Graph{Label: page.T("flow.change.picture")}
	for _, d := range flow.Differences(old, now) {
		n := flows.Node{ID: d.ID, Title: d.Step.Title(), Kind: d.Kind(), Needs: d.Needs, Change: d.Change}
		switch d.Change {
		case flow.ChangeChanged:
			n.Note = page.T("flow.change.changed", "Fields", strings.Join(d.Fields, ", "))
			for _, id := range d.Needs {
				if !slices.Contains(d.Before.Needs, id) {
					n.NeedsNew = append(n.NeedsNew, id)
				}
			}
			for _, id := range d.Before.Needs {
				if !slices.Contains(d.Needs, id) {
					n.Left = append(n.Left, id)
				}
			}
			n.Needs = slices.Concat(d.Needs, n.Left)
		case flow.ChangeAdded:
			n.Note, n.NeedsNew = page.T("flow.change.added"), d.Needs
		case flow.ChangeRemoved:
			n.Note, n.Left = page.T("flow.change.removed"), d.Needs
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
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
			planned := flows.Planned{Title: s.Title(), Kind: page.T("flow.kind." + string(s.Kind())), What: g.Nodes[i].Note, If: s.If}
			if s.Ref() == nil {
				planned.Kind, planned.What = g.Nodes[i].Note, ""
			}
			if s.Param != nil {
				planned.Param = *s.Param
				if planned.Later = s.Foreach != nil || strings.Contains(*s.Param, "steps."); !planned.Later {
					if value, fault := plan.Params(run, data, i).Of(nil); fault == nil && value != nil {
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
