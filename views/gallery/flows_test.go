package gallery

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
)

func (f fakes) flowPages() []page {
	over := f.runFlow()
	over.Live = false
	s := &over.Timeline
	s.State, s.CanKill, s.Flow.CanRepeat, s.Flow.Repeats = runstate.Failed, false, true, 90290
	s.Flow.Time.Now = -1
	deed := runs.DeedPage{Page: f.page("/runs/90300/steps/release/approve"), LogID: 90300, Name: s.JobName, Step: s.Flow.Steps[4], Deed: runs.DeedApprove}
	again := runs.DeedPage{Page: f.page("/runs/90300/rerun"), LogID: 90300, Name: s.JobName, Deed: runs.DeedRerun, Again: []string{f.zh("校验汇率", "Check the rates"), f.zh("写入总账", "Write the ledger")}}
	return []page{
		{"run-flow", "/runs/90300", runs.Detail(f.runFlow())},
		{"run-flow-over", "/runs/90300?over", runs.Detail(over)},
		{"run-flow-approve", "/runs/90300/steps/release/approve", runs.DeedForm(deed)},
		{"run-flow-again", "/runs/90300/rerun", runs.DeedForm(again)},
		{"run-flow-items", "/runs/90300/steps/branches", runs.Items(f.flowItems())},
		{"flow-edit", "/jobs/31/glue", glue.Edit(f.flowEdit(false))},
		{"flow-edit-wrong", "/jobs/31/glue?wrong", glue.Edit(f.flowEdit(true))},
		{"flow-edit-unread", "/jobs/31/glue?unread", glue.Edit(f.flowUnread())},
		{"flow-compare", "/jobs/31/glue/versions/3", glue.Compare(f.flowCompare())},
		{"flow-new", "/jobs/new?flow", jobs.Form(f.flowNew())},
		{"job-flow", "/jobs/31", jobs.Detail(f.jobOfFlow())},
		{"run-flow-unbegun", "/runs/90288", runs.Detail(f.runOfFlowUnbegun())},
		{"run-flow-step", "/runs/90301", runs.Detail(f.runOfStep())},
	}
}

func (f fakes) runOfStep() runs.DetailPage {
	p := f.runFailed()
	p.Path = "/runs/90301"
	p.Timeline.StepOf = &runs.StepOf{LogID: 90300, Name: f.zh("日终批处理", "End of day"), Step: f.zh("各分行对账", "Reconcile the branches"), Item: f.T("flow.item.n", "N", "7")}
	return p
}

// runFlow is an end of day that waits for somebody; each state is there.
func (f fakes) runFlow() runs.DetailPage {
	t := f.timeline(0, "")
	t.LogID, t.JobID, t.JobName, t.Glue, t.Address, t.State = 90300, 31, f.zh("日终批处理", "End of day"), "FLOW", "", runstate.Sent
	t.Param, t.SentParam = `{"day":"2026-03-03"}`, ""
	t.Steps = f.steps(f.claimed()...)
	steps := []runs.FlowStep{
		{ID: "fetch", Title: f.zh("拉取汇率", "Fetch exchange rates"), Kind: flow.KindJob, State: flow.Success, RunID: 90301, JobName: f.zh("汇率拉取", "Fetch exchange rates"), Duration: "1.4 s", Param: "--day=2026-03-03", Output: `{"rows": 412, "source": "ecb"}`},
		{ID: "check", Title: f.zh("校验汇率", "Check the rates"), Kind: flow.KindJob, State: flow.Failed, RunID: 90302, JobName: f.zh("汇率校验", "Check rates"), Duration: "820 ms", Needs: []string{"fetch"}, Attempt: f.T("runs.attempt", "N", "3"), Message: "EUR/CNY missing"},
		{ID: "branches", Title: f.zh("各分行对账", "Reconcile the branches"), Kind: flow.KindJob, State: flow.Running, RunID: 90303, JobName: f.zh("分行对账", "Branch reconciliation"), Duration: "12.0 s", Needs: []string{"fetch"}, Items: f.T("flow.items", "Ended", "31", "All", "120"), ItemsURL: link.RunStep(90300, "branches", 0)},
		{ID: "holiday", Title: f.zh("节假日报表", "Report of days off"), Kind: flow.KindJob, State: flow.Skipped, Needs: []string{"fetch"}, If: `steps.fetch.output.source == "cb"`, JobName: f.zh("旧报表", "Old report")},
		{ID: "release", Title: f.zh("付款前审批", "Approve before payment"), Kind: flow.KindApprove, State: flow.Approval, Needs: []string{"check", "fetch"}, If: "always()", Text: f.zh("共 412 行，合计 1,204,331.20 元。是否放行？", "412 rows, 1,204,331.20 in all. Let them go?"), Until: f.at(3 * time.Hour)},
		{ID: "settle", Title: f.zh("等到清算时间", "Wait for the settlement"), Kind: flow.KindWait, State: flow.Waiting, Needs: []string{"release"}},
		{ID: "ledger", Title: f.zh("写入总账并通知所有下游系统与负责人", "Write the ledger, then tell every system behind it and those who answer for them"), Kind: flow.KindFlow, State: flow.Waiting, Needs: []string{"settle", "branches"}, JobName: f.zh("总账", "Ledger")},
		{ID: "mail", Title: f.zh("邮件", "Mail"), Kind: flow.KindJob, State: flow.Cancelled, Needs: []string{"holiday"}, JobName: f.zh("邮件", "Mail")},
		{ID: "archive", Title: f.zh("归档", "Archive"), Kind: flow.KindJob, State: flow.TimedOut, Allowed: true, RunID: 90305, Needs: []string{"fetch"}, JobName: f.zh("归档", "Archive"), Duration: "60.0 s"},
		{ID: "second", Title: f.zh("复核", "Second look"), Kind: flow.KindApprove, State: flow.Rejected, Needs: []string{"archive"}, If: "always()", Decided: f.T("flow.decided", "User", "mina", "Remark", f.zh("金额不符", "the amounts differ"))},
	}
	steps[4].Deeds = []runs.Deed{runs.DeedApprove, runs.DeedReject, runs.DeedSkip}
	steps[5].Deeds = []runs.Deed{runs.DeedSkip, runs.DeedSuccess}
	run := runs.FlowRun{Steps: steps, Began: "09:58:00", Ended: "10:00:12", Graph: flows.Graph{Label: f.T("flow.picture")}}
	for i := range steps {
		s := &steps[i]
		if s.RunID != 0 {
			s.Began = f.at(-time.Duration(12-i) * time.Second)
		}
		n := flows.Node{ID: s.ID, Title: s.Title, Kind: s.Kind, Ran: true, State: s.State, Allowed: s.Allowed, Needs: s.Needs, URL: "#step-" + s.ID, Note: flows.StateWord(f.Printer, s.State, s.Allowed) + strings.TrimSuffix(" · "+s.Duration, " · ")}
		if s.RunID != 0 {
			n.URL = link.Run(s.RunID)
		}
		run.Graph.Nodes = append(run.Graph.Nodes, n)
		if s.RunID != 0 {
			tone := cmp.Or(map[flow.State]string{flow.Success: "ok", flow.Running: "open"}[s.State], "bad")
			x := float64(i) * 9
			run.Time.Rows = append(run.Time.Rows, timeline.Row{Name: s.Title, URL: n.URL, Lanes: 1, Bars: []timeline.Bar{{URL: n.URL, Title: n.Note, Tone: tone, X: x, Run: x, W: 12}}})
		}
	}
	for i := range 5 {
		run.Time.Ticks = append(run.Time.Ticks, timeline.Tick{X: float64(i) * 20, Label: fmt.Sprintf("%d s", i*30)})
	}
	run.Time.Now = 96
	t.Flow = &run
	return runs.DetailPage{Page: f.page("/runs/90300"), Timeline: t, Live: true}
}

func (f fakes) flowItems() runs.ItemsPage {
	run := f.runFlow()
	p := runs.ItemsPage{Page: f.page("/runs/90300/steps/branches"), LogID: 90300, Name: run.Timeline.JobName, Step: run.Timeline.Flow.Steps[2], Pager: ui.Pager{Next: "/runs/90300/steps/branches?after=99"}}
	for i, state := range []flow.State{flow.Success, flow.Failed, flow.Running, flow.Cancelled} {
		item := runs.Item{Number: format.Digits(int64(i + 1)), State: state, RunID: int64(90310 + i), Param: fmt.Sprintf("--branch=%03d", i*7), Duration: "1.2 s"}
		if state == flow.Failed {
			item.Message = "HTTP 503"
		}
		p.Rows = append(p.Rows, item)
	}
	return p
}

func (f fakes) runOfFlowUnbegun() runs.DetailPage {
	p := f.runFlow()
	p.Path = "/runs/90288"
	p.Timeline.Flow = &runs.FlowRun{}
	return p
}

// flowGraph is the definition of what runFlow runs.
func (f fakes) flowGraph() flows.Graph {
	g := f.runFlow().Timeline.Flow.Graph
	for i := range g.Nodes {
		g.Nodes[i].Ran, g.Nodes[i].URL, g.Nodes[i].Note = false, "", f.T("flow.kind."+string(g.Nodes[i].Kind))
		if g.Nodes[i].Kind == flow.KindJob {
			g.Nodes[i].Note, g.Nodes[i].URL = f.zh("汇率校验", "Check rates"), "/jobs/8"
		}
	}
	g.Nodes[2].Note = f.T("flow.each", "Job", g.Nodes[2].Note)
	return g
}

const flowSource = `on_failure: stop
steps:
  - id: fetch
    job: 7
    parameter: '{"day": "${{ planned | yyyy-MM-dd, -1d }}"}'
  - id: check
    needs: fetch
    job: 8
  - id: release
    needs: [check, fetch]
    if: always()
    approve:
      message: ${{ steps.fetch.output.rows }} rows. Let them go?
`

func (f fakes) flowEdit(wrong bool) glue.EditPage {
	p := f.glue()
	p.Path, p.JobID, p.Name, p.Type, p.Source, p.Trial = "/jobs/31/glue", 31, f.zh("日终批处理", "End of day"), "FLOW", flowSource, nil
	drawn := flows.Preview{Printer: f.Printer, Job: 31, Type: "FLOW", Graph: f.flowGraph()}
	if wrong {
		drawn.Faults = []string{f.T("flow.error.at", "Step", "check", "Part", "needs", "Line", 8, "Text", "fetsch")}
		drawn.Graph.Nodes[1].Wrong = drawn.Faults[0]
		drawn.Graph.Nodes[0].Needs = []string{"mail"} // a circle
		p.Errors = map[string]string{glue.FieldSource: drawn.Faults[0]}
	} else {
		drawn.Plan = []flows.Wave{
			{Steps: []flows.Planned{{Title: f.zh("拉取汇率", "Fetch exchange rates"), Kind: f.T("flow.kind.job"), What: f.zh("汇率拉取", "Fetch exchange rates"), Param: `{"day": "2026-03-03"}`}}},
			{Steps: []flows.Planned{{Title: f.zh("各分行对账", "Reconcile the branches"), Kind: f.T("flow.kind.job"), What: f.zh("分行对账", "Branch reconciliation"), Param: "${{ item }}", Later: true, If: "success()"}, {Title: f.zh("复核", "Second look"), Kind: f.T("flow.kind.approve")}}},
		}
	}
	drawn.Form = f.flowForm(drawn.Graph)
	if !wrong {
		v := flows.StepValues{ID: "release", Name: f.zh("放行", "Release"), Kind: "approve", Needs: []string{"check", "fetch"}, If: "always()", Message: "${{ steps.fetch.output.rows }} rows. Let them go?"}
		drawn.Form.Open = &flows.OpenStep{Values: v, Shown: v.Text(), Self: 31}
	}
	p.Flow = &drawn
	return p
}

// flowForm is the list of the steps of a graph.
func (f fakes) flowForm(g flows.Graph) (form flows.Form) {
	for _, n := range g.Nodes {
		s := flows.FormStep{ID: n.ID, Title: n.Title, Kind: f.T("flow.kind." + string(n.Kind)), Needs: n.Needs}
		if n.Kind == flow.KindJob {
			s.Note = n.Note
		}
		if n.Wrong != "" {
			s.Faults = []string{n.Wrong}
		}
		form.Steps = append(form.Steps, s)
	}
	return form
}

// flowCompare is a version with a step less and another needs beside the one that runs.
func (f fakes) flowCompare() glue.ComparePage {
	p := f.glueCompare()
	p.Path, p.JobID, p.Name, p.Type = "/jobs/31/glue/versions/3", 31, f.zh("日终批处理", "End of day"), "FLOW"
	g := f.flowGraph()
	for i := range g.Nodes {
		g.Nodes[i].URL, g.Nodes[i].Note = "", ""
	}
	added, changed, removed := &g.Nodes[3], &g.Nodes[4], &g.Nodes[len(g.Nodes)-1]
	added.Change, added.Note, added.NeedsNew = flow.ChangeAdded, f.T("flow.change.added"), added.Needs
	changed.Change, changed.Note, changed.Left = flow.ChangeChanged, f.T("flow.change.changed", "Fields", "needs, if"), []string{"fetch"}
	removed.Change, removed.Note, removed.Left = flow.ChangeRemoved, f.T("flow.change.removed"), removed.Needs
	p.Flow = &g
	return p
}

// flowUnread is an editor whose text cannot be read, with a field typed meanwhile.
func (f fakes) flowUnread() glue.EditPage {
	p := f.flowEdit(false)
	p.Path += "?unread"
	p.Source += "  - id: ["
	open := p.Flow.Form.Open
	p.Flow = &flows.Preview{Printer: f.Printer, Job: 31, Type: "FLOW", Faults: []string{f.T("flow.error.in", "Part", "", "Line", 14, "Text", "did not find expected node content")}}
	p.Flow.Form = flows.Form{Unread: f.T("flow.form.unread", "Line", 14), Open: open}
	return p
}

func (f fakes) flowNew() jobs.FormPage {
	p := f.jobForm()
	p.Path = "/jobs/new?flow"
	p.Values[jobs.FieldGlue], p.Values[jobs.FieldSource] = "FLOW", flowSource
	p.Flow = *f.flowEdit(false).Flow
	v := flows.StepValues{ID: "branches", Kind: "job", Job: "9", Needs: []string{"fetch", "check"}, Join: "any", Items: "steps.fetch.output.branches", Parallel: "5", Param: "${{ item }}"}
	open := &flows.OpenStep{Values: v, Shown: v.Text(), Errors: map[string]string{flows.FieldTimeout: f.T("legacy.error.number", "Value", "soon")}, Picked: []ui.PickedJob{{ID: 9, Name: f.zh("分行对账", "Branch reconciliation")}}}
	open.Values.Timeout = "soon"
	p.Flow.Form.Open = open
	return p
}

func (f fakes) jobOfFlow() jobs.DetailPage {
	p := f.jobHealthy()
	p.Path = "/jobs/31"
	g := f.flowGraph()
	p.Flow, p.FlowEdit = &g, true
	p.MayUnchain = true
	return p
}

// chain is what a job and its children would be as a flow.
func (f fakes) chain(problem string) jobs.ChainPage {
	name, ledger, mail := f.zh("每日对账", "Daily reconciliation"), f.zh("记总账", "Post the ledger"), f.zh("发送报表", "Send the report")
	p := jobs.ChainPage{Page: f.page("/jobs/7/chain"), JobID: 7, Job: name, Problem: problem, Name: f.T("chain.name", "Name", name), Version: "1"}
	p.Graph = flows.Graph{Label: f.T("flow.picture"), Nodes: []flows.Node{
		{ID: "job_7", Title: name, Kind: flow.KindJob, Note: name}, {ID: "job_8", Title: ledger, Kind: flow.KindJob, Note: ledger, Needs: []string{"job_7"}},
		{ID: "job_9", Title: mail, Kind: flow.KindJob, Note: mail, Needs: []string{"job_7", "job_8"}},
	}}
	p.Changes = []string{f.T("chain.started", "Name", name), f.T("chain.children", "Names", name), f.T("chain.joins", "Names", mail), f.T("chain.kept")}
	p.Source = "on_failure: continue\nsteps:\n  - id: job_7\n    job: 7\n  - id: job_8\n    needs:\n      - job_7\n    job: 8\n"
	return p
}
