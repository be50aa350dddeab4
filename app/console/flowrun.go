package console

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
)

func (c *runPages) flowRoutes(g *echo.Group) {
	g.GET("/runs/:id/rerun", c.deedForm)
	g.POST("/runs/:id/rerun", c.deed)
	g.GET("/runs/:id/steps/:step", c.stepItems)
	g.GET("/runs/:id/steps/:step/:deed", c.deedForm)
	g.POST("/runs/:id/steps/:step/:deed", c.deed)
}

// flowOf adds to the page of a run what its steps are, or of which step it is the run.
func (c *timelines) flowOf(ctx context.Context, page layout.Page, p auth.Principal, r db.Run, t *runs.Timeline) error {
	of, step, ok, err := c.runs.StepOf(ctx, p, r)
	if err != nil {
		return err
	}
	if ok {
		jobs, err := c.jobs.OfRuns(ctx, p, of.JobID)
		if err != nil {
			return err
		}
		t.StepOf = &runs.StepOf{LogID: of.ID, Step: step.Step}
		t.StepOf.Name, _ = jobName(page, jobs, of.JobID)
		if said, ok := event.Parse(string(r.Events)).Last(event.FlowStep); ok { // as it was called then
			t.StepOf.Step = said.Text(1)
		}
		if step.Item >= 0 {
			t.StepOf.Item = page.T("flow.item.n", "N", format.Digits(step.Item+1))
		}
	}
	f, ok, err := c.runs.Flow(ctx, r)
	if err != nil || !ok && t.Glue != string(jobspec.GlueFlow) {
		return err
	}
	t.Flow = &runs.FlowRun{}
	if !ok {
		return nil
	}
	var fault *flow.Fault
	t.Flow, fault, err = c.flowRun(ctx, page, p, r, f)
	if _, told := event.Parse(string(r.Events)).Last(event.FlowCause); err == nil && fault != nil && t.State == runstate.Failed && !told { // an earlier version ended it
		field := manage.FlowFault(*fault)
		t.Why, t.ResultNote = field.Text(page.Printer), nil // which says it in the language of the admin that ended the run
	}
	return err
}

// flowView draws a run of a flow.
type flowView struct {
	*timelines
	page  layout.Page
	f     manage.FlowRun
	texts map[string]db.FlowStep
	jobs  manage.OfRuns
	kept  map[int64]bool // runs of steps that there still are
	may   bool           // steer it
}

// flowRun draws a run of a flow, and says what was wrong in the step because of which it failed, where that was an expression.
func (c *timelines) flowRun(ctx context.Context, page layout.Page, p auth.Principal, r db.Run, f manage.FlowRun) (*runs.FlowRun, *flow.Fault, error) {
	v := flowView{timelines: c, page: page, f: f, may: p.Can(r.JobGroup, auth.RightRun)}
	var err error
	if v.texts, err = c.runs.FlowSteps(ctx, p, r); err != nil {
		return nil, nil, err
	}
	var ids []int64
	for _, s := range v.texts {
		ids = append(ids, s.JobID)
	}
	if v.jobs, err = c.jobs.OfRuns(ctx, p, ids...); err != nil {
		return nil, nil, err
	}
	if v.kept, err = c.keptRuns(ctx, p, slices.Collect(maps.Values(v.texts))); err != nil {
		return nil, nil, err
	}
	out := &runs.FlowRun{Graph: flows.Graph{Label: page.T("flow.picture")}, Repeats: f.FromLogID, Unread: f.Unreadable(page.Printer), CanRepeat: v.may && f.Over() && len(again(f, "")) > 0}
	for i := range f.Steps {
		s := v.step(i)
		out.Steps = append(out.Steps, s)
		out.Graph.Nodes = append(out.Graph.Nodes, v.node(s))
	}
	if f.Going() {
		switch flow.Asked(f.Asked) {
		case flow.AskedNothing:
		case flow.AskedStop:
			out.Asked = page.T("flow.asked.stop", "User", f.StoppedBy)
		case flow.AskedTimeout:
			out.Asked = page.T("flow.asked.timeout")
		}
	}
	v.time(out)
	failed := v.texts[f.FailedStep]
	return out, manage.WhyOfStep(&failed).Fault, nil
}

// keptRuns are those of the runs of some steps or items that there still are: each job has a time of its own for which its runs are kept.
func (c *timelines) keptRuns(ctx context.Context, p auth.Principal, rows []db.FlowStep) (map[int64]bool, error) {
	var ids []int64
	for i := range rows {
		if rows[i].RunID != 0 {
			ids = append(ids, rows[i].RunID)
		}
	}
	found, err := c.runs.ByID(ctx, p, ids)
	kept := make(map[int64]bool, len(found))
	for _, r := range found {
		kept[r.ID] = true
	}
	return kept, err
}

// step is a step as the page lists it. Of a job that the reader may not see only the state is told.
func (v *flowView) step(i int) runs.FlowStep {
	def, row := &v.f.Definition.Steps[i], &v.f.Steps[i]
	s := runs.FlowStep{ID: def.ID, Title: def.Title(), Kind: def.Kind(), State: flow.State(row.State), Allowed: def.Allows(flow.State(row.State)), Needs: def.Needs, If: def.If}
	for _, id := range def.Needs {
		if at := slices.IndexFunc(v.f.Definition.Steps, func(other flow.Step) bool { return other.ID == id }); at >= 0 {
			s.After = append(s.After, v.f.Definition.Steps[at].Title())
		}
	}
	text := v.texts[def.ID]
	if row.BeganAt > 0 {
		s.Began = v.at(v.page, time.UnixMilli(row.BeganAt))
		end := v.now()
		if row.EndedAt > 0 {
			end = time.UnixMilli(row.EndedAt)
		}
		s.Duration = format.Duration(v.page.Printer, max(0, end.Sub(time.UnixMilli(row.BeganAt))))
	}
	if row.DueAt > 0 {
		s.Until = v.at(v.page, time.UnixMilli(row.DueAt))
	}
	if row.Attempt > 1 {
		s.Attempt = v.page.T("runs.attempt", "N", strconv.FormatInt(row.Attempt, 10))
	}
	if row.DecidedBy != "" {
		s.Decided = v.page.T("flow.decided", "User", row.DecidedBy, "Remark", row.Remark)
		if row.Remark == "" {
			s.Decided = v.page.T("flow.decided.by", "User", row.DecidedBy)
		}
	}
	if text.JobID != 0 {
		s.JobName, _ = jobName(v.page, v.jobs, text.JobID)
	}
	s.Message = shorten(v.said(v.page, &text))
	s.RunID, s.Param, s.Output = text.RunID, shorten(string(text.Param)), shorten(string(text.Output))
	s.RunGone = s.RunID != 0 && !v.kept[s.RunID]
	switch {
	case def.Approve != nil:
		s.Text, s.Param = s.Param, ""
	case def.Foreach != nil:
		s.RunID = 0
		if s.Items = v.page.T("flow.items", "Count", row.Total, "Ended", format.Number(row.Succeeded+row.Failed+row.Cancelled), "All", row.Total); row.Attempt > 0 {
			s.ItemsURL = link.RunStep(row.FlowLogID, def.ID, 0)
		}
	}
	s.Deeds = v.deeds(&s)
	return s
}

// said is what a step or an item ended with, in the reader's language where that is not what its run reported.
func (c *timelines) said(page layout.Page, row *db.FlowStep) string {
	return cmp.Or(manage.WhyOfStep(row).Text(c.teller(page)), string(row.Message))
}

// maxShownText is how much of a parameter or an output is shown on the page of a flow, in bytes; the page of the step's run has the rest.
const maxShownText = 4000

func shorten(text string) string {
	if len(text) <= maxShownText {
		return text
	}
	return strings.ToValidUTF8(text[:maxShownText], "") + "…"
}

// deeds are what the reader may do to a step.
func (v *flowView) deeds(s *runs.FlowStep) []runs.Deed {
	switch {
	case !v.may:
		return nil
	case v.f.Over():
		if s.State.Ended() {
			return []runs.Deed{runs.DeedRerun}
		}
	case !v.f.Going():
	case s.State == flow.Approval:
		return []runs.Deed{runs.DeedApprove, runs.DeedReject}
	case flow.Asked(v.f.Asked) != flow.AskedNothing:
	case s.State == flow.Skipped:
		return []runs.Deed{runs.DeedSuccess}
	case (!s.State.Open() || s.Kind == flow.KindWait) && s.State != flow.Success:
		return []runs.Deed{runs.DeedSkip, runs.DeedSuccess}
	}
	return nil
}

// node is a step in the picture: it leads to its run, or to its place in the list.
func (v *flowView) node(s runs.FlowStep) flows.Node {
	n := flows.Node{ID: s.ID, Title: s.Title, Kind: s.Kind, Ran: true, State: s.State, Allowed: s.Allowed, Needs: s.Needs, URL: "#step-" + s.ID, Note: flows.StateWord(v.page.Printer, s.State, s.Allowed)}
	switch {
	case s.RunID != 0 && !s.RunGone:
		n.URL = link.Run(s.RunID)
	case s.ItemsURL != "":
		n.URL = s.ItemsURL
	}
	if s.ItemsURL != "" && s.State == flow.Running {
		n.Note = s.Items
	} else if s.Duration != "" {
		n.Note += " · " + s.Duration
	}
	return n
}

// tones are the colours of bars.
var tones = map[flow.State]string{
	flow.Waiting: "wait", flow.Running: "open", flow.Approval: "open", flow.Success: "ok", flow.Failed: "bad", flow.TimedOut: "bad", flow.Rejected: "bad",
	flow.Skipped: "passed", flow.Cancelled: "passed",
}

// time draws the steps that have begun against the time of the run.
func (v *flowView) time(out *runs.FlowRun) {
	from := time.UnixMilli(v.f.BeganAt)
	until := v.now()
	out.Time.Now = 100
	if v.f.EndedAt > 0 {
		until, out.Time.Now = time.UnixMilli(v.f.EndedAt), -1
	}
	span := max(until.Sub(from), time.Millisecond)
	x := func(at time.Time) float64 { return min(100, max(0, 100*float64(at.Sub(from))/float64(span))) }
	for i := range v.f.Steps {
		row, s := &v.f.Steps[i], &out.Steps[i]
		if row.BeganAt == 0 {
			continue
		}
		began, end := time.UnixMilli(row.BeganAt), until
		if row.EndedAt > 0 {
			end = time.UnixMilli(row.EndedAt)
		}
		tone := tones[s.State]
		if s.Allowed {
			tone = "ended"
		}
		bar := timeline.Bar{URL: out.Graph.Nodes[i].URL, Title: s.Title + " · " + out.Graph.Nodes[i].Note, Tone: tone, X: x(began), Run: x(began), W: x(end) - x(began)}
		out.Time.Rows = append(out.Time.Rows, timeline.Row{Name: s.Title, URL: bar.URL, Lanes: 1, Bars: []timeline.Bar{bar}})
	}
	zone := v.timesOf(v.page)
	out.Began, out.Ended = v.clock(v.page, from), format.Clock(until.In(zone), from.In(zone))
	for i := 1; i < 5; i++ {
		out.Time.Ticks = append(out.Time.Ticks, timeline.Tick{X: float64(i) * 20, Label: format.Duration(v.page.Printer, span*time.Duration(i)/5)})
	}
}

// again are the titles of the steps that a repetition would run: from a step on, or what failed.
func again(f manage.FlowRun, from string) []string {
	var titles []string
	for _, i := range f.Again(from) {
		titles = append(titles, f.Definition.Steps[i].Title())
	}
	return titles
}

// deedPage is the question before a deed, with the run that it is about, and why it need not be asked: see impossible. Whoever may not do it is
// refused.
func (c *runPages) deedPage(ec echo.Context) (page runs.DeedPage, refused string, err error) {
	ctx, p := ec.Request().Context(), who(ec)
	logID, err := id(ec)
	if err != nil {
		return page, "", err
	}
	r, err := c.runs.Need(ctx, p, logID, auth.RightRun)
	if err != nil {
		return page, "", err
	}
	page = runs.DeedPage{Page: c.Page(ec), LogID: logID, Deed: runs.Deed(ec.Param("deed")), Remark: ec.FormValue(runs.FieldStepRemark)}
	step := ec.Param("step")
	if step == "" {
		page.Deed = runs.DeedRerun
	}
	if !slices.Contains(runs.AllDeeds, page.Deed) {
		return page, "", notFound()
	}
	f, ok, err := c.runs.Flow(ctx, r)
	if err != nil {
		return page, "", err
	}
	if !ok {
		return page, "", notFound()
	}
	jobs, err := c.jobs.OfRuns(ctx, p, r.JobID)
	if err != nil {
		return page, "", err
	}
	page.Name, _ = jobName(page.Page, jobs, r.JobID)
	if page.Deed == runs.DeedRerun {
		page.Again = again(f, step)
	}
	if step == "" {
		return page, "", nil
	}
	drawn, _, err := c.flowRun(ctx, page.Page, p, r, f)
	if err != nil {
		return page, "", err
	}
	at := slices.IndexFunc(drawn.Steps, func(s runs.FlowStep) bool { return s.ID == step })
	if at < 0 {
		return page, "", notFound()
	}
	page.Step = drawn.Steps[at]
	return page, impossible(page.Deed, &f, &page.Step), nil
}

func (c *runPages) deedForm(ec echo.Context) error {
	page, refused, err := c.deedPage(ec)
	if err != nil {
		return err
	}
	if refused != "" {
		return problem.New(problem.Conflict, refused)
	}
	return renderPart(ec, http.StatusOK, runs.DeedForm(page), ui.FragmentDialog)
}

// impossible is why a deed cannot be done to a step, as it and its run stand; "" if it can. It says what the engine would.
func impossible(deed runs.Deed, f *manage.FlowRun, step *runs.FlowStep) string {
	switch {
	case deed == runs.DeedRerun && !f.Over():
		return "problem.flow.goes"
	case deed != runs.DeedRerun && f.Over():
		return "problem.flow.ended"
	case slices.Contains(step.Deeds, deed):
		return ""
	case deed == runs.DeedApprove, deed == runs.DeedReject:
		return "problem.flow.noquestion"
	case flow.Asked(f.Asked) != flow.AskedNothing:
		return "problem.flow.ending"
	case step.State == flow.Approval:
		return "problem.flow.asks"
	case step.State.Open():
		return "problem.flow.runs"
	case step.State == flow.Success:
		return "problem.flow.succeeded"
	}
	return "problem.flow.notso"
}

// deed does something to a step or a run of a flow. Why it could not be done is said in the dialog.
func (c *runPages) deed(ec echo.Context) error {
	page, _, err := c.deedPage(ec) // the engine knows best, at the moment that it is done
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	in := manage.StepInput{Step: page.Step.ID, Remark: page.Remark}
	to := page.LogID
	switch page.Deed {
	case runs.DeedApprove, runs.DeedReject:
		err = c.runs.ApproveStep(ctx, p, page.LogID, in, page.Deed == runs.DeedApprove)
	case runs.DeedSkip:
		err = c.runs.SkipStep(ctx, p, page.LogID, in)
	case runs.DeedSuccess:
		err = c.runs.SucceedStep(ctx, p, page.LogID, in)
	case runs.DeedRerun:
		to, err = c.runs.RerunFlow(ctx, p, page.LogID, page.Step.ID)
	}
	if err == nil {
		return c.goTo(ec, link.Run(to), done("flow.flash."+string(page.Deed), "Step", page.Step.Title))
	}
	if kind := problem.From(err).Kind; kind != problem.Conflict && kind != problem.Invalid {
		return err
	}
	page.Problem = problem.From(err).Text(page.Printer)
	return renderPart(ec, http.StatusUnprocessableEntity, runs.DeedForm(page), ui.FragmentDialog)
}

// itemsOnPage is how many items of a step a page shows.
const itemsOnPage = 100

// stepItems lists the runs of a step that runs once for each item of a list.
func (c *runPages) stepItems(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	logID, err := id(ec)
	if err != nil {
		return err
	}
	r, err := c.runs.Get(ctx, p, logID)
	if err != nil {
		return err
	}
	f, ok, err := c.runs.Flow(ctx, r)
	if err != nil {
		return err
	}
	page := runs.ItemsPage{Page: c.pageWithFlash(ec), LogID: logID}
	var drawn *runs.FlowRun
	if ok {
		if drawn, _, err = c.flowRun(ctx, page.Page, p, r, f); err != nil {
			return err
		}
	}
	at := -1
	if drawn != nil {
		at = slices.IndexFunc(drawn.Steps, func(s runs.FlowStep) bool { return s.ID == ec.Param("step") && s.ItemsURL != "" })
	}
	if at < 0 {
		return notFound()
	}
	jobs, err := c.jobs.OfRuns(ctx, p, r.JobID)
	if err != nil {
		return err
	}
	page.Step = drawn.Steps[at]
	page.Name, _ = jobName(page.Page, jobs, r.JobID)
	after := int64(-1)
	if n, err := strconv.ParseInt(ec.QueryParam("after"), 10, 64); err == nil && n >= 0 {
		after = n
	}
	rows, err := c.runs.SeenItems(ctx, p, r, page.Step.ID, after, itemsOnPage+1)
	if err != nil {
		return err
	}
	if len(rows) > itemsOnPage {
		rows = rows[:itemsOnPage]
		page.Pager.Next = link.RunStep(logID, page.Step.ID, rows[itemsOnPage-1].Item)
	}
	kept, err := c.keptRuns(ctx, p, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		item := runs.Item{RunGone: row.RunID != 0 && !kept[row.RunID], Number: format.Digits(row.Item + 1), State: flow.State(row.State), RunID: row.RunID, Param: shorten(string(row.Param)), Message: shorten(c.said(page.Page, row))}
		if row.BeganAt > 0 {
			end := c.now()
			if row.EndedAt > 0 {
				end = time.UnixMilli(row.EndedAt)
			}
			item.Duration = format.Duration(page.Printer, max(0, end.Sub(time.UnixMilli(row.BeganAt))))
		}
		page.Rows = append(page.Rows, item)
	}
	return render(ec, http.StatusOK, runs.Items(page))
}
