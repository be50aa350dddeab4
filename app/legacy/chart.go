package legacy

import (
	"strings"
	"time"
)

// chart is the report as upstream's dashboard draws it.
type chart struct {
	Days           []string `json:"triggerDayList"`
	Running        []int64  `json:"triggerDayCountRunningList"`
	Succeeded      []int64  `json:"triggerDayCountSucList"`
	Failed         []int64  `json:"triggerDayCountFailList"`
	RunningTotal   int64    `json:"triggerCountRunningTotal"`
	SucceededTotal int64    `json:"triggerCountSucTotal"`
	FailedTotal    int64    `json:"triggerCountFailTotal"`
}

// chart counts runs by day. Without a range it is the last seven days.
func (l *Legacy) chart(c *call) (any, error) {
	now := l.cfg.Now()
	from, to := l.day(c, "startDate", l.cfg.Pool.FromWall(l.cfg.Pool.Wall(now).AddDate(0, 0, -6))), l.day(c, "endDate", now)
	if err := c.err(); err != nil {
		return nil, err
	}
	days, sum, err := l.cfg.Manage.Dashboard.Between(c.ctx, from, to)
	if err != nil {
		return nil, err
	}
	out := chart{RunningTotal: sum.Running, SucceededTotal: sum.Succeeded, FailedTotal: sum.Failed}
	for _, d := range days {
		out.Days = append(out.Days, d.Date.Format(time.DateOnly))
		out.Running, out.Succeeded, out.Failed = append(out.Running, d.Running), append(out.Succeeded, d.Succeeded), append(out.Failed, d.Failed)
	}
	return out, nil
}

func (l *Legacy) day(c *call, name string, otherwise time.Time) time.Time {
	sent := strings.TrimSpace(c.text(name))
	if sent == "" {
		return otherwise
	}
	at, err := l.moment(sent)
	if err != nil {
		c.fault(name, "legacy.error.time", "Value", sent)
		return otherwise
	}
	return at
}
