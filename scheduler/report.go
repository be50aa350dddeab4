package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
)

// Day is how many runs were planned for a day and what became of them.
type Day struct {
	Date                       time.Time // midnight in the installation's zone
	Running, Succeeded, Failed int64
	Skipped                    int64 // left out on purpose, see event.Outcome.Passed
}

// Total is all runs of the day.
func (d Day) Total() int64 { return d.Running + d.Succeeded + d.Failed + d.Skipped }

// SuccessShare is the part of the ended runs that succeeded, from 0 to 1; ok is false while none has ended.
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

const (
	// recountTries is how often a day is counted again when its runs change meanwhile. A day as busy as that is counted
	// the next night, when it is over.
	recountTries = 3
	// A statement of the recount covers so many seconds of planned times that it takes about recountStep.
	recountStep     = 50 * time.Millisecond
	recountMinSlice = time.Second // the resolution of the column
	recountMaxSlice = time.Hour
)

var errBusyDay = errors.New("its runs keep changing")

// recount counts the runs of a day anew and corrects its counters and those of its hours. They drift only when an admin dies
// between a commit and the next flush, or when a Java admin works on the same database, and overwrites them.
//
// A node's flush cannot be told from the recount's own view of the rows, so a correction is written only if nobody changed the
// counters from before the count until every node has had time to flush what it saw of it. When fewer runs are found than
// were counted, runs have been deleted, and the counters, which are to survive that, keep all but the number of open runs.
func (e *Engine) recount(ctx context.Context, day time.Time) error {
	at := nullTime(day)
	for range recountTries {
		if err := e.flushCounts(ctx); err != nil {
			return err
		}
		before, err := e.queries.GetReport(ctx, e.cfg.Pool, at)
		missing := errors.Is(db.Error(err), db.ErrNotFound)
		if err != nil && !missing {
			return err
		}
		stored, err := e.storedHours(ctx, day)
		if err != nil {
			return err
		}
		found, hours, err := e.countDay(ctx, day)
		if err != nil {
			return err
		}
		if missing {
			if found.Total() == 0 && len(stored) == 0 {
				return nil
			}
			if err := e.queries.InsertReport(ctx, e.cfg.Pool, db.InsertReportParams{TriggerDay: at, UpdateTime: nullTime(e.wall(e.now()))}); err != nil {
				return err
			}
		}
		counted := Day{Date: day, Running: before.RunningCount, Succeeded: before.SucCount, Failed: before.FailCount, Skipped: before.SkipCount}
		if found.Total() < counted.Total() && !found.countedByAnXXLJobAdmin(counted) {
			found.Succeeded, found.Failed, found.Skipped = counted.Succeeded, counted.Failed, counted.Skipped
		}
		wrong := wrongHours(stored, hours)
		if found == counted && len(wrong) == 0 {
			return nil
		}
		if err := rest(ctx, 2*e.cfg.ReportEvery); err != nil {
			return err
		}
		if err := e.flushCounts(ctx); err != nil {
			return err
		}
		n, err := e.correct(ctx, at, counted, found, wrong)
		if err != nil {
			return err
		}
		if n > 0 {
			e.log.Info("corrected the counters of a day", "day", day.Format(time.DateOnly),
				"running", found.Running, "succeeded", found.Succeeded, "failed", found.Failed,
				"was_running", counted.Running, "was_succeeded", counted.Succeeded, "was_failed", counted.Failed,
				"skipped", found.Skipped, "was_skipped", counted.Skipped, "hours", len(wrong))
			return nil
		}
	}
	return errBusyDay
}

// countedByAnXXLJobAdmin says that a day's counters hold its skipped runs a second time, among the failures: so an XXL-JOB admin
// counts, which does not know the column of the skipped ones.
func (d Day) countedByAnXXLJobAdmin(counters Day) bool {
	d.Failed += d.Skipped
	return d == counters
}

// correct writes a recount unless the day's counters have changed. Whoever changes an hour's changes its day's with them, but
// for what cancels out within a day; the next recount finds that.
func (e *Engine) correct(ctx context.Context, at sql.NullTime, counted, found Day, wrong map[hourOfGroup]tally) (n int64, err error) {
	err = e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err = e.queries.SetReport(ctx, tx, db.SetReportParams{
			Running: found.Running, Succeeded: found.Succeeded, Failed: found.Failed, Skipped: found.Skipped, UpdateTime: nullTime(e.wall(e.now())), Day: at,
			OldRunning: counted.Running, OldSucceeded: counted.Succeeded, OldFailed: counted.Failed, OldSkipped: counted.Skipped,
		})
		if err != nil || n == 0 {
			return err
		}
		for _, key := range slices.SortedFunc(maps.Keys(wrong), hourOfGroup.compare) {
			t := wrong[key]
			if err := e.queries.SetHour(ctx, tx, db.SetHourParams{
				GroupID: key.group, HourAt: key.hour, RunningCount: t[stateRunning], SucCount: t[stateSucceeded], FailCount: t[stateFailed],
				SkipCount: t[stateSkipped],
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// storedHours are the counters of a day's hours.
func (e *Engine) storedHours(ctx context.Context, day time.Time) (map[hourOfGroup]tally, error) {
	rows, err := e.queries.ListHours(ctx, e.cfg.Pool, db.ListHoursParams{FromHour: day.Unix(), ToHour: day.Unix() + 86_400})
	if err != nil {
		return nil, err
	}
	hours := make(map[hourOfGroup]tally, len(rows))
	for _, r := range rows {
		hours[hourOfGroup{r.HourAt, r.GroupID}] = tally{stateRunning: r.RunningCount, stateSucceeded: r.SucCount, stateFailed: r.FailCount, stateSkipped: r.SkipCount}
	}
	return hours, nil
}

// wrongHours are what the counters should be, of those that are something else. Runs that were deleted stay counted, as in
// the day's counters.
func wrongHours(stored, found map[hourOfGroup]tally) map[hourOfGroup]tally {
	wrong := make(map[hourOfGroup]tally)
	for key, have := range stored {
		want := found[key]
		if want.total() < have.total() {
			want[stateSucceeded], want[stateFailed], want[stateSkipped] = have[stateSucceeded], have[stateFailed], have[stateSkipped]
		}
		if want != have {
			wrong[key] = want
		}
	}
	for key, want := range found {
		if _, known := stored[key]; !known {
			wrong[key] = want
		}
	}
	return wrong
}

func (t tally) total() int64 {
	return t[stateRunning] + t[stateSucceeded] + t[stateFailed] + t[stateSkipped]
}

// countDay counts a day's runs by the index on the planned time, in slices that are short enough to disturb nobody and
// never reach over an hour's end.
func (e *Engine) countDay(ctx context.Context, day time.Time) (Day, map[hourOfGroup]tally, error) {
	d, hours := Day{Date: day}, make(map[hourOfGroup]tally)
	end := day.AddDate(0, 0, 1)
	slice := time.Minute
	for from := day; from.Before(end); {
		to := from.Add(slice)
		if next := from.Truncate(time.Hour).Add(time.Hour); to.After(next) {
			to = next
		}
		began := time.Now()
		groups, err := e.queries.CountRunsOfGroups(ctx, e.cfg.Pool, db.CountRunsOfGroupsParams{FromTime: nullTime(from), ToTime: nullTime(to)})
		if err != nil {
			return d, nil, err
		}
		for _, n := range groups {
			failed := n.Total - n.Running - n.Succeeded - n.Skipped
			d.Add(Day{Running: n.Running, Succeeded: n.Succeeded, Failed: failed, Skipped: n.Skipped})
			key := hourOfGroup{hourOf(from), n.JobGroup}
			hours[key] = hours[key].plus(tally{stateRunning: n.Running, stateSucceeded: n.Succeeded, stateFailed: failed, stateSkipped: n.Skipped})
		}
		from = to
		switch took := time.Since(began); {
		case took > 2*recountStep:
			slice = max(slice/2, recountMinSlice).Truncate(time.Second)
		case took < recountStep/2:
			slice = min(2*slice, recountMaxSlice)
		}
		if len(groups) > 0 {
			if err := rest(ctx, restAfter(time.Since(began))); err != nil {
				return d, nil, err
			}
		}
	}
	return d, hours, nil
}
