package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/db"
)

// Day is how many fires were planned for a day and what became of them; attempts of one fire count once (see [StateOf]).
type Day struct {
	Date                       time.Time // midnight in the installation's zone
	Running, Succeeded, Failed int64
	Skipped                    int64 // left out on purpose, see event.Outcome.Passed
}

// Total is all fires of the day.
func (d Day) Total() int64 { return d.Running + d.Succeeded + d.Failed + d.Skipped }

// SuccessShare is the part of the ended fires that succeeded, from 0 to 1; ok is false while none has ended.
func (d Day) SuccessShare() (share float64, ok bool) {
	ended := d.Succeeded + d.Failed
	if ended == 0 {
		return 0, false
	}
	return float64(d.Succeeded) / float64(ended), true
}

// Add counts another day's runs too.
func (d *Day) Add(o Day) {
	d.Running += o.Running
	d.Succeeded += o.Succeeded
	d.Failed += o.Failed
	d.Skipped += o.Skipped
}

// MaxDays bounds a report: ten years.
const MaxDays = 3660

// Days reads the report of the days from first to last, the days without runs included, and their sum, whose Date is first's.
func Days(ctx context.Context, pool *db.Pool, first, last time.Time) (days []Day, sum Day, err error) {
	from, to := dayOf(pool.Wall(first)), dayOf(pool.Wall(last))
	if n := (to - from) / 86_400; n < 0 || n > MaxDays {
		return nil, Day{}, fmt.Errorf("a report of %d days: between 1 and %d are possible", n+1, MaxDays)
	}
	rows, err := db.New().ListReports(ctx, pool, db.ListReportsParams{
		FirstDay: nullTime(time.Unix(from, 0).UTC()), LastDay: nullTime(time.Unix(to, 0).UTC()),
	})
	if err != nil {
		return nil, Day{}, err
	}
	for day := from; day <= to; day += 86_400 {
		d := Day{Date: pool.FromWall(time.Unix(day, 0).UTC())}
		for len(rows) > 0 && rows[0].TriggerDay.Time.Unix() < day+86_400 {
			// A counter may stand below zero until the node that saw the beginning of a run has written it too.
			d.Running += max(0, rows[0].RunningCount)
			d.Succeeded += max(0, rows[0].SucCount)
			d.Failed += max(0, rows[0].FailCount)
			d.Skipped += max(0, rows[0].SkipCount)
			rows = rows[1:]
		}
		days = append(days, d)
		sum.Add(d)
	}
	sum.Date = days[0].Date
	return days, sum, nil
}
