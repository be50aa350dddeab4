package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/width"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// bulkAction previews or does a deed to many jobs.
type bulkAction func(ctx context.Context, p auth.Principal, b manage.Bulk) ([]manage.BulkItem, error)

func (c *jobPages) jobNew(ec echo.Context) error {
	if !who(ec).CanAnywhere(auth.RightEdit) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	from, _ := strconv.ParseInt(ec.QueryParam("copy"), 10, 64)
	values := c.valuesOf(jobspec.Job{Author: who(ec).Name, ScheduleType: jobspec.ScheduleCron}.WithDefaults())
	values[jobs.FieldGroup] = ec.QueryParam("group")
	page := jobs.FormPage{Page: c.pageWithFlash(ec)}
	if from > 0 {
		j, err := c.jobs.Get(ec.Request().Context(), who(ec), from)
		if err != nil {
			return err
		}
		values = c.storedValues(who(ec), j)
		delete(values, jobs.FieldVersion)
		delete(values, jobs.FieldBase)
		page.CopyOf, page.Name = from, j.JobDesc
	}
	values[jobs.FieldBatch] = manage.NewBatch()
	return c.jobForm(ec, http.StatusOK, page, values)
}

func (c *jobPages) jobEdit(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	j, err := c.jobs.Need(ec.Request().Context(), who(ec), jobID, auth.RightEdit)
	if err != nil {
		return err
	}
	return c.jobForm(ec, http.StatusOK, jobs.FormPage{Page: c.pageWithFlash(ec), ID: jobID, Name: j.JobDesc, Back: leadsBack(ec)}, c.storedValues(who(ec), j))
}

func (c *jobPages) jobCreate(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	values := typedValues(ec)
	in, err := c.jobInput(ctx, p, values)
	var jobID int64
	var before bool
	if err == nil {
		jobID, before, err = c.jobs.CreateOnce(ctx, p, in, values[jobs.FieldBatch])
	}
	if err != nil {
		return c.jobFormAgain(ec, jobs.FormPage{Page: c.Page(ec)}, values, err)
	}
	if before { // its page says whether it is started, and somebody may have stopped it since
		return c.goTo(ec, link.Job(jobID), done("jobs.flash.created.before", "Name", in.Name))
	}
	said := done("jobs.flash.created", "Name", in.Name)
	if ec.FormValue(jobs.FieldStart) != "" && in.ScheduleType.Schedules() {
		if err := c.jobs.Start(ctx, p, jobID); err != nil {
			// The job is there, stopped. Its form says what keeps it from starting.
			problem := problem.From(err)
			return c.goTo(ec, link.JobEdit(jobID), flash{Kind: layout.FlashError, Key: "jobs.flash.notstarted", Args: []string{"Reason", problem.Text(c.Page(ec).Printer)}})
		}
		said = done("jobs.flash.createdstarted", "Name", in.Name)
	}
	return c.goTo(ec, link.Jobs(link.JobFilter{}), said)
}

func (c *jobPages) jobUpdate(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	j, err := c.jobs.Need(ctx, p, jobID, auth.RightEdit)
	if err != nil {
		return err
	}
	values := typedValues(ec)
	in, err := c.jobInput(ctx, p, values)
	in.KeepOptions = !ec.Request().PostForm.Has(jobs.FieldZone) // a script that posts what XXL-JOB's form had
	if !ec.Request().PostForm.Has(jobs.FieldSource) {
		in.GlueSource = string(j.GlueSource)
	}
	page := jobs.FormPage{Page: c.Page(ec), ID: jobID, Name: j.JobDesc, Back: leadsBack(ec)}
	if err == nil && values[jobs.FieldTake] != "" {
		merged, err := c.merge(ec, &page, values, in)
		if err != nil {
			return err
		}
		return c.jobForm(ec, http.StatusOK, page, merged)
	}
	if err == nil {
		err = c.jobs.Update(ctx, p, jobID, c.asStored(in, j))
	}
	if err != nil && problem.From(err).Key == "problem.changed" {
		merged, err := c.merge(ec, &page, values, in)
		if err != nil {
			return err
		}
		if len(page.Changes) > 0 {
			page.Problem = page.T("jobs.changes.problem")
			return c.jobForm(ec, http.StatusUnprocessableEntity, page, merged)
		}
		in.KeepOptions = true // what is stored says the same
	} else if err != nil {
		return c.jobFormAgain(ec, page, values, err)
	}
	said := done("jobs.flash.saved", "Name", in.Name)
	if args, err := c.tight(ec, jobID, in.Job); err != nil {
		return err
	} else if args != nil && !in.KeepOptions {
		said = done("jobs.flash.saved.tight", append(args, "Name", in.Name)...)
	}
	return c.goTo(ec, backTo(ec, jobID), said)
}

// jobFormAgain shows a form again that was not accepted, with what was typed and why.
func (c *jobPages) jobFormAgain(ec echo.Context, page jobs.FormPage, values jobs.FormValues, err error) error {
	var ok bool
	if page.Errors, page.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
		return err
	}
	return c.jobForm(ec, http.StatusUnprocessableEntity, page, values)
}

func (c *jobPages) jobForm(ec echo.Context, status int, page jobs.FormPage, values jobs.FormValues) error {
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	groups = groups.where(who(ec), auth.RightEdit)
	selected, _ := strconv.ParseInt(values[jobs.FieldGroup], 10, 64)
	if selected == 0 && len(groups.list) > 0 {
		selected = groups.list[0].ID
	}
	page.Values, page.Groups, page.NoGroups = values, groups.options(selected), len(groups.list) == 0
	if page.ID != 0 {
		page.Groups = ui.WithChosen(page.Groups, strconv.FormatInt(selected, 10), groups.title(selected))
	}
	page.Zone, page.NoMail = page.Home, !c.channels.CarryJobs(ec.Request().Context())
	page.CanRun = page.ID != 0 && who(ec).Can(selected, auth.RightRun)
	page.CanScript = page.ID != 0 && c.jobs.CanScript(who(ec), wire.Glue(values[jobs.FieldGlue]), selected)
	page.Zones, page.Calendars = commonZones, c.jobs.CalendarNames()
	kids, pickable, err := c.jobs.Children(ec.Request().Context(), who(ec), values[jobs.FieldChildren])
	if err != nil {
		return err
	}
	page.Pickable, page.Children = pickable, drawnChildren(page.Page, kids, groups)
	if page.ID == 0 && groups.http() != 0 {
		page.Curl.Offered, page.Curl.Text = true, values[jobs.FieldCurl]
	}
	if page.HTTPGroup = groups.http(); page.HTTPGroup != 0 {
		drawCall(values)
		if page.Secrets, err = c.secretNames(ec.Request().Context(), who(ec), page.HTTPGroup); err != nil {
			return err
		}
	}
	page.Preview = c.preview(page.Page, values)
	if err := c.addPauses(ec, page.ID, values, &page.Preview); err != nil {
		return err
	}
	if err := c.addDeadline(ec, page.ID, values, &page.Preview); err != nil {
		return err
	}
	written, _ := c.typedJob(values)
	written.ID = page.ID
	if page.Flow, err = drawnFlow(ec.Request().Context(), page.Page, c.frame, c.jobs, who(ec), written, flows.FormValues{}); err != nil {
		return err
	}
	page.Flow.Printer, page.Flow.Job = page.Printer, page.ID
	if page.Declared, err = c.declared(ec.Request().Context(), page.ID, groups); err != nil {
		return err
	}
	if page.Kept, err = c.kept(ec.Request().Context(), c.jobs, page.Page, page.ID); err != nil {
		return err
	}
	if err := c.addOthers(ec, page.ID, &page.Preview); err != nil {
		return err
	}
	return render(ec, status, jobs.Form(page))
}

// kept is where a job is kept in files.
func (c *frame) kept(ctx context.Context, store *manage.Jobs, page layout.Page, jobID int64) (jobs.Kept, error) {
	if jobID == 0 {
		return jobs.Kept{}, nil
	}
	row, changed, err := store.InFiles(ctx, jobID)
	if err != nil || row.Source == "" {
		return jobs.Kept{}, err
	}
	held, err := store.HeldByFiles(ctx, jobID)
	if err != nil {
		return jobs.Kept{}, err
	}
	return jobs.Kept{Held: held, Source: row.Source, Revision: row.Revision, At: c.at(page, time.UnixMilli(row.AppliedAt)), Changed: changed}, nil
}

// declared is what the program says that brought a job with it.
func (c *jobPages) declared(ctx context.Context, jobID int64, groups groupTitles) (jobs.Declared, error) {
	if jobID == 0 {
		return jobs.Declared{}, nil
	}
	row, ok, err := c.jobs.DeclaredBy(ctx, jobID)
	if err != nil || !ok {
		return jobs.Declared{}, err
	}
	return jobs.Declared{Program: groups.title(row.GroupID), Dropped: row.DroppedAt != 0, Fields: strings.Split(row.Fields, ",")}, nil
}

// hidesScript says whether a job has a script that is not for who looks: its form is without it then.
func (c *jobPages) hidesScript(p auth.Principal, j db.Job) bool {
	return jobspec.IsScript(j.GlueType) && !c.jobs.CanScript(p, j.GlueType, j.JobGroup)
}

func (c *jobPages) storedValues(p auth.Principal, j db.Job) jobs.FormValues {
	v := c.valuesOf(j.Spec())
	if c.hidesScript(p, j) {
		delete(v, jobs.FieldSource)
	}
	v[jobs.FieldGroup], v[jobs.FieldVersion] = strconv.FormatInt(j.JobGroup, 10), manage.JobVersion(j)
	v[jobs.FieldBase] = manage.JobMarks(manage.JobInput{Job: j.Spec(), Group: j.JobGroup}, c.zone)
	delete(v, jobs.FieldRemark) // each change has its own
	return v
}

// valuesOf writes a definition into a form.
func (c *jobPages) valuesOf(j jobspec.Job) jobs.FormValues {
	notation := jobspec.Notation{Zone: c.zoneOf(j.Zone), Layout: momentLayout, Yes: "1"}
	v := make(jobs.FormValues)
	for _, f := range jobspec.Fields {
		if f.In(&j) {
			v[f.Name] = f.Text(&j, notation)
		}
	}
	if at, err := jobspec.Moment(v[jobs.FieldMoment], notation.Zone); err == nil {
		v[jobs.FieldMoment] = at.In(notation.Zone).Format(momentLayout)
		drawMeant(v, jobs.FieldMoment, at, notation.Zone)
	}
	drawMeant(v, jobs.FieldFrom, time.UnixMilli(j.Start), notation.Zone)
	drawMeant(v, jobs.FieldUntil, time.UnixMilli(j.End), notation.Zone)
	return v
}

// drawMeant keeps the moment that a field was drawn with, where the field alone would be read as another: its hour comes twice. Otherwise
// it is empty, also where these values are laid over others.
func drawMeant(v jobs.FormValues, name string, at time.Time, zone *time.Location) {
	v[jobs.MeantBy(name)] = ""
	if alone, err := jobspec.Moment(v[name], zone); err == nil && !alone.Equal(at) {
		v[jobs.MeantBy(name)] = at.In(zone).Format(time.RFC3339Nano)
	}
}

// typedMoment is what was typed into the field of a moment. One that still shows what it was drawn with is that moment.
func typedMoment(v jobs.FormValues, name string, zone *time.Location) string {
	meant, err := time.Parse(time.RFC3339, v[jobs.MeantBy(name)])
	if err != nil {
		return v[name]
	}
	shown, err := jobspec.Moment(v[name], time.UTC)
	if err != nil || shown.Format(momentLayout) != meant.In(zone).Format(momentLayout) {
		return v[name]
	}
	return v[jobs.MeantBy(name)]
}

// typedCron is a cron text without the wide signs that a Chinese input method makes of * and ?: who typed them sees no difference.
func typedCron(text string) string { return width.Narrow.String(text) }

func typedValues(ec echo.Context) jobs.FormValues {
	v := make(jobs.FormValues)
	for name := range ec.Request().Form {
		v[name] = ec.FormValue(name)
	}
	v[jobs.FieldZone] = strings.TrimSpace(v[jobs.FieldZone])
	v[jobs.FieldCron] = typedCron(v[jobs.FieldCron])
	return v
}

// typedJob reads what was typed; the faults are the numbers and moments that are none.
func (c *jobPages) typedJob(v jobs.FormValues) (jobspec.Job, []problem.Field) {
	zone := c.zoneOf(v[jobs.FieldZone])
	return jobspec.Read(func(f *jobspec.Field) string {
		switch {
		case f.Name == jobs.FieldMoment:
			if text := typedMoment(v, f.Name, zone); text != v[f.Name] {
				return text
			}
			// Browsers write a T between date and time; people read it with a blank.
			return strings.Replace(v[f.Name], "T", " ", 1)
		case f.Kind == jobspec.Moments:
			return typedMoment(v, f.Name, zone)
		case f.Name == jobs.FieldCron && v[jobs.FieldScheduleType] == string(jobspec.ScheduleNone):
			return ""
		}
		return v[f.Name]
	}, zone)
}

// jobInput reads a form. The error is that of what cannot be read in it, by field.
func (c *jobPages) jobInput(ctx context.Context, p auth.Principal, v jobs.FormValues) (manage.JobInput, error) {
	wrong, err := c.readCall(ctx, p, v)
	if err != nil {
		return manage.JobInput{}, err
	}
	j, faults := c.typedJob(v)
	if j.Misfire == "" {
		j.Misfire = jobspec.MisfireDoNothing // its field is hidden for jobs without a schedule
	}
	group, _ := strconv.ParseInt(v[jobs.FieldGroup], 10, 64) // 0 is no group, which the use case says
	return manage.JobInput{Job: j, Group: group, Version: v[jobs.FieldVersion]}, faultsError(append(faults, wrong...))
}

func faultsError(faults []problem.Field) error {
	if len(faults) == 0 {
		return nil
	}
	return problem.InvalidFields(faults...)
}

func (c *jobPages) schedulePreview(ec echo.Context) error {
	page := c.Page(ec)
	drawn := jobs.PreviewPage{Page: page, Preview: c.preview(page, typedValues(ec))}
	jobID, _ := strconv.ParseInt(ec.QueryParam("job"), 10, 64) // 0 is a new one
	if err := c.addOthers(ec, jobID, &drawn.Preview); err != nil {
		return err
	}
	if err := c.addPauses(ec, jobID, typedValues(ec), &drawn.Preview); err != nil {
		return err
	}
	if err := c.addDeadline(ec, jobID, typedValues(ec), &drawn.Preview); err != nil {
		return err
	}
	return render(ec, http.StatusOK, jobs.SchedulePreview(drawn))
}
