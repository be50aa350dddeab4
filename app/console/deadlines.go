package console

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/scheduler/deadline"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
)

// clockIn says times of day in a zone, with seconds where there are some: an end seven seconds after the deadline is not the deadline. Those of
// another day than the deadline's have their date.
func clockIn(zone *time.Location, deadline time.Time) func(time.Time) string {
	day := deadline.In(zone).Format(time.DateOnly)
	return func(t time.Time) string {
		t = t.In(zone)
		layout := time.TimeOnly
		if t.Second() == 0 {
			layout = "15:04"
		}
		if t.Format(time.DateOnly) != day {
			layout = "01-02 " + layout
		}
		return t.Format(layout)
	}
}

// drawnDeadline says how a job stands for the time of day by which it has to be done, in its own zone.
func (c *frame) drawnDeadline(page layout.Page, s deadline.Standing, zone *time.Location) *jobs.Deadline {
	clock := clockIn(zone, s.By)
	d := &jobs.Deadline{By: clock(s.By), At: c.at(page, s.By)}
	key := ""
	switch s.State {
	case deadline.None:
	case deadline.Ahead:
		if d.Late = s.TooTight(); d.Late {
			key, d.Mark = "tight", page.T("jobs.doneby.tight", "By", d.By)
		} else if !s.Expected.IsZero() {
			key = "usually"
		}
	case deadline.OnTime:
		if !s.Expected.IsZero() {
			key = "expected"
		}
	case deadline.AtRisk:
		key, d.Late, d.Mark = "atrisk", true, page.T("jobs.doneby.mark", "By", d.By)
	case deadline.Missed:
		key, d.Late, d.Mark = "missed", true, page.T("jobs.doneby.missed", "By", d.By)
	case deadline.Done:
		key = "done"
	case deadline.Late:
		key, d.Late = "late", true
	}
	if key != "" {
		over := s.Expected.Sub(s.By)
		if s.State == deadline.Missed {
			over = c.now().Sub(s.By)
		}
		d.Text = page.T("job.doneby."+key, "At", clock(s.Expected), "Over", format.Duration(page.Printer, max(0, over).Truncate(time.Second)))
	}
	return d
}

// tight are the values of the sentence that a job needs longer than its deadline leaves it; nil: it does not, as far as is known.
func (c *jobPages) tight(ec echo.Context, jobID int64, spec jobspec.Job) ([]string, error) {
	s, ok, err := c.jobs.TooTight(ec.Request().Context(), who(ec), jobID, spec)
	if err != nil || !ok {
		return nil, err
	}
	zone, p := c.zoneOf(spec.Zone), c.Page(ec).Printer
	clock := clockIn(zone, s.By)
	return []string{"By", clock(s.By), "Fire", clock(s.Fire), "At", clock(s.Expected), "Usual", format.Duration(p, s.Usual), "Over", format.Duration(p, s.Expected.Sub(s.By).Truncate(time.Second))}, nil
}

// addDeadline warns beside the coming times of a form.
func (c *jobPages) addDeadline(ec echo.Context, jobID int64, typed jobs.FormValues, v *jobs.Preview) error {
	if v.Error != "" || typed[jobspec.FieldDoneBy] == "" {
		return nil
	}
	j, _ := c.typedJob(typed)
	args, err := c.tight(ec, jobID, j)
	if args != nil {
		v.Warnings = append(v.Warnings, flash{Key: "jobs.preview.tight", Args: args}.text(c.Page(ec).Printer))
	}
	return err
}
