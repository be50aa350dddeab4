package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// jobPages are the list of jobs, the form of one, and what is done to one or many of them.
type jobPages struct {
	*frame
	jobs    *manage.Jobs
	runs    *manage.Runs
	figures *dashboard.Dashboard
	pauses  *manage.Pauses
	saved   *savedViews
	keys    *manage.Secrets
	audit   *manage.Audit

	backfills *manage.Backfills
}

func (c *jobPages) routes(g *echo.Group) {
	g.GET("/jobs", c.jobList)
	g.GET("/jobs/count", c.jobCount)
	g.GET(link.SlowestPath, c.slowest)
	g.GET("/jobs/new", c.jobNew)
	g.POST("/jobs", c.jobCreate)
	g.POST(link.JobCurlPath, c.jobCurl)
	g.POST("/jobs/schedule-preview", c.schedulePreview)
	g.GET(link.JobChildrenPath, c.jobChildren)
	g.GET("/jobs/:id/edit", c.jobEdit)
	g.POST("/jobs/:id", c.jobUpdate)
	g.POST("/jobs/:id/start", c.jobStart)
	g.POST("/jobs/:id/stop", c.jobStop)
	g.POST("/jobs/:id/favourite", c.jobFavourite)
	g.POST("/jobs/:id/release", c.jobRelease)
	g.GET("/jobs/:id/delete", c.jobDeleteForm)
	g.POST("/jobs/:id/delete", c.jobDelete)
	g.GET("/jobs/:id/run", c.jobRunForm)
	g.POST("/jobs/:id/run", c.jobRun)
	c.bulkRoutes(g)
}

// lastPage is the last page of a list that is in memory.
func lastPage(total int64, perPage int) int { return max(1, (int(total)+perPage-1)/perPage) }

func (c *jobPages) jobList(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	f := link.JobsFrom(ec.QueryParams())
	f.Group = groups.known(f.Group)
	address := link.Jobs(f)
	f.Page = max(f.Page, 1)
	filter := c.jobFilter(f, c.zoneFor(who(ec)))
	page := jobs.ListPage{Page: c.pageOfList(ec, address), Filter: f, Groups: groups.options(f.Group), CanCreate: p.CanAnywhere(auth.RightEdit)}
	page.Look = look(page.Page, p, manage.ViewJobs)
	filter.Limit, filter.Offset, filter.History = page.Look.Rows, (f.Page-1)*page.Look.Rows, true
	by, desc := link.SortBy(f.Sort)
	filter.Order, filter.Desc = db.JobOrder(by), desc
	list, err := c.jobs.List(ctx, p, filter)
	if err == nil && len(list.Jobs) == 0 && f.Page > 1 { // there are fewer by now, or there never were so many: that is not "no job matches"
		f.Page, filter.Offset = 1, 0
		page.Ignored = link.Ignored(ec.Request().URL.RawQuery, link.Jobs(f))
		page.Filter = f
		list, err = c.jobs.List(ctx, p, filter)
	}
	if err != nil {
		return err
	}
	page.Total, page.More, page.AnyJobs = list.Total, list.More, len(list.Jobs) > 0
	page.Chips = c.jobChips(page.Page, f)
	if !page.AnyJobs {
		if page.AnyJobs, err = c.jobs.Any(ctx, p); err != nil {
			return err
		}
	}
	held, err := c.pauses.Book(ctx)
	if err != nil {
		return err
	}
	deadlines, err := c.jobs.Deadlines(ctx, list.Jobs, &held)
	if err != nil {
		return err
	}
	for _, j := range list.Jobs {
		row := c.jobRow(page.Page, p, groups, &held, j)
		if s, ok := deadlines[j.ID]; ok && (s.State.Warns() || s.TooTight()) {
			row.Deadline = c.drawnDeadline(page.Page, s, c.zoneOf(j.TimeZone))
		}
		page.Rows = append(page.Rows, row)
	}
	if err := c.addFavourites(ctx, p, page.Rows); err != nil {
		return err
	}
	c.addOutcomes(page.Page, page.Rows, list.Outcomes)
	known := list.Total
	if list.More && !list.Ends {
		known++
	}
	page.SortEnds = list.Ends
	page.Pager = pager(f.Page, page.Look.Rows, known, func(n int) string {
		f.Page = n
		return link.Jobs(f)
	})
	if page.Views, err = c.saved.viewBar(ec, manage.ViewJobs, link.ViewParams(manage.ViewJobs, ec.QueryString())); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, jobs.List(page), ui.FragmentResults)
}

// jobFilter is a filter as the use cases take it.
func (c *frame) jobFilter(f link.JobFilter, zone *time.Location) manage.JobFilter {
	return manage.JobFilter{
		Group: f.Group, Status: jobStatus(f.State), Text: f.Text, Handler: f.Handler, Author: f.Author, Tag: f.Tag, Paused: f.State == link.JobPaused, Review: f.State == link.JobReview, Typed: true,
		Show: dashboard.Show(f.Show), At: link.LocalTime(f.At, zone, 0), Until: link.LocalTime(f.Until, zone, 0),
	}
}

// jobCount is how many jobs a list has in all, for one that was drawn before that was known.
func (c *jobPages) jobCount(ec echo.Context) error {
	n, err := c.jobs.Count(ec.Request().Context(), who(ec), c.jobFilter(link.JobsFrom(ec.QueryParams()), c.zoneFor(who(ec))))
	if err != nil {
		return err
	}
	return render(ec, http.StatusOK, jobs.Count(c.Page(ec), n))
}

// pager leads to the pages beside a page of a numbered list.
func pager(page, size int, total int64, address func(page int) string) ui.Pager {
	var p ui.Pager
	if page > 1 {
		p.Previous = address(page - 1)
	}
	if int64(page)*int64(size) < total {
		p.Next = address(page + 1)
	}
	return p
}

func jobStatus(state string) int64 {
	switch state {
	case link.JobRunning:
		return int64(jobspec.StatusRunning)
	case link.JobStopped:
		return int64(jobspec.StatusStopped)
	}
	return manage.AnyStatus
}

func (c *jobPages) jobRow(page layout.Page, p auth.Principal, groups groupTitles, held *manage.Held, j db.ListJobsRow) jobs.Row {
	running := jobspec.Started(j.TriggerStatus)
	row := jobs.Row{
		ID: j.ID, Name: j.JobDesc, GroupID: j.JobGroup, Group: groups.title(j.JobGroup), ScheduleType: string(j.ScheduleType),
		Schedule: scheduleText(page, j.ScheduleType, string(j.ScheduleConf)), Glue: string(j.GlueType), Handler: string(j.ExecutorHandler),
		Author: string(j.Author), Running: running, CanEdit: p.Can(j.JobGroup, auth.RightEdit), CanRun: p.Can(j.JobGroup, auth.RightRun), CanSchedule: p.Can(j.JobGroup, auth.RightSchedule), Startable: j.ScheduleType.Schedules(),
		Zone: j.TimeZone, Tags: strings.FieldsFunc(j.Tags, func(r rune) bool { return r == ',' }),
	}
	row.CanScript = c.jobs.CanScript(p, j.GlueType, j.JobGroup)
	stretch, paused := held.Now(&j)
	switch {
	case !running:
	case paused: // its next time is that of the pause
		row.Paused, row.PausedUntil = c.pausedWords(page, stretch.Until, stretch.Pause), c.at(page, stretch.Until)
	case j.TriggerNextTime >= jobspec.Waiting.UnixMilli(): // a fixed delay counts from the end of its run
		row.Waiting = true
	default:
		next := db.Instant(j.TriggerNextTime)
		row.Next = c.at(page, next)
		row.Next.Relative = format.Due(page.Printer, next, c.now())
	}
	return row
}

func scheduleText(page layout.Page, t jobspec.ScheduleType, conf string) string {
	switch t {
	case jobspec.ScheduleCron, jobspec.ScheduleOnce:
		return conf
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		every, err := jobspec.Interval(conf)
		if err != nil {
			return conf
		}
		return page.T("jobs.every", "Span", format.Duration(page.Printer, every))
	case jobspec.ScheduleNone:
		return ""
	default:
		return conf
	}
}

func (c *jobPages) jobStart(ec echo.Context) error {
	return c.jobSwitch(ec, true)
}

// jobRelease keeps a job in no files any more.
func (c *jobPages) jobRelease(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	if err := c.jobs.Release(ec.Request().Context(), who(ec), jobID); err != nil {
		return err
	}
	return c.goTo(ec, link.Job(jobID), done("jobs.flash.released"))
}

func (c *jobPages) jobStop(ec echo.Context) error {
	return c.jobSwitch(ec, false)
}

// backTo is the page that a form about a job stood on: the job's own, or the list.
func backTo(ec echo.Context, jobID int64) string {
	if leadsBack(ec) {
		return link.Job(jobID)
	}
	return link.JobsPath
}

func leadsBack(ec echo.Context) bool { return ec.FormValue(jobs.FieldBack) == jobs.BackToJob }

// jobFavourite marks a job for who asks, or takes the mark away.
func (c *jobPages) jobFavourite(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	if err := c.jobs.SetFavourite(ec.Request().Context(), who(ec), jobID, ec.FormValue(jobs.FieldFavourite) == "1"); err != nil {
		return err
	}
	if isPartial(ec.Request()) {
		ec.Response().Header().Set("HX-Trigger", jobsChanged)
		return ec.NoContent(http.StatusNoContent)
	}
	return ec.Redirect(http.StatusSeeOther, backTo(ec, jobID))
}

// jobSwitch starts or stops a job, and offers to take that back. htmx gets the row anew, anybody else the list. Undone from a
// message, which may stand over any list, the lists that show the job look for themselves.
func (c *jobPages) jobSwitch(ec echo.Context, start bool) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	before, err := c.jobs.Row(ctx, p, jobID)
	if err != nil {
		return err
	}
	do, key, back := c.jobs.Stop, "jobs.flash.stopped", link.JobStart(jobID)
	if start {
		do, key, back = c.jobs.Start, "jobs.flash.started", link.JobStop(jobID)
	}
	if err := do(ctx, p, jobID); err != nil {
		return err
	}
	row, err := c.jobs.Row(ctx, p, jobID)
	if err != nil {
		return err
	}
	said := done(key, "Name", row.JobDesc)
	if row.TriggerStatus != before.TriggerStatus {
		said = said.undoneBy(layout.Undo{URL: back})
	}
	if !isPartial(ec.Request()) {
		return c.goTo(ec, backTo(ec, jobID), said)
	}
	if ec.FormValue(layout.FieldUndo) != "" {
		page := c.Page(ec)
		page.Flashes = append(page.Flashes, said.drawn(page))
		ec.Response().Header().Set("HX-Trigger", jobsChanged)
		return render(ec, http.StatusOK, layout.Toasts(page))
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	held, err := c.pauses.Book(ctx)
	if err != nil {
		return err
	}
	page := c.Page(ec)
	page.Flashes = append(page.Flashes, said.drawn(page))
	rows := []jobs.Row{c.jobRow(page, p, groups, &held, row)}
	outcomes, err := c.jobs.Outcomes(ctx, who(ec), []int64{row.ID})
	if err != nil {
		return err
	}
	c.addOutcomes(page, rows, outcomes)
	return render(ec, http.StatusOK, jobs.RowSwap(jobs.RowPage{Page: page, Row: rows[0]}))
}

func (c *jobPages) jobDeleteForm(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	ctx := ec.Request().Context()
	j, err := c.jobs.Need(ctx, who(ec), jobID, auth.RightEdit)
	if err != nil {
		return err
	}
	used, err := c.jobs.UsedBy(ctx, who(ec), j)
	if err != nil {
		return err
	}
	last, err := c.jobs.Outcomes(ctx, who(ec), []int64{jobID})
	if err != nil {
		return err
	}
	page := jobs.DeletePage{Page: c.Page(ec), ID: jobID, Name: j.JobDesc, Running: jobspec.Started(j.TriggerStatus)}
	page.Uses = usesOf(page.Page, used)
	if len(last) > 0 {
		page.Runs = -1 // counting a long log would take longer than reading the question
	}
	return renderPart(ec, http.StatusOK, jobs.Delete(page), ui.FragmentDialog)
}

// usesOf says what does without a job once it is deleted, a sentence each.
func usesOf(page layout.Page, used manage.UsedBy) (list []string) {
	for _, parent := range used.Parents.Jobs {
		list = append(list, page.T("jobs.delete.parent", "Name", parent.Name))
	}
	for _, f := range used.Flows.Jobs {
		list = append(list, page.T("jobs.delete.flow", "Name", f.Name))
	}
	if n := used.Parents.Hidden; n > 0 {
		list = append(list, page.T("jobs.delete.parents", "Count", n, "N", format.Number(int64(n))))
	}
	if n := used.Flows.Hidden; n > 0 {
		list = append(list, page.T("jobs.delete.flows", "Count", n, "N", format.Number(int64(n))))
	}
	return list
}

func (c *jobPages) jobDelete(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	j, err := c.jobs.Need(ctx, p, jobID, auth.RightEdit)
	if err != nil {
		return err
	}
	if err := c.jobs.Delete(ctx, p, jobID); err != nil {
		return err
	}
	return c.goTo(ec, link.JobsPath, done("jobs.flash.deleted", "Name", j.JobDesc))
}

func (c *jobPages) jobRunForm(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	j, err := c.jobs.Need(ec.Request().Context(), who(ec), jobID, auth.RightRun)
	if err != nil {
		return err
	}
	page, err := c.runOncePage(ec, j)
	if err != nil {
		return err
	}
	page.Param, page.Batch = string(j.ExecutorParam), manage.NewBatch()
	// "Run again" comes with the run whose parameter is wanted once more.
	if from, err := strconv.ParseInt(ec.QueryParam("from"), 10, 64); err == nil && from > 0 {
		r, err := c.runs.Get(ec.Request().Context(), who(ec), from)
		if err != nil {
			return err
		}
		if r.JobID == jobID {
			if ms := cmp.Or(r.PlannedFor, r.PlannedAt); ms > 0 {
				page.Planned, page.Meant = time.UnixMilli(ms).In(c.zoneOf(j.TimeZone)).Format(secondLayout), strconv.FormatInt(ms, 10)
			}
			if !page.OwnParam {
				page.Param = string(r.ExecutorParam)
			}
		}
	}
	form, _ := jobspec.ReadParamForm(string(j.ParamForm))
	values := form.Values(page.Param)
	fill(&page, func(name string) string { return values[name] })
	return renderPart(ec, http.StatusOK, jobs.RunOnce(page), ui.FragmentDialog)
}

func (c *jobPages) runOncePage(ec echo.Context, j db.Job) (page jobs.RunPage, err error) {
	page = jobs.RunPage{Page: c.Page(ec), ID: j.ID, Name: j.JobDesc, Flow: j.GlueType == jobspec.GlueFlow}
	page.Online = c.reachable(page.Page, who(ec), j.JobGroup)
	if page.OwnParam, err = c.jobs.OwnParam(ec.Request().Context(), who(ec), j); err != nil || page.OwnParam {
		return page, err
	}
	form, _ := jobspec.ReadParamForm(string(j.ParamForm)) // one that cannot be read asks for nothing
	for _, f := range form {
		page.Form = append(page.Form, jobs.RunField{ParamField: f})
	}
	return page, nil
}

// fill gives the fields of the parameter what was typed.
func fill(page *jobs.RunPage, typed func(name string) string) {
	for i := range page.Form {
		page.Form[i].Value = typed(page.Form[i].Name)
	}
}

// jobRun runs a job once and leads to the run, whose output can be followed there.
func (c *jobPages) jobRun(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	j, err := c.jobs.Need(ctx, p, jobID, auth.RightRun)
	if err != nil {
		return err
	}
	form, err := ec.FormParams()
	if err != nil {
		return &problem.Error{Kind: problem.Malformed, Err: err}
	}
	// Those that were ticked come beside what was typed.
	param, addresses := ec.FormValue(jobs.FieldParam), strings.TrimSpace(strings.Join(form[jobs.FieldAddresses], "\n"))
	typedField := func(name string) string { return ec.FormValue(jobs.ParamField(name)) }
	if fields, _ := jobspec.ReadParamForm(string(j.ParamForm)); len(fields) > 0 {
		if form.Has(jobs.FieldParam) { // as the dialog was before the job had these fields, or where the parameter is fixed
			values := fields.Values(param)
			typedField = func(name string) string { return values[name] }
		} else {
			param = fields.Param(typedField)
		}
	}
	typed := strings.TrimSpace(ec.FormValue(jobs.FieldPlanned))
	meant := ec.FormValue(jobs.FieldMeant)
	planned := plannedTime(typed, meant, c.zoneOf(j.TimeZone))
	if typed != "" && planned.IsZero() {
		err = problem.InvalidFields(problem.Field{Name: jobs.FieldPlanned, Key: jobspec.CodeMoment})
	}
	var ids []int64
	var before bool
	if err == nil {
		ids, before, err = c.jobs.TriggerOnce(ctx, p, jobID, manage.RunInput{Param: &param, Addresses: addresses, Planned: planned, Type: jobspec.TriggerManual}, ec.FormValue(jobs.FieldBatch))
	}
	if err != nil {
		page, fault := c.runOncePage(ec, j)
		if fault != nil {
			return fault
		}
		errs, ok := fieldErrors(page.Page, err)
		if !ok {
			return err
		}
		fill(&page, typedField)
		page.Param, page.Addresses, page.Planned, page.Meant, page.Batch, page.Errors = param, addresses, typed, meant, ec.FormValue(jobs.FieldBatch), errs
		return renderPart(ec, http.StatusUnprocessableEntity, jobs.RunOnce(page), ui.FragmentDialog)
	}
	told := "jobs.flash.triggered"
	if before {
		told = "jobs.flash.triggered.before"
	}
	if len(ids) == 1 {
		return c.goTo(ec, link.Run(ids[0]), done(told, "Name", j.JobDesc))
	}
	return c.goTo(ec, link.RunsOfJob(j.JobGroup, jobID), done("jobs.flash.broadcast", "Name", j.JobDesc, "N", strconv.Itoa(len(ids))))
}

const secondLayout = "2006-01-02T15:04:05"

// plannedTime reads the planned time of a run by hand: the moment that the field was drawn with where it is as it was, since a field has neither
// milliseconds nor an offset. What is typed of an hour that comes twice is the second one, as it is to schedules.
func plannedTime(typed, meant string, zone *time.Location) time.Time {
	t := link.LocalTime(typed, zone, 0)
	if t.IsZero() {
		return t
	}
	clock := link.LocalTime(typed, time.UTC, 0).Format(secondLayout)
	if ms, err := strconv.ParseInt(meant, 10, 64); err == nil && time.UnixMilli(ms).In(zone).Format(secondLayout) == clock {
		return time.UnixMilli(ms)
	}
	shown := link.LocalTime(typed, time.UTC, 0).Unix()
	return cron.Shown(shown, shown, zone)
}

// addFavourites marks the rows that the reader has marked.
func (c *jobPages) addFavourites(ctx context.Context, p auth.Principal, rows []jobs.Row) error {
	marked, err := c.jobs.Favourites(ctx, p, db.IDs(rows, func(r *jobs.Row) int64 { return r.ID }))
	for i, r := range rows {
		rows[i].Favourite = marked[r.ID]
	}
	return err
}
