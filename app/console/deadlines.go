package console

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/deadline"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
)

// drawnDeadline says how a job stands for the time of day by which it has to be done, in its own zone.
func (c *frame) drawnDeadline(page layout.Page, s deadline.Standing, zone *time.Location) *jobs.Deadline {
	clock := func(t time.Time) string { return t.In(zone).Format("15:04") }
	d := &jobs.Deadline{By: clock(s.By), At: c.at(page, s.By)}
	late := s.Expected.After(s.By)
	key := ""
	switch s.State {
	case deadline.None:
	case deadline.Ahead:
		if d.Late = late; !s.Expected.IsZero() {
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
