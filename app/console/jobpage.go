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
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/backfills"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// jobPage is the page of one job, for everybody who may see it.
type jobPage struct {
	*jobPages
}

func (c *jobPage) routes(g *echo.Group) { g.GET("/jobs/:id", c.jobDetail) }

// What the page of a job shows at most.
const (
	pageTimes   = 5
	pageLines   = 5
	pageChanges = 6
	pageFields  = 4
)

// openBackfills are the backfills of a job that go on, or are paused.
func (c *jobPage) openBackfills(ctx context.Context, page layout.Page, p auth.Principal, j db.Job) (backfills.Page, error) {
	rows, err := c.backfills.Of(ctx, p, j.ID)
	rows = slices.DeleteFunc(rows, func(b db.Backfill) bool { return b.EndedAt != 0 || b.State == backfill.Stopped })
	return backfills.Page{Page: page, JobID: j.ID, CanRun: p.Can(j.JobGroup, auth.RightRun), Rows: c.backfillRows(page, rows, c.zoneOf(j.TimeZone))}, err
}

func (c *jobPage) jobDetail(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	j, err := c.jobs.Get(ctx, p, jobID)
	if err != nil {
		return err
	}
	titles, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page := jobs.DetailPage{Page: c.pageWithFlash(ec)}
	page.Runbook = runbook(j)
	held, err := c.pauses.Book(ctx)
	if err != nil {
		return err
	}
	page.Row = c.jobRow(page.Page, p, titles, &held, manage.ListRow(j))
	if at := c.jobs.NextRun(j, &held); at != nil && page.Row.Paused != "" { // its row says until when it is paused
		page.Row.Next = c.at(page.Page, *at)
		page.Row.Next.Relative = format.Due(page.Printer, *at, c.now())
	}
	if s, ok, err := c.jobs.Deadline(ctx, new(manage.ListRow(j)), &held); err != nil {
		return err
	} else if ok {
		page.Row.Deadline = c.drawnDeadline(page.Page, s, c.zoneOf(j.TimeZone))
	}
	if page.Backfills, err = c.openBackfills(ctx, page.Page, p, j); err != nil {
		return err
	}
	marked, err := c.jobs.Favourites(ctx, p, []int64{j.ID})
	if err != nil {
		return err
	}
	page.Row.Favourite = marked[j.ID]
	for _, g := range titles.list {
		if g.ID == j.JobGroup && j.GlueType != jobspec.GlueFlow {
			page.Executors = new(groupRow(g, c.addresses(page.Page, p, g.ID), 0))
		}
	}
	page.CanCopy = p.CanAnywhere(auth.RightEdit)
	if j.GlueType == jobspec.GlueFlow {
		if def, err := flow.Parse([]byte(j.GlueSource)); err == nil {
			graph, err := flowGraph(ctx, page.Page, c.jobs, p, def, nil)
			if err != nil {
				return err
			}
			page.Flow, page.FlowEdit = &graph, p.Can(j.JobGroup, auth.RightEdit)
		}
	}
	if page.Kept, err = c.kept(ctx, c.jobs, page.Page, j.ID); err != nil {
		return err
	}
	if err := c.jobRuns(ctx, &page, p, j); err != nil {
		return err
	}
	if err := c.jobPauses(ctx, &page, p, j); err != nil {
		return err
	}
	if year := c.jobs.CalendarMissing(j.Calendar); year > 0 && j.ScheduleType.Schedules() {
		page.Missing = page.T("job.calendar.missing", "Name", j.Calendar, "Year", strconv.Itoa(year))
	}
	if page.Row.CanScript && j.GlueType != jobspec.GlueFlow {
		if _, _, page.Waits, err = c.jobs.ScriptChange(ctx, p, j.ID); err != nil {
			return err
		}
	}
	page.When = c.jobWhen(page.Page, j, &held)
	page.Config = c.jobFacts(page.Page, j, func(f *jobspec.Field) bool {
		if f.Name == jobspec.FieldName {
			return ui.Long(j.JobDesc) // its heading does not show the whole of it
		}
		return !elsewhere[f.Name] && !ofSchedule[f.Name] && (f.Name != jobspec.FieldRoute || j.GlueType != jobspec.GlueFlow)
	})
	if err := c.jobFamily(ctx, &page, p, j); err != nil {
		return err
	}
	if err := c.jobHearing(ctx, &page, p, j); err != nil {
		return err
	}
	if err := c.jobChanges(ctx, &page, jobID); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, jobs.Detail(page), jobs.FragmentJob)
}

// jobPauses adds what holds the job back now, and what will.
func (c *jobPage) jobPauses(ctx context.Context, page *jobs.DetailPage, p auth.Principal, j db.Job) error {
	list, err := c.pauses.Of(ctx, p, j)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b manage.Pause) int { return a.Next.Compare(b.Next) }) // those that hold it back now have no next window
	for _, pause := range list {
		if pause.State == manage.PauseActive && page.Row.Running {
			page.Paused = append(page.Paused, c.pausedWords(page.Page, pause.Ends, &pause.Pause))
		} else if !pause.Next.IsZero() && page.Row.Running {
			page.Coming = append(page.Coming, page.T("jobs.paused.coming", "At", c.at(page.Page, pause.Next).Absolute, "User", pause.By, "Reason", pause.Reason))
		}
	}
	return nil
}

// jobRuns adds what became of the newest runs, and what is usual of the job.
func (c *jobPage) jobRuns(ctx context.Context, page *jobs.DetailPage, p auth.Principal, j db.Job) error {
	rows, err := c.runs.OfJob(ctx, p, j.ID, ui.MaxBars)
	if err != nil {
		return err
	}
	usual, err := c.runs.Durations(ctx, p, j.ID, 0)
	if err != nil {
		return err
	}
	page.Runs = c.runBars(page.Page, rows, usual, 0)
	if page.Notes, err = c.jobNotes(ctx, page.Page, p, j, rows, &page.Runs); err != nil {
		return err
	}
	page.Usual = drawnUsual(page.Page, usual)
	faults, err := c.runs.Faults(ctx, db.IDs(rows, func(r *db.RunRow) int64 { return r.ID }))
	if err != nil {
		return err
	}
	quiet, waits := 0, false
	lines := make([]jobs.RunLine, len(rows))
	good, fires := 0, len(rows)
	for i, r := range rows {
		run := c.record(r)
		lines[i] = jobs.RunLine{LogID: r.ID, State: run.State(), At: c.at(page.Page, run.Start()), Message: run.Message(c.teller(page.Page)), Faults: faultsText(page.Page, faults[r.ID]), CanKill: manage.CanKill(p, r.JobGroup, run.State())}
		if took := c.took(run); took > 0 {
			lines[i].Duration = tookText(page.Page, run, took)
		}
		lines[i].Mark = markOf(lines[i].State, run.Events)
		if lines[i].Mark == jobs.MarkGood && faults[r.ID] > 0 {
			if quiet++; page.Quiet == nil {
				page.Quiet = &jobs.Quiet{Run: lines[i]}
			}
		}
		mark, due := lines[i].Mark, !run.Start().After(c.now())
		switch {
		case mark == jobs.MarkGood:
			good++
		case mark == jobs.MarkRetried, mark == jobs.MarkSkipped:
			fires--
		case mark == jobs.MarkOpen:
			waits = waits || due && scheduler.WaitsForSlot(r.OwnerNode, r.TriggerCode, r.HandleCode)
			if fires--; due && len(page.Open) < pageLines {
				page.Open = append(page.Open, lines[i])
			}
		case mark == jobs.MarkBad && len(page.Failures) < pageLines:
			page.Failures = append(page.Failures, lines[i])
		}
		if page.Row.Last.LogID == 0 && (due || mark != jobs.MarkOpen) {
			page.Row.Last = jobs.LastRun{LogID: r.ID, State: lines[i].State, At: lines[i].At}
		}
	}
	if waits {
		if page.Turn, err = c.turn(ctx, page.Page, p, c.runs, j); err != nil {
			return err
		}
	}
	if quiet > 0 {
		page.Quiet.Text = page.T("job.faults.good", "Count", quiet, "N", quiet)
	}
	if fires > 0 {
		page.Good = page.T("job.good.of", "Count", fires, "Good", good, "N", fires)
	}
	if page.Failing = failingOf(lines); page.Failing == nil {
		return nil
	}
	open, err := c.open.Of(ctx, j.ID)
	page.Failing.Ack = c.acked(page.Page, p, j.ID, j.JobGroup, j.JobDesc, open[j.ID])
	return err
}

// failingOf says whether the newest runs that have ended well or badly, newest first, ended badly, and since when.
func failingOf(lines []jobs.RunLine) *jobs.Failing {
	var f *jobs.Failing
	open := 0
	for _, l := range lines {
		switch l.Mark {
		case jobs.MarkBad:
			if f == nil {
				f = &jobs.Failing{Run: l}
			}
			f.Count, f.Since = f.Count+1, l.At
		case jobs.MarkGood:
			if f != nil {
				f.LastGood = l
			}
			return f
		case jobs.MarkOpen:
			open++
		case jobs.MarkSkipped, jobs.MarkKilled, jobs.MarkRetried:
		}
	}
	if f != nil {
		f.Of = len(lines) - open
		f.More = len(lines) == ui.MaxBars
	}
	return f
}

func drawnUsual(page layout.Page, d manage.Durations) jobs.Usual {
	if d.Runs == 0 {
		return jobs.Usual{}
	}
	span := func(t time.Duration) string { return format.Duration(page.Printer, t) }
	u := jobs.Usual{P50: span(d.P50), P95: span(d.P95), Runs: d.Runs}
	if f := d.Trend(); f > 1 {
		u.Slower, u.Trend = true, page.T("job.trend.slower", "Now", span(d.Recent), "Before", span(d.Before), "Times", times(f))
	} else if f > 0 {
		u.Trend = page.T("job.trend.faster", "Now", span(d.Recent), "Before", span(d.Before))
	}
	return u
}

// jobWhen says when a job is due.
func (c *jobPage) jobWhen(page layout.Page, j db.Job, held *manage.Held) jobs.When {
	spec := j.Spec()
	w := jobs.When{Manual: !spec.ScheduleType.Schedules(), Zone: page.Home, Delay: spec.ScheduleType == jobspec.ScheduleFixDelay}
	if w.Manual {
		return w
	}
	if spec.Zone != "" {
		w.Zone = spec.Zone
	}
	if spec.ScheduleType == jobspec.ScheduleCron {
		w.Cron = spec.ScheduleConf
	}
	w.Facts = c.jobFacts(page, j, func(f *jobspec.Field) bool {
		return ofSchedule[f.Name] && f.Name != jobspec.FieldZone && !(w.Cron != "" && (f.Name == jobspec.FieldCron || f.Name == jobspec.FieldScheduleType))
	})
	next, err := c.jobs.NextTimes(j, held, pageTimes)
	if err != nil {
		w.Error = scheduleFault(page, err)
		return w
	}
	for _, n := range next {
		t := jobs.NextTime{Time: format.At(page.Printer, n.At, c.now()), Weekday: format.Weekday(page.Printer, n.At)}
		if n.Held != nil {
			c.mark(page, &t, n.Held)
		}
		w.Times = append(w.Times, t)
	}
	w.Ends = len(next) > 0 && len(next) < pageTimes
	return w
}

// pausedWords say until when a job is paused, by whom and why.
func (c *jobPages) pausedWords(page layout.Page, until time.Time, by *jobspec.Pause) string {
	if until.IsZero() {
		return page.T("jobs.paused.open", "User", by.By, "Reason", by.Reason)
	}
	return page.T("jobs.paused", "At", c.at(page, until).Absolute, "User", by.By, "Reason", by.Reason)
}

// ofSchedule are the fields that stand beside the next times. elsewhere are those that the page shows in its own way, and the script,
// which only its editors see.
var (
	ofSchedule = map[string]bool{
		jobspec.FieldScheduleType: true, jobspec.FieldCron: true, jobspec.FieldSeconds: true, jobspec.FieldMoment: true, jobspec.FieldZone: true,
		jobspec.FieldStart: true, jobspec.FieldEnd: true, jobspec.FieldMisfire: true, jobspec.FieldMisfireLast: true, jobspec.FieldMisfireSpan: true, jobspec.FieldCalendar: true, jobspec.FieldRule: true,
	}
	elsewhere = map[string]bool{
		jobspec.FieldSource: true, jobspec.FieldRemark: true, jobspec.FieldChildren: true, jobspec.FieldTags: true, jobspec.FieldDoneBy: true,
	}
)

// jobFacts are the fields of a definition that say something, as the table has them.
func (c *jobPage) jobFacts(page layout.Page, j db.Job, shown func(f *jobspec.Field) bool) []jobs.Fact {
	spec := j.Spec()
	notation := jobspec.Notation{Zone: c.zoneOf(spec.Zone), Layout: time.DateTime, Yes: page.T("audit.yes")}
	var facts []jobs.Fact
	for _, f := range jobspec.Fields {
		if !f.In(&spec) || !shown(f) || f.Name == jobspec.FieldHandler && spec.Glue != wire.GlueBean || f.Name == jobspec.FieldConcurrency && spec.MaxConcurrent == 0 {
			continue
		}
		value := word(page, f, f.Text(&spec, notation))
		if isNothing(value) {
			continue
		}
		if f.Unit != "" {
			value = format.Unit(page.Printer, value, f.Unit)
		}
		address := ""
		if f.Name == jobspec.FieldCalendar {
			address = link.Calendar(spec.Calendar, 0)
		}
		facts = append(facts, jobs.Fact{Label: page.T(f.Label), Value: value, URL: address, Code: f.Name == jobspec.FieldHandler || f.Name == jobspec.FieldParam || f.Name == jobspec.FieldParamForm || f.Name == jobspec.FieldBackoff || f.Name == jobspec.FieldCron})
	}
	return facts
}

func (c *jobPage) jobFamily(ctx context.Context, page *jobs.DetailPage, p auth.Principal, j db.Job) error {
	parents, err := c.jobs.ParentJobs(ctx, p, j.ID)
	if err != nil {
		return err
	}
	children, _, err := c.jobs.Children(ctx, p, string(j.ChildJobIDs))
	if err != nil {
		return err
	}
	page.Parents, page.Children = relatives(parents), relatives(children)
	page.MayChain = len(children) > 0 && len(parents) == 0 && p.Can(j.JobGroup, auth.RightEdit)
	if j.GlueType == jobspec.GlueFlow && p.Can(j.JobGroup, auth.RightEdit) {
		if page.MayUnchain, err = c.jobs.MadeOfChain(ctx, j.ID); err != nil {
			return err
		}
	}
	uses, err := c.jobs.FlowsUsing(ctx, p, j)
	page.Flows, page.FlowsHidden = relatives(uses.Jobs), uses.Hidden
	return err
}

func relatives(list []manage.Child) []jobs.Relative {
	drawn := make([]jobs.Relative, len(list))
	for i, r := range list {
		drawn[i] = jobs.Relative{ID: r.ID, Name: r.Name}
	}
	return drawn
}

func (c *jobPage) jobHearing(ctx context.Context, page *jobs.DetailPage, p auth.Principal, j db.Job) error {
	h, err := c.channels.Of(ctx, p, j)
	if err != nil {
		return err
	}
	page.Hearing = jobs.Hearing{Nobody: h.Nobody(), Unheard: h.Unheard, Mend: c.channels.May(p, j.JobGroup)}
	for _, t := range h.Told {
		drawn := jobs.Told{Name: t.Name, Kind: page.Word("alarms.kind.", string(t.Kind)), Icon: "bell", Off: t.Off, Broken: t.Broken}
		if info, ok := t.Kind.Info(); ok {
			drawn.Icon = info.Icon
		}
		if t.May {
			drawn.URL = link.Alarm(t.Channel)
		}
		for _, scope := range t.Scopes {
			drawn.Why = append(drawn.Why, page.T("job.told."+string(scope), "Group", page.Row.Group))
		}
		if len(t.Addresses) > 0 {
			drawn.Why = append(drawn.Why, page.T("job.told.own", "Addresses", strings.Join(t.Addresses, ", ")))
		}
		causes := make([]string, len(t.Causes))
		for i, cause := range t.Causes {
			causes[i] = page.T("alarm.cause." + string(cause))
		}
		drawn.Causes = page.List(causes)
		page.Hearing.Told = append(page.Hearing.Told, drawn)
	}
	return nil
}

func (c *jobPage) jobChanges(ctx context.Context, page *jobs.DetailPage, jobID int64) error {
	list, err := c.audit.JobChanges(ctx, jobID, pageChanges)
	if err != nil {
		return err
	}
	for _, change := range list {
		page.Changes = append(page.Changes, c.drawnChange(page.Page, change))
	}
	return nil
}

// drawnChange is a change of a job as its page and those of its runs show it.
func (c *frame) drawnChange(page layout.Page, change manage.JobChange) ui.Change {
	drawn := ui.Change{User: change.User, Action: string(change.Action), At: c.at(page, change.At)}
	if page.User.Admin {
		drawn.URL = link.AuditEntry(change.ID)
	}
	names := make([]string, 0, pageFields)
	for _, f := range change.Fields[:min(len(change.Fields), pageFields)] {
		names = append(names, page.Word("audit.field.", f))
	}
	drawn.Fields = page.List(names)
	if more := len(change.Fields) - pageFields; more > 0 {
		drawn.Fields = page.T("job.changes.more", "Fields", drawn.Fields, "N", strconv.Itoa(more))
	}
	return drawn
}
