package alarm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	watchPage = 500
	// searchPages bounds the search for a job's last success: a job that fails every second for a day is 87 of these.
	searchPages = 200
)

// watch remembers what the last looks have shown, used by Run only. Every admin watches everything: the key of an event
// lets one of them write it.
type watch struct {
	told map[int64]struct{} // slow runs that were told and are still open
	next map[int64]expected // by job
	due  map[int64]due      // by job
}

// expected is what is known of a job's successes.
type expected struct {
	finished int64 // when the last of them ended, epoch ms
	settled  int64 // the runs up to this one are counted in, and none of them comes to another end
	top      int64 // the newest run at the last look through all: one with a lower id may have come since
}

func (w *watch) init() {
	w.told, w.next, w.due = make(map[int64]struct{}), make(map[int64]expected), make(map[int64]due)
}

// watchOnce looks for what nothing makes happen: runs that take long, jobs without success or not done in time, and successes that were not
// seen to end an alarm because another admin had not heard of it yet.
func (a *Alarmer) watchOnce(ctx context.Context, now time.Time) error {
	looks := []struct {
		what string
		look func(context.Context, time.Time) error
	}{{"messages of admins that are gone", a.freeLeases}, {"open alarms", a.watchOpen}, {"slow runs", a.watchSlow}, {"silent jobs", a.watchSilent}, {"deadlines", a.watchDeadlines}}
	if !a.Wanted(scheduler.AlarmSlow, 0) {
		looks = looks[:2] // an alarm that somebody looks after ends also where nobody listens
	}
	var errs error
	for _, l := range looks { // one that fails keeps none of the others from theirs
		if err := l.look(ctx, now); err != nil {
			errs = errors.Join(errs, fmt.Errorf("%s: %w", l.what, err))
		}
	}
	a.Wake()
	return errs
}

// watchSlow raises an event for each open run that takes longer than its job allows, once.
func (a *Alarmer) watchSlow(ctx context.Context, now time.Time) (err error) {
	still := make(map[int64]struct{})
	for ids := range slices.Chunk(a.cfg.Open(), db.MaxBatch) {
		rows, failed := a.queries.ListSlowRuns(ctx, a.cfg.Pool, db.ListSlowRunsParams{Ids: ids, NowMs: now.UnixMilli()})
		if failed != nil {
			return errors.Join(err, failed)
		}
		for _, r := range rows {
			if _, told := a.watch.told[r.ID]; told {
				still[r.ID] = struct{}{}
				continue
			}
			by, limit := now.Sub(time.UnixMilli(r.SentAt)).Round(time.Second), time.Duration(r.WarnAfterSeconds)*time.Second
			what := event.New(now, event.Longer, by, limit)
			if r.ExecutorAddress != "" {
				what = event.New(now, event.Overdue, by, limit, string(r.ExecutorAddress))
			}
			failed := a.once(ctx, fmt.Sprintf("slow:%d", r.ID), scheduler.AlarmEvent{
				JobID: r.JobID, GroupID: r.JobGroup, LogID: r.ID, Cause: scheduler.AlarmSlow, Planned: r.PlannedAt, At: now, Events: event.List{what},
			})
			if failed == nil {
				still[r.ID] = struct{}{}
			}
			if err = errors.Join(err, failed); !goesOn(ctx, failed) {
				return err
			}
		}
	}
	a.watch.told = still
	return err
}

// goesOn reports whether there is a point in doing the next thing after one that failed: a row that the database refuses keeps nothing of the others.
func goesOn(ctx context.Context, err error) bool { return ctx.Err() == nil && !db.IsUnavailable(err) }

// watchSilent raises an event for each started job that has had no success for as long as it says. The clock begins at the
// last success, or at the last change of the job if that is later: starting a job is such a change. A pause is no silence, nor are
// days that the job's calendar keeps it from.
func (a *Alarmer) watchSilent(ctx context.Context, now time.Time) (err error) {
	next := make(map[int64]expected)
	pauses := knownPauses{a: a, now: now}
	for after := int64(0); ; {
		jobs, failed := a.queries.ListExpectedJobs(ctx, a.cfg.Pool, db.ListExpectedJobsParams{Beside: a.cfg.Pool.BesideArg(), AfterID: after, Limit: watchPage})
		if failed != nil {
			return errors.Join(err, failed)
		}
		for i := range jobs {
			after = jobs[i].ID
			known, failed := a.lookAtSilence(ctx, &jobs[i], &pauses, now)
			next[after] = known
			if err = errors.Join(err, failed); !goesOn(ctx, failed) {
				return err
			}
		}
		if len(jobs) < watchPage {
			a.watch.next = next
			return err
		}
	}
}

// lookAtSilence is watchSilent for one job. It gives what is known of its successes.
func (a *Alarmer) lookAtSilence(ctx context.Context, j *db.ListExpectedJobsRow, pauses *knownPauses, now time.Time) (known expected, err error) {
	known = a.watch.next[j.ID]
	since := known.finished
	if j.UpdateTime.Valid {
		since = max(since, a.cfg.Pool.FromWall(j.UpdateTime.Time).UnixMilli())
	}
	allowed := j.ExpectEverySeconds * 1000
	if now.UnixMilli()-since >= allowed {
		if known, err = a.lastSuccess(ctx, j.ID, known, since, allowed, now); err != nil {
			return known, err
		}
		since = max(since, known.finished)
	}
	if now.UnixMilli()-since < allowed {
		return known, nil
	}
	longer, ends := a.putOff(j, time.UnixMilli(since))
	if ends || now.UnixMilli()-since < allowed+longer.Milliseconds() {
		return known, nil
	}
	if paused, err := pauses.excuse(ctx, j, longer, time.UnixMilli(since)); err != nil || paused {
		return known, err
	}
	return known, a.once(ctx, fmt.Sprintf("silent:%d:%d", j.ID, since), scheduler.AlarmEvent{
		JobID: j.ID, GroupID: j.JobGroup, Cause: scheduler.AlarmSilent, At: now,
		Events: event.List{event.New(now, event.NoSuccess, since, time.Duration(allowed)*time.Millisecond)},
	})
}

// putOff is by how much the calendar of a job has its next due time after a moment come later than its schedule alone: so much later its
// next success is expected, and before that there is nothing to succeed. ends says that the calendar leaves none at all.
func (a *Alarmer) putOff(j *db.ListExpectedJobsRow, since time.Time) (longer time.Duration, ends bool) {
	if j.Calendar == "" {
		return 0, false
	}
	spec := jobspec.Job{ScheduleType: j.ScheduleType, ScheduleConf: string(j.ScheduleConf), Zone: j.TimeZone, Start: j.StartAt, End: j.EndAt,
		Calendar: j.Calendar, CalendarRule: jobspec.CalendarRule(j.CalendarRule)}
	with, err := a.cfg.Pool.ScheduleOf(&spec)
	if err != nil {
		return 0, false // the claim says what cannot be read
	}
	alone := with
	alone.Calendar = nil
	due, err := with.Next(since)
	usual, unread := alone.Next(since)
	if err != nil || unread != nil || usual.IsZero() {
		return 0, false
	}
	return max(0, due.Sub(usual)), due.IsZero()
}

// knownPauses are the pauses as one look reads them, if anything is silent at all.
type knownPauses struct {
	a    *Alarmer
	now  time.Time
	read bool
	book jobspec.PauseBook
}

// excuse reports whether a job without success for too long is excused by pauses: it is in one, or the time since the last one was
// not long enough. Twice the time outside pauses is enough in any case, so that windows that come often excuse nothing for ever.
func (k *knownPauses) excuse(ctx context.Context, j *db.ListExpectedJobsRow, longer time.Duration, since time.Time) (bool, error) {
	of, err := k.of(ctx, j.ID, j.JobGroup, j.Tags)
	if err != nil || len(of) == 0 {
		return false, err
	}
	if _, in := of.At(k.now); in {
		return true, nil
	}
	allowed := time.Duration(j.ExpectEverySeconds)*time.Second + longer
	all, last := of.Running(since, k.now)
	return last < allowed && all < 2*allowed, nil
}

// of are the pauses of a job.
func (k *knownPauses) of(ctx context.Context, job, group int64, tags string) (jobspec.Pauses, error) {
	if !k.read {
		book, err := db.ReadPauses(ctx, k.a.cfg.Pool, k.now)
		if err != nil {
			return nil, err
		}
		k.book, k.read = book, true
	}
	return k.book.Of(job, group, tags), nil
}

// lastSuccess looks for the success of a job that ended last: not the newest run's, since one that began before may go on for longer. It reads
// back to where no run can have ended since the last look, or runs are too old to matter. A job that does well, with a success after a moment, is
// found on the first page.
func (a *Alarmer) lastSuccess(ctx context.Context, jobID int64, known expected, since, allowed int64, now time.Time) (expected, error) {
	const pageSize = 500
	found, open := known, int64(math.MaxInt64)
	page := db.ListRecentRunsOfJobParams{JobID: jobID, AboveID: known.settled, BelowID: 1 << 62, Limit: pageSize}
	for range searchPages {
		rows, err := a.queries.ListRecentRunsOfJob(ctx, a.cfg.Pool, page)
		if err != nil {
			return known, err
		}
		for i := range rows {
			r := &rows[i]
			page.BelowID, found.top = r.ID, max(found.top, r.ID)
			if mayStillSucceed(r) {
				open = r.ID
			}
			if r.HandleCode == wire.CodeSuccess {
				found.finished = max(found.finished, a.finishedAt(r))
			}
			if now.UnixMilli()-found.finished < allowed {
				known.finished = found.finished
				return known, nil // what is below has not been looked at
			}
			if r.PlannedAt > 0 && r.PlannedAt < since-allowed-dayMillis {
				rows = nil
				break
			}
		}
		if len(rows) < pageSize {
			break
		}
	}
	found.settled = max(known.settled, min(open-1, known.top))
	return found, nil
}

// mayStillSucceed reports whether a run may come to a success that it has not now: it goes on, or was given up, which its executor may contradict.
func mayStillSucceed(r *db.ListRecentRunsOfJobRow) bool {
	switch r.Outcome {
	case event.Open:
		return r.HandleCode == 0 && (r.TriggerCode == 0 || r.TriggerCode == wire.CodeSuccess)
	case event.Lost, event.Unconfirmed:
		return r.HandleCode != wire.CodeSuccess
	case event.Succeeded, event.Failed, event.TimedOut, event.NotSent, event.Killed, event.Skipped, event.Discarded, event.Stopped, event.Cancelled:
	}
	return false
}

// finishedAt is when a run ended, epoch ms; 0: it has not.
func (a *Alarmer) finishedAt(r *db.ListRecentRunsOfJobRow) int64 {
	if r.FinishedAt == 0 && r.HandleTime.Valid { // a row of upstream's
		return a.cfg.Pool.FromWall(r.HandleTime.Time).UnixMilli()
	}
	return r.FinishedAt
}

const dayMillis = 24 * 60 * 60 * 1000

// watchOpen looks for successes that should have closed an alarm. The engine of the admin that got the result raises the
// recovery when it knows of the alarm; it may not have known yet.
func (a *Alarmer) watchOpen(ctx context.Context, now time.Time) (err error) {
	after := db.ListOpenAlarmsParams{Limit: watchPage}
	for {
		states, failed := a.queries.ListOpenAlarms(ctx, a.cfg.Pool, after)
		if failed != nil {
			return errors.Join(err, failed)
		}
		for i := range states {
			after.AfterJob, after.AfterCause = states[i].JobID, states[i].Cause
			failed := a.watchRecovery(ctx, &states[i], now)
			if err = errors.Join(err, failed); !goesOn(ctx, failed) {
				return err
			}
		}
		if len(states) < watchPage {
			return err
		}
	}
}

// watchRecovery raises the recovery of an open alarm if a success should have closed it.
func (a *Alarmer) watchRecovery(ctx context.Context, s *db.ListOpenAlarmsRow, now time.Time) error {
	rows, err := a.queries.ListRecentRunsOfJob(ctx, a.cfg.Pool, db.ListRecentRunsOfJobParams{
		JobID: s.JobID, AboveID: s.LastLogID, BelowID: int64(1) << 62, Limit: 50,
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	failed, err := a.failedAt(ctx, s)
	if err != nil {
		return err
	}
	for _, r := range rows {
		// Settled for a while, so that the engine's own event has had its time.
		if r.HandleCode != wire.CodeSuccess || r.FinishedAt < failed || r.FinishedAt > now.Add(-justRaised).UnixMilli() || r.PlannedAt <= s.LastPlanned ||
			ofEarlier(s.Cause, s.LastPlanned, r.PlannedFor) {
			continue
		}
		return a.once(ctx, fmt.Sprintf("recovered:%d:%d", s.JobID, s.OpenedAt), scheduler.AlarmEvent{
			JobID: s.JobID, GroupID: r.JobGroup, LogID: r.ID, Cause: scheduler.AlarmRecovered, Planned: r.PlannedAt, At: now,
		})
	}
	return nil
}

// failedAt is what a success must not come before to end an open alarm: its opening, or the end of the run that it tells of last, where an executor
// reported that only later.
func (a *Alarmer) failedAt(ctx context.Context, s *db.ListOpenAlarmsRow) (int64, error) {
	rows, err := a.queries.ListRecentRunsOfJob(ctx, a.cfg.Pool, db.ListRecentRunsOfJobParams{
		JobID: s.JobID, AboveID: s.LastLogID - 1, BelowID: s.LastLogID + 1, Limit: 1,
	})
	if err != nil || len(rows) == 0 || rows[0].FinishedAt == 0 {
		return s.OpenedAt, err
	}
	return min(s.OpenedAt, rows[0].FinishedAt), nil
}

// once raises an event that other admins may notice too.
func (a *Alarmer) once(ctx context.Context, key string, e scheduler.AlarmEvent) error {
	n, err := a.queries.InsertAlarmEventOnce(ctx, a.cfg.Pool, db.InsertAlarmEventOnceParams{
		JobID: e.JobID, JobGroup: e.GroupID, LogID: e.LogID, Cause: string(e.Cause), PlannedAt: e.Planned, RaisedAt: e.At.UnixMilli(),
		Detail: bothEnds(e.Text), Events: db.Text(e.Events.Stored()), OnceKey: db.Text(key),
	})
	if n > 0 {
		a.metrics.events.WithLabelValues(string(e.Cause)).Inc()
	}
	return err
}
