package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// bulkAction previews or does a deed to many jobs.
type bulkAction func(ctx context.Context, p auth.Principal, b manage.Bulk) ([]manage.BulkItem, error)

func (c *Console) jobNew(ec echo.Context) error {
	if !who(ec).CanAnywhere(auth.RightEdit) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	from, _ := strconv.ParseInt(ec.QueryParam("copy"), 10, 64)
	values := jobs.FormValues{
		Group: ec.QueryParam("group"), Author: who(ec).Name, ScheduleType: string(jobspec.ScheduleCron), Misfire: string(jobspec.MisfireDoNothing),
		Route: string(jobspec.RouteFirst), Block: string(wire.BlockSerial), Glue: string(wire.GlueBean), Timeout: "0", Retries: "0",
		Concurrent: "0", Concurrency: string(jobspec.ConcurrencyQueue), Retention: "0", WarnAfter: "0", ExpectEvery: "0",
	}
	page := jobs.FormPage{Page: c.pageWithFlash(ec)}
	if from > 0 {
		j, err := c.cfg.Manage.Jobs.Get(ec.Request().Context(), who(ec), from)
		if err != nil {
			return err
		}
		values = c.storedValues(j)
		values.Version = ""
		page.CopyOf, page.Name = from, j.JobDesc
	}
	return c.jobForm(ec, http.StatusOK, page, values)
}

func (c *Console) jobEdit(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	j, err := c.cfg.Manage.Jobs.Need(ec.Request().Context(), who(ec), jobID, auth.RightEdit)
	if err != nil {
		return err
	}
	return c.jobForm(ec, http.StatusOK, jobs.FormPage{Page: c.pageWithFlash(ec), ID: jobID, Name: j.JobDesc}, c.storedValues(j))
}

func (c *Console) jobCreate(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	values := typedValues(ec)
	in, faults := c.jobInput(values)
	ctx, p := ec.Request().Context(), who(ec)
	var jobID int64
	err := faultsError(faults)
	if err == nil {
		jobID, err = c.cfg.Manage.Jobs.Create(ctx, p, in)
	}
	if err != nil {
		return c.jobFormAgain(ec, jobs.FormPage{Page: c.Page(ec)}, values, err)
	}
	said := done("jobs.flash.created", "Name", in.Name)
	if ec.FormValue(jobs.FieldStart) != "" && in.ScheduleType.Schedules() {
		if err := c.cfg.Manage.Jobs.Start(ctx, p, jobID); err != nil {
			// The job is there, stopped. Its form says what keeps it from starting.
			problem := problem.From(err)
			return c.goTo(ec, link.JobEdit(jobID), flash{Kind: layout.FlashError, Key: "jobs.flash.notstarted", Args: []string{"Reason", problem.Text(c.Page(ec).Printer)}})
		}
		said = done("jobs.flash.createdstarted", "Name", in.Name)
	}
	return c.goTo(ec, link.Jobs(link.JobFilter{}), said)
}

func (c *Console) jobUpdate(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	if err := parseForm(ec); err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	j, err := c.cfg.Manage.Jobs.Need(ctx, p, jobID, auth.RightEdit)
	if err != nil {
		return err
	}
	values := typedValues(ec)
	in, faults := c.jobInput(values)
	in.KeepOptions = !ec.Request().PostForm.Has(jobs.FieldZone) // a script that posts what XXL-JOB's form had
	if err = faultsError(faults); err == nil {
		err = c.cfg.Manage.Jobs.Update(ctx, p, jobID, in)
	}
	if err != nil {
		return c.jobFormAgain(ec, jobs.FormPage{Page: c.Page(ec), ID: jobID, Name: j.JobDesc}, values, err)
	}
	return c.goTo(ec, link.Jobs(link.JobFilter{}), done("jobs.flash.saved", "Name", in.Name))
}

// jobFormAgain shows a form again that was not accepted, with what was typed and why.
func (c *Console) jobFormAgain(ec echo.Context, page jobs.FormPage, values jobs.FormValues, err error) error {
	errs, ok := fieldErrors(page.Page, err)
	switch {
	case ok:
		page.Errors = errs
	case problem.From(err).Kind == problem.Conflict:
		page.Problem = problem.From(err).Text(page.Printer)
		if err := c.addChanges(ec, &page, &values); err != nil {
			return err
		}
	default:
		return err
	}
	return c.jobForm(ec, http.StatusUnprocessableEntity, page, values)
}

func (c *Console) jobForm(ec echo.Context, status int, page jobs.FormPage, values jobs.FormValues) error {
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	groups = groups.where(who(ec), auth.RightEdit)
	selected, _ := strconv.ParseInt(values.Group, 10, 64)
	if selected == 0 && len(groups.list) > 0 {
		selected = groups.list[0].ID
	}
	page.Values, page.Groups, page.NoGroups = values, groups.options(selected), len(groups.list) == 0
	page.Zone = page.Page.Zone
	page.CanScript = page.ID != 0 && values.Glue != string(wire.GlueBean) && c.cfg.Manage.Jobs.CanScript(who(ec), selected)
	page.ScheduleTypes, page.Glues = texts(jobspec.AllScheduleTypes), texts(jobspec.AllGlues)
	page.Routes, page.Misfires, page.Blocks = texts(jobspec.AllRoutes), texts(jobspec.AllMisfires), texts(jobspec.AllBlocks)
	page.Concurrencies, page.Zones = texts(jobspec.AllConcurrencies), commonZones
	kids, pickable, err := c.cfg.Manage.Jobs.Children(ec.Request().Context(), who(ec), values.Children)
	if err != nil {
		return err
	}
	page.Pickable, page.Children = pickable, drawnChildren(kids, groups)
	page.Preview = c.preview(page.Page, values)
	if err := c.addOthers(ec, page.ID, &page.Preview); err != nil {
		return err
	}
	return render(ec, status, jobs.Form(page))
}

func texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// conf is the part of the schedule that its type asks for.
func conf(v jobs.FormValues) string {
	switch jobspec.ScheduleType(v.ScheduleType) {
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		return v.Seconds
	case jobspec.ScheduleOnce:
		// Browsers write a T between date and time; people read it with a blank.
		return strings.Replace(v.Moment, "T", " ", 1)
	case jobspec.ScheduleCron:
		return v.Cron
	case jobspec.ScheduleNone:
		return ""
	default:
		return v.Cron
	}
}

func (c *Console) storedValues(j db.Job) jobs.FormValues {
	v := jobs.FormValues{
		Group: strconv.FormatInt(j.JobGroup, 10), Name: j.JobDesc, Author: string(j.Author), AlarmEmail: string(j.AlarmEmail),
		ScheduleType: string(j.ScheduleType), Misfire: string(j.MisfireStrategy), Route: string(j.ExecutorRouteStrategy),
		Block: string(j.ExecutorBlockStrategy), Glue: string(j.GlueType), Handler: string(j.ExecutorHandler), Param: string(j.ExecutorParam),
		Source: string(j.GlueSource), Children: string(j.ChildJobIDs), Timeout: strconv.FormatInt(j.ExecutorTimeout, 10),
		Retries: strconv.FormatInt(j.ExecutorFailRetryCount, 10), Version: manage.JobVersion(j),
	}
	zone := c.zoneOf(j.TimeZone)
	storeOptions(&v, j, zone)
	switch j.ScheduleType {
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		v.Seconds = string(j.ScheduleConf)
	case jobspec.ScheduleOnce:
		v.Moment = string(j.ScheduleConf)
		if at, err := jobspec.Moment(v.Moment, zone); err == nil {
			v.Moment = at.In(zone).Format(momentLayout)
		}
	case jobspec.ScheduleCron, jobspec.ScheduleNone:
		v.Cron = string(j.ScheduleConf)
	default:
		v.Cron = string(j.ScheduleConf)
	}
	return v
}

func typedValues(ec echo.Context) jobs.FormValues {
	v := func(name string) string { return formText(ec, name) }
	return jobs.FormValues{
		Group: v(jobs.FieldGroup), Name: v(jobs.FieldName), Author: v(jobs.FieldAuthor), AlarmEmail: v(jobs.FieldAlarmEmail),
		ScheduleType: v(jobs.FieldScheduleType), Cron: v(jobs.FieldCron), Seconds: v(jobs.FieldSeconds), Moment: v(jobs.FieldMoment), Misfire: v(jobs.FieldMisfire),
		Route: v(jobs.FieldRoute), Block: v(jobs.FieldBlock), Glue: v(jobs.FieldGlue), Handler: v(jobs.FieldHandler), Param: v(jobs.FieldParam),
		Source: v(jobs.FieldSource), Remark: v(jobs.FieldRemark), Children: v(jobs.FieldChildren), Timeout: v(jobs.FieldTimeout),
		Retries: v(jobs.FieldRetries), Version: v(jobs.FieldVersion),
		Zone: strings.TrimSpace(v(jobs.FieldZone)), From: v(jobs.FieldFrom), Until: v(jobs.FieldUntil), Backoff: v(jobs.FieldBackoff),
		Concurrent: v(jobs.FieldConcurrent), Concurrency: v(jobs.FieldConcurrency), Retention: v(jobs.FieldRetention),
		WarnAfter: v(jobs.FieldWarnAfter), ExpectEvery: v(jobs.FieldExpectEvery), Tags: v(jobs.FieldTags), ParamFixed: v(jobs.FieldParamFixed),
	}
}

// jobInput reads what was typed; the faults are the numbers and moments that are none.
func (c *Console) jobInput(v jobs.FormValues) (manage.JobInput, []problem.Field) {
	var faults []problem.Field
	number := func(name, text string) int {
		if text == "" {
			return 0
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			faults = append(faults, problem.Field{Name: name, Key: string(jobspec.CodeOutOfRange), Args: []any{"Min", 0, "Max", jobspec.Named(name).Max}})
		}
		return n
	}
	group, _ := strconv.ParseInt(v.Group, 10, 64) // 0 is no group, which the use case says
	in := manage.JobInput{Group: group, Version: v.Version, Job: jobspec.Job{
		Name: v.Name, Author: v.Author, AlarmEmail: v.AlarmEmail, ScheduleType: jobspec.ScheduleType(v.ScheduleType), ScheduleConf: conf(v),
		Misfire: jobspec.Misfire(v.Misfire), Route: jobspec.Route(v.Route), Block: wire.Block(v.Block), Glue: wire.Glue(v.Glue),
		Handler: v.Handler, Param: v.Param, GlueSource: v.Source, GlueRemark: v.Remark, ChildJobIDs: v.Children,
		TimeoutSeconds: number(jobs.FieldTimeout, v.Timeout), Retries: number(jobs.FieldRetries, v.Retries),
		Zone: v.Zone, Backoff: v.Backoff, Concurrency: jobspec.Concurrency(v.Concurrency), Tags: v.Tags, ParamFixed: v.ParamFixed != "",
		MaxConcurrent: number(jobs.FieldConcurrent, v.Concurrent),
		RetentionDays: number(jobs.FieldRetention, v.Retention),
		WarnAfter:     number(jobs.FieldWarnAfter, v.WarnAfter),
		ExpectEvery:   number(jobs.FieldExpectEvery, v.ExpectEvery),
	}}
	in.Start, in.End, faults = c.bounds(v, faults)
	if in.Misfire == "" {
		in.Misfire = jobspec.MisfireDoNothing // its field is hidden for jobs without a schedule
	}
	return in, faults
}

func faultsError(faults []problem.Field) error {
	if len(faults) == 0 {
		return nil
	}
	return problem.InvalidFields(faults...)
}

func (c *Console) schedulePreview(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	page := c.Page(ec)
	drawn := jobs.PreviewPage{Page: page, Preview: c.preview(page, typedValues(ec))}
	jobID, _ := strconv.ParseInt(ec.QueryParam("job"), 10, 64) // 0 is a new one
	if err := c.addOthers(ec, jobID, &drawn.Preview); err != nil {
		return err
	}
	return render(ec, http.StatusOK, jobs.SchedulePreview(drawn))
}
