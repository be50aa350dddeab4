package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
)

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

// Recount counts the runs of a day anew and corrects its counters and those of its hours. They drift only when an admin dies
// between a commit and the next flush, or when a Java admin works on the same database, and overwrites them.
//
// A node's flush cannot be told from the recount's own view of the rows, so a correction is written only if nobody changed the
// counters from before the count until every node has had time to flush what it saw of it. When fewer runs are found than
// were counted, runs have been deleted, and the counters, which are to survive that, keep all but the number of open runs.
func (s *Service) Recount(ctx context.Context, day time.Time) error {
	at := nullTime(day)
	for range recountTries {
		if err := s.Flush(ctx); err != nil {
			return err
		}
		before, err := s.queries.GetReport(ctx, s.cfg.Pool, at)
		missing := errors.Is(db.Error(err), db.ErrNotFound)
		if err != nil && !missing {
			return err
		}
		stored, err := s.storedHours(ctx, day, day.AddDate(0, 0, 1))
		if err != nil {
			return err
		}
		found, tried, hours, err := s.count(ctx, day, day.AddDate(0, 0, 1))
		if err != nil {
			return err
		}
		if missing {
			if found.Total() == 0 && len(stored) == 0 {
				return nil
			}
			if err := s.queries.InsertReport(ctx, s.cfg.Pool, db.InsertReportParams{TriggerDay: at, UpdateTime: nullTime(s.wall(s.cfg.Now()))}); err != nil {
				return err
			}
		}
		counted := Day{Date: day, Running: before.RunningCount, Succeeded: before.SucCount, Failed: before.FailCount, Skipped: before.SkipCount}
		if found.Total() < counted.Total() && !found.tally().countedByAttempts(counted.tally(), tried.sum()) {
			found.Succeeded, found.Failed, found.Skipped = counted.Succeeded, counted.Failed, counted.Skipped
		}
		wrong := wrongHours(stored, hours, tried)
		if found == counted && len(wrong) == 0 {
			return nil
		}
		if err := s.rest(ctx, 2*s.cfg.ReportEvery); err != nil {
			return err
		}
		if err := s.Flush(ctx); err != nil {
			return err
		}
		n, err := s.correct(ctx, at, counted, found, wrong)
		if err != nil {
			return err
		}
		if n > 0 {
			s.log.Info("corrected the counters of a day", "day", day.Format(time.DateOnly),
				"running", found.Running, "succeeded", found.Succeeded, "failed", found.Failed,
				"was_running", counted.Running, "was_succeeded", counted.Succeeded, "was_failed", counted.Failed,
				"skipped", found.Skipped, "was_skipped", counted.Skipped, "hours", len(wrong))
			return nil
		}
	}
	return errBusyDay
}

// RecountHour counts the runs planned in an hour anew, and corrects its counters and by as much those of its day. It does so also while other
// hours of the day change, as they do all the time where runs are many, so that what a killed admin has not written is missing for an hour and
// not for a day. A group's hour that changes meanwhile is left to the night.
func (s *Service) RecountHour(ctx context.Context, hour time.Time) error {
	if err := s.Flush(ctx); err != nil {
		return err
	}
	end := hour.Add(time.Hour)
	stored, err := s.storedHours(ctx, hour, end)
	if err != nil {
		return err
	}
	var counted int64
	for _, t := range stored {
		counted += t.total()
	}
	if counted > recountSoonMax {
		return nil
	}
	_, tried, hours, err := s.count(ctx, hour, end)
	if err != nil {
		return err
	}
	wrong := wrongHours(stored, hours, tried)
	if len(wrong) == 0 {
		return nil
	}
	if err := s.rest(ctx, 2*s.cfg.ReportEvery); err != nil {
		return err
	}
	if err := s.Flush(ctx); err != nil {
		return err
	}
	for _, key := range slices.SortedFunc(maps.Keys(wrong), hourOfGroup.compare) {
		if err := s.correctHour(ctx, key, stored[key], wrong[key]); err != nil {
			return err
		}
	}
	return nil
}

// correctHour writes the recount of a group's hour unless its counters have changed. One in which nothing was counted has none, and is left to the night.
func (s *Service) correctHour(ctx context.Context, key hourOfGroup, counted, found tally) error {
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := s.queries.CorrectHour(ctx, tx, db.CorrectHourParams{
			Running: found[StateRunning], Succeeded: found[StateSucceeded], Failed: found[StateFailed], Skipped: found[StateSkipped], GroupID: key.group, HourAt: key.hour,
			OldRunning: counted[StateRunning], OldSucceeded: counted[StateSucceeded], OldFailed: counted[StateFailed], OldSkipped: counted[StateSkipped],
		})
		if err != nil || n == 0 || s.cfg.Pool.Beside() { // XXL-JOB admins count the days
			return err
		}
		s.log.Info("corrected the counters of an hour", "hour", time.Unix(key.hour, 0).UTC().Format(time.DateTime), "group", key.group,
			"running", found[StateRunning], "succeeded", found[StateSucceeded], "failed", found[StateFailed], "skipped", found[StateSkipped],
			"was_running", counted[StateRunning], "was_succeeded", counted[StateSucceeded], "was_failed", counted[StateFailed], "was_skipped", counted[StateSkipped])
		return s.addToDay(ctx, tx, key.hour-key.hour%86_400, found.minus(counted))
	})
}

// countedByAttempts says that counters hold every attempt that failed, and skipped runs among the failures: so an XXL-JOB admin counts,
// which leaves the column of the skipped ones as it is, and so we did before.
func (t tally) countedByAttempts(counters tally, attempts int64) bool {
	return counters[StateRunning] == t[StateRunning] && counters[StateSucceeded] == t[StateSucceeded] &&
		counters[StateFailed] == t[StateFailed]+t[StateSkipped]+attempts && (counters[StateSkipped] == t[StateSkipped] || counters[StateSkipped] == 0)
}

func (d Day) tally() tally {
	return tally{StateRunning: d.Running, StateSucceeded: d.Succeeded, StateFailed: d.Failed, StateSkipped: d.Skipped}
}

// correct writes a recount unless the day's counters have changed. Whoever changes an hour's changes its day's with them, but
// for what cancels out within a day; the next recount finds that.
func (s *Service) correct(ctx context.Context, at sql.NullTime, counted, found Day, wrong map[hourOfGroup]tally) (n int64, err error) {
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err = s.queries.SetReport(ctx, tx, db.SetReportParams{
			Running: found.Running, Succeeded: found.Succeeded, Failed: found.Failed, Skipped: found.Skipped, UpdateTime: nullTime(s.wall(s.cfg.Now())), Day: at,
			OldRunning: counted.Running, OldSucceeded: counted.Succeeded, OldFailed: counted.Failed, OldSkipped: counted.Skipped,
		})
		if err != nil || n == 0 {
			return err
		}
		for _, key := range slices.SortedFunc(maps.Keys(wrong), hourOfGroup.compare) {
			t := wrong[key]
			if err := s.queries.SetHour(ctx, tx, db.SetHourParams{
				GroupID: key.group, HourAt: key.hour, RunningCount: t[StateRunning], SucCount: t[StateSucceeded], FailCount: t[StateFailed],
				SkipCount: t[StateSkipped],
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// storedHours are the counters of hours.
func (s *Service) storedHours(ctx context.Context, from, to time.Time) (map[hourOfGroup]tally, error) {
	rows, err := s.queries.ListHours(ctx, s.cfg.Pool, db.ListHoursParams{FromHour: from.Unix(), ToHour: to.Unix()})
	if err != nil {
		return nil, err
	}
	hours := make(map[hourOfGroup]tally, len(rows))
	for _, r := range rows {
		hours[hourOfGroup{r.HourAt, r.GroupID}] = tally{StateRunning: r.RunningCount, StateSucceeded: r.SucCount, StateFailed: r.FailCount, StateSkipped: r.SkipCount}
	}
	return hours, nil
}

// wrongHours are what the counters should be, of those that are something else. Runs that were deleted stay counted, as in
// the day's counters.
func wrongHours(stored, found map[hourOfGroup]tally, attempts attempts) map[hourOfGroup]tally {
	wrong := make(map[hourOfGroup]tally)
	for key, have := range stored {
		want := found[key]
		if want.total() < have.total() && !want.countedByAttempts(have, attempts[key]) {
			want[StateSucceeded], want[StateFailed], want[StateSkipped] = have[StateSucceeded], have[StateFailed], have[StateSkipped]
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

// attempts are the runs that are no more than an attempt of a fire.
type attempts map[hourOfGroup]int64

func (a attempts) sum() (n int64) {
	for _, of := range a {
		n += of
	}
	return n
}

func (t tally) total() int64 {
	return t[StateRunning] + t[StateSucceeded] + t[StateFailed] + t[StateSkipped]
}

// count counts the fires of a stretch of whole hours, and beside them the runs that are no more than an attempt of one, by the index on the planned time, in slices that are short enough to disturb nobody and
// never reach over an hour's end.
func (s *Service) count(ctx context.Context, from, end time.Time) (d Day, tried attempts, hours map[hourOfGroup]tally, err error) {
	d, tried, hours = Day{Date: from}, make(attempts), make(map[hourOfGroup]tally)
	for slice := time.Minute; from.Before(end); {
		to := from.Add(slice)
		if next := from.Truncate(time.Hour).Add(time.Hour); to.After(next) {
			to = next
		}
		began := time.Now()
		groups, err := s.queries.CountRunsOfGroups(ctx, s.cfg.Pool, db.CountRunsOfGroupsParams{FromTime: nullTime(from), ToTime: nullTime(to)})
		if err != nil {
			return d, nil, nil, err
		}
		for _, n := range groups {
			failed := n.Total - n.Running - n.Succeeded - n.Skipped - n.Attempts
			key := hourOfGroup{HourOf(from), n.JobGroup}
			tried[key] += n.Attempts
			if n.Attempts == n.Total {
				continue
			}
			d.Add(Day{Running: n.Running, Succeeded: n.Succeeded, Failed: failed, Skipped: n.Skipped})
			hours[key] = hours[key].plus(tally{StateRunning: n.Running, StateSucceeded: n.Succeeded, StateFailed: failed, StateSkipped: n.Skipped})
		}
		from = to
		switch took := time.Since(began); {
		case took > 2*recountStep:
			slice = max(slice/2, recountMinSlice).Truncate(time.Second)
		case took < recountStep/2:
			slice = min(2*slice, recountMaxSlice)
		}
		if len(groups) > 0 {
			if err := Rest(ctx, restAfter(time.Since(began))); err != nil {
				return d, nil, nil, err
			}
		}
	}
	return d, tried, hours, nil
}
