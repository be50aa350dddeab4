package alarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/deadline"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// due is what is remembered of a job with a deadline between two looks: finding its fires takes some sixty steps of its schedule.
type due struct {
	of              dueKey
	last, following jobspec.Deadline
	settled         time.Time // deadlines up to this one need no more looks: told, or done
}

// dueKey is what a job's deadlines follow from.
type dueKey struct {
	schedule jobspec.Schedule
	clock    jobspec.Clock
	next     int64 // of a fixed rate
}

// watchDeadlines raises an event for each planned fire that will probably not be done in time, or is not, once.
func (a *Alarmer) watchDeadlines(ctx context.Context, now time.Time) (err error) {
	known := make(map[int64]due)
	pauses := knownPauses{a: a, now: now}
	since := now.Add(-2 * dayMillis * time.Millisecond).UnixMilli()
	for after := int64(0); ; {
		jobs, failed := a.queries.ListDeadlineJobs(ctx, a.cfg.Pool, db.ListDeadlineJobsParams{
			AfterID: after, Beside: a.cfg.Pool.BesideArg(), SinceMs: since, Limit: watchPage,
		})
		if failed != nil {
			return errors.Join(err, failed)
		}
		for i := range jobs {
			after = jobs[i].ID
			j, ok := a.deadlineJob(&jobs[i])
			if !ok {
				continue // the claim says what cannot be read
			}
			d, unread := a.watch.due[j.ID].at(&j, now)
			if unread != nil {
				continue
			}
			failed := a.lookAtDeadlines(ctx, &jobs[i], &j, &d, &pauses, now)
			known[j.ID] = d
			if err = errors.Join(err, failed); !goesOn(ctx, failed) {
				return err
			}
		}
		if len(jobs) < watchPage {
			a.watch.due = known
			return err
		}
	}
}

// lookAtDeadlines is watchDeadlines for one job.
func (a *Alarmer) lookAtDeadlines(ctx context.Context, row *db.ListDeadlineJobsRow, j *deadline.Job, d *due, pauses *knownPauses, now time.Time) (err error) {
	reader := deadline.Reader{Pool: a.cfg.Pool, Queries: a.queries}
	for _, this := range []jobspec.Deadline{d.last, d.following} {
		if this.Fire.IsZero() || now.Before(this.Fire) || !this.By.After(d.settled) {
			continue
		}
		if j.Pauses, err = pauses.of(ctx, j.ID, row.JobGroup, row.Tags); err != nil {
			return err
		}
		s, err := reader.Standing(ctx, j, this, now)
		if err != nil {
			return err
		}
		if s.State.Warns() {
			if err := a.tellDeadline(ctx, row, s, now); err != nil {
				return err
			}
		}
		if s.State.Warns() || s.State == deadline.Done || s.State == deadline.Late {
			d.settled = this.By
		}
	}
	return nil
}

// tellDeadline raises the event of a deadline; its key is the deadline, so that a day has one.
func (a *Alarmer) tellDeadline(ctx context.Context, j *db.ListDeadlineJobsRow, s deadline.Standing, now time.Time) error {
	what := event.New(now, event.NotDone, s.By)
	if s.State == deadline.AtRisk {
		what = event.New(now, event.DueBy, s.By, s.Expected, s.Usual)
	}
	// Planned as if a moment before the fire: a success of the fire itself ends the alarm, or of a later one, and that of an earlier does not.
	return a.once(ctx, fmt.Sprintf("deadline:%d:%d", j.ID, s.By.UnixMilli()), scheduler.AlarmEvent{
		JobID: j.ID, GroupID: j.JobGroup, LogID: s.Run, Cause: scheduler.AlarmDeadline, Planned: s.Fire.UnixMilli() - 1, At: now, Events: event.List{what},
	})
}

// at are the deadlines about a moment; those of the last look, while nothing they follow from has changed.
func (d due) at(j *deadline.Job, now time.Time) (due, error) {
	key := dueKey{schedule: j.Schedule, clock: j.Clock}
	if j.Schedule.Type == jobspec.ScheduleFixRate {
		key.next = j.Next.UnixMilli()
	}
	if d.of == key && !now.Before(d.last.By) && now.Before(d.following.By) {
		return d, nil
	}
	if d.of.schedule != key.schedule || d.of.clock != key.clock {
		d.settled = time.Time{}
	}
	var err error
	d.of = key
	d.last, d.following, err = j.Schedule.Deadlines(j.Clock, j.Next, now)
	return d, err
}

// deadlineJob is a row as its deadlines are judged by; ok is false for one whose schedule cannot be read.
func (a *Alarmer) deadlineJob(row *db.ListDeadlineJobsRow) (j deadline.Job, ok bool) {
	pool := a.cfg.Pool
	j = deadline.Job{ID: row.ID, Next: db.Undecided(row.TriggerNextTime, row.PausedAt, row.PausedNext), Started: jobspec.Started(row.TriggerStatus)}
	if j.Clock, ok = jobspec.ParseClock(row.DoneBy); !ok {
		return j, false
	}
	if row.UpdateTime.Valid {
		j.Changed = pool.FromWall(row.UpdateTime.Time)
	}
	spec := jobspec.Job{ScheduleType: row.ScheduleType, ScheduleConf: string(row.ScheduleConf), Zone: row.TimeZone, Start: row.StartAt, End: row.EndAt,
		Calendar: row.Calendar, CalendarRule: jobspec.CalendarRule(row.CalendarRule)}
	var err error
	j.Schedule, err = pool.ScheduleOf(&spec)
	return j, err == nil
}
