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
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/backfills"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// backfillPages run a job for planned times that are over.
type backfillPages struct {
	*frame
	jobs      *manage.Jobs
	backfills *manage.Backfills
	pauses    *manage.Pauses
}

func (c *backfillPages) routes(g *echo.Group) {
	g.GET("/jobs/:id/backfill", c.list)
	g.POST("/jobs/:id/backfill", c.create)
	g.POST("/jobs/:id/backfill/:backfill/pause", c.deed((*manage.Backfills).Pause))
	g.POST("/jobs/:id/backfill/:backfill/resume", c.deed((*manage.Backfills).Resume))
	g.POST("/jobs/:id/backfill/:backfill/stop", c.deed((*manage.Backfills).Stop))
}

// The values of the form's choices.
const (
	backfillNewest = "newest"
	backfillOldest = "oldest"
)

func (c *backfillPages) list(ec echo.Context) error {
	page := backfills.Page{Page: c.pageWithFlash(ec), Values: backfills.Values{Kind: ec.QueryParam("kind"), AtOnce: "1"}}
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	return c.page(ec, http.StatusOK, jobID, page)
}

func (c *backfillPages) page(ec echo.Context, status int, jobID int64, page backfills.Page) error {
	ctx, p := ec.Request().Context(), who(ec)
	j, err := c.jobs.Get(ctx, p, jobID)
	if err != nil {
		return err
	}
	zone := c.zoneOf(j)
	page.JobID, page.Job, page.Zone, page.CanRun = jobID, j.JobDesc, zoneName(zone, c.now()), p.Can(j.JobGroup, auth.RightRun)
	rows, err := c.backfills.Of(ctx, p, jobID)
	if err != nil {
		return err
	}
	page.Rows = c.backfillRows(page.Page, rows, zone)
	held, err := c.pauses.Of(ctx, p, j)
	if err != nil {
		return err
	}
	for _, pause := range held {
		page.Held = page.Held || pause.State == manage.PauseActive
	}
	if busy := c.backfills.WhenBusy(j); busy.AtOnce > 0 {
		key := "backfill.busy.discard"
		if busy.Covers {
			key = "backfill.busy.cover"
		}
		page.Busy = page.T(key, "Count", busy.AtOnce)
	}
	page.Kinds = []ui.Option{
		{Value: backfill.OfSchedule, Label: page.T("backfill.kind.schedule")},
		{Value: backfill.OfFailed, Label: page.T("backfill.kind.failed.long"), Selected: page.Values.Kind == backfill.OfFailed},
	}
	page.Orders = []ui.Option{
		{Value: backfillOldest, Label: page.T("backfill.order.oldest")},
		{Value: backfillNewest, Label: page.T("backfill.order.newest"), Selected: page.Values.Order == backfillNewest},
	}
	return renderPart(ec, status, backfills.List(page), backfills.FragmentList)
}

func (c *frame) backfillRows(page layout.Page, rows []db.Backfill, zone *time.Location) (drawn []backfills.Row) {
	for _, b := range rows {
		drawn = append(drawn, backfills.Row{
			ID: b.ID, State: b.State, Ended: b.EndedAt != 0, Failed: b.Kind == backfill.OfFailed, From: moment(b.FromAt, zone), Until: moment(b.UntilAt, zone),
			Total: b.Total, Sent: b.Sent, Good: b.Succeeded, Bad: b.Failed, By: b.MadeBy, At: c.at(page, time.UnixMilli(b.MadeAt)),
		})
	}
	return drawn
}

// zoneOf is the zone of a job's times, in which ranges are typed.
func (c *backfillPages) zoneOf(j db.Job) *time.Location {
	if zone, err := jobspec.Location(j.TimeZone); err == nil && j.TimeZone != "" {
		return zone
	}
	return c.wall.Zone()
}

func moment(ms int64, zone *time.Location) string {
	return time.UnixMilli(ms).In(zone).Format("2006-01-02 15:04:05")
}

// create shows what a range would run, and runs it when that was shown before.
func (c *backfillPages) create(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	page := backfills.Page{Page: c.Page(ec)}
	if err := bind(ec, &page.Values); err != nil {
		return err
	}
	j, err := c.jobs.Need(ctx, p, jobID, auth.RightRun)
	if err != nil {
		return err
	}
	in, fields := backfillInput(page.Values, c.zoneOf(j))
	var plan manage.BackfillPlan
	var started int64
	var before bool
	if err = problem.InvalidFields(fields...); len(fields) == 0 {
		started, plan, before, err = c.backfills.StartOnce(ctx, p, jobID, in, page.Values.Shown, page.Values.Batch)
	}
	if err != nil {
		var ok bool
		if page.Errors, ok = fieldErrors(page.Page, err); !ok {
			return err
		}
		return c.page(ec, http.StatusUnprocessableEntity, jobID, page)
	}
	switch {
	case before:
		return c.goTo(ec, link.JobBackfill(jobID), done("backfill.flash.started.before"))
	case started != 0:
		return c.goTo(ec, link.JobBackfill(jobID), done("backfill.flash.started", "Count", strconv.Itoa(plan.Count)))
	}
	page.Values.Batch = cmp.Or(page.Values.Batch, manage.NewBatch())
	page.Plan = &backfills.Plan{Count: plan.Count, First: format.At(page.Printer, plan.First, c.now()), Last: format.At(page.Printer, plan.Last, c.now()), Param: plan.Param, Shown: plan.Shown}
	if key := plan.Changed(page.Values.Shown); key != "" {
		page.Plan.Changed = page.T(key)
	}
	return c.page(ec, http.StatusOK, jobID, page)
}

// backfillInput reads what was typed. Times are those of the job's zone.
func backfillInput(v backfills.Values, zone *time.Location) (in manage.BackfillInput, fields []problem.Field) {
	in = manage.BackfillInput{Failed: v.Kind == backfill.OfFailed, Newest: v.Order == backfillNewest}
	for _, f := range []struct {
		name, text string
		into       *time.Time
	}{{manage.FieldBackfillFrom, v.From, &in.From}, {manage.FieldBackfillUntil, v.Until, &in.Until}} {
		at, err := jobspec.Moment(strings.TrimSpace(f.text), zone)
		if err != nil || f.text == "" {
			fields = append(fields, problem.Field{Name: f.name, Key: "pauses.error.moment"})
		}
		*f.into = at
	}
	var err error
	if in.AtOnce, err = strconv.Atoi(strings.TrimSpace(v.AtOnce)); err != nil || in.AtOnce < 1 {
		fields = append(fields, problem.Field{Name: manage.FieldBackfillAtOnce, Key: "backfill.error.at_once", Args: []any{"Max", backfill.MostAtOnce}})
	}
	return in, fields
}

// deed pauses, resumes or stops a backfill.
func (c *backfillPages) deed(do func(s *manage.Backfills, ctx context.Context, p auth.Principal, job, id int64) error) echo.HandlerFunc {
	return func(ec echo.Context) error {
		jobID, err := id(ec)
		if err != nil {
			return err
		}
		backfillID, err := strconv.ParseInt(ec.Param("backfill"), 10, 64)
		if err != nil {
			return problem.New(problem.NotFound, "problem.backfill.gone")
		}
		if err := do(c.backfills, ec.Request().Context(), who(ec), jobID, backfillID); err != nil {
			return err
		}
		return c.goTo(ec, cmp.Or(link.Local(ec.FormValue(ui.FieldBackTo)), link.JobBackfill(jobID)), done("backfill.flash.done"))
	}
}
