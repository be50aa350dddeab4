package console

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
)

// previewTimes is how many coming times a form shows.
const previewTimes = 8

// preview says how a schedule is understood and when it is due next, in the job's own zone.
func (c *jobPages) preview(page layout.Page, typed jobs.FormValues) jobs.Preview {
	j, faults := c.typedJob(typed)
	t, text := j.ScheduleType, strings.TrimSpace(j.ScheduleConf)
	v := jobs.Preview{Zone: page.Home}
	if text == "" || !t.Schedules() {
		return v
	}
	zone, err := jobspec.Location(j.Zone)
	switch {
	case err != nil:
		v.Error = page.T(jobspec.CodeZone, "Value", j.Zone)
		return v
	case zone == nil:
		zone = c.zone
	default:
		v.Zone = zone.String()
	}
	for _, e := range faults {
		if jobspec.Named(e.Name).Kind == jobspec.Moments {
			v.Error = e.Text(page.Printer)
			return v
		}
	}
	if j.End > 0 && j.End <= j.Start {
		v.Error = page.T(jobspec.CodeWindow)
		return v
	}
	if t == jobspec.ScheduleCron {
		if e, err := cron.Parse(text); err == nil {
			if e.String() != text {
				v.Reading = e.String()
			}
			for _, w := range append(e.Warnings(), e.ClockChangeWarnings(c.now(), zone)...) {
				v.Warnings = append(v.Warnings, warningText(page, w))
			}
		}
	}
	n := previewTimes
	if t == jobspec.ScheduleFixDelay {
		n = 1 // where the others lie, the runs decide
	}
	times, err := c.jobs.Upcoming(jobspec.Job{ScheduleType: t, ScheduleConf: text, Zone: j.Zone, Start: j.Start, End: j.End, Calendar: j.Calendar, CalendarRule: j.CalendarRule}, n)
	if err != nil {
		v.Error = scheduleFault(page, err)
		if _, eval := errors.AsType[*cron.EvalError](err); eval {
			v.Warnings = nil // they say the same
		}
		return v
	}
	if fault := jobspec.ParamFault(j.Param); fault != nil {
		v.Error = fault.Text(page.Printer)
	}
	for _, at := range times {
		v.Times = append(v.Times, jobs.NextTime{At: at, Time: format.At(page.Printer, at, c.now()), Weekday: format.Weekday(page.Printer, at), Param: paramAt(j.Param, at, zone)})
	}
	if t == jobspec.ScheduleFixDelay && len(times) > 0 {
		if every, err := jobspec.Interval(text); err == nil {
			v.Note = page.T("jobs.preview.delay", "Span", format.Duration(page.Printer, every))
		}
	}
	if len(times) > 0 && len(times) < n {
		v.Note = page.T("job.when.ends")
	}
	if len(times) == 0 && len(v.Warnings) == 0 && v.Error == "" {
		v.Error = page.T(jobspec.CodeNoTime)
	}
	return v
}

// addPauses says which of the coming times fall into a pause, and into which. Of a job or an executor that somebody may not see it says nothing.
func (c *jobPages) addPauses(ec echo.Context, jobID int64, typed jobs.FormValues, v *jobs.Preview) error {
	if len(v.Times) == 0 {
		return nil
	}
	ctx, p := ec.Request().Context(), who(ec)
	if jobID != 0 {
		if _, err := c.jobs.Get(ctx, p, jobID); err != nil {
			jobID = 0
		}
	}
	group, _ := strconv.ParseInt(typed[jobs.FieldGroup], 10, 64)
	if !p.CanUseGroup(group) {
		group = 0
	}
	held, err := c.pauses.Book(ctx)
	if err != nil {
		return err
	}
	j, _ := c.typedJob(typed)
	page := c.Page(ec)
	for i := range v.Times {
		if stretch, in := held.At(jobID, group, j.Tags, v.Times[i].At); in {
			c.mark(page, &v.Times[i], &stretch)
			if why := v.Times[i].HeldWhy; !slices.Contains(v.Pauses, why) {
				v.Pauses = append(v.Pauses, why)
			}
		}
	}
	return nil
}

// mark says of a coming time that it falls into a pause.
func (c *jobPages) mark(page layout.Page, t *jobs.NextTime, in *jobspec.Stretch) {
	t.Held, t.HeldWhy = page.T("jobs.held."+string(in.Strategy)), c.pausedWords(page, in.Until, in.Pause)
}

// maxShown is how many bytes of a parameter the preview shows.
const maxShown = 500

// paramAt is the parameter that a run of some time is sent, "" where it is the same at any time or cannot be read. Secrets stay names.
func paramAt(param string, at time.Time, zone *time.Location) string {
	if !expr.HasPlanned(param) || expr.CheckPlanned(param) != nil {
		return ""
	}
	filled := expr.FillPlanned(param, at, zone)
	if len(filled) > maxShown {
		filled = strings.ToValidUTF8(filled[:maxShown], "") + "…"
	}
	return filled
}

// scheduleFault says in words why a schedule has no times.
func scheduleFault(page layout.Page, err error) string {
	if e, ok := jobspec.ScheduleError(err); ok {
		return e.Text(page.Printer)
	}
	return problem.From(err).Text(page.Printer)
}

func warningText(page layout.Page, w cron.Warning) string {
	args := []any{"Element", w.Element, "Understood", w.Understood, "Field", ""}
	if w.Field != "" {
		args[len(args)-1] = page.T("cron.field." + string(w.Field))
	}
	return page.T("cron.warning."+string(w.Code), args...)
}
