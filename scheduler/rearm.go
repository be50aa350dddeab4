package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// siblings is how far the ids of a broadcast's shards, inserted by one statement, can be apart.
const siblings = 5000

// rearm sets the next time of a FIX_DELAY job: its delay after now, the end of the run with the given id, unless another
// run of the same fire is still open. A fire that was triggered by hand in between is left out of account: only a job that
// waits is set.
func (e *Engine) rearm(ctx context.Context, tx db.DBTX, s jobspec.Schedule, jobID, endedRun int64) error {
	open, err := e.queries.CountOpenRuns(ctx, tx, db.CountOpenRunsParams{LowID: endedRun - siblings, JobID: jobID})
	if err != nil || open > 0 {
		return err
	}
	next, err := s.Next(e.now())
	if err != nil {
		e.log.Warn("the delay of a job cannot be read", "job_id", jobID, "error", err)
		return nil
	}
	if next.IsZero() {
		next = e.now() // its window is over: the next claim finds it so and stops it
	}
	_, err = e.queries.RearmJob(ctx, tx, db.RearmJobParams{Beside: e.cfg.Pool.BesideArg(), ID: jobID, NextTime: next.UnixMilli(), Waiting: jobspec.Waiting.UnixMilli()})
	return err
}

// waitingEvery is how often jobs that wait for a run are looked after.
const waitingEvery = 30 * time.Second

// sweepWaiting sets the next times that events did not: of jobs whose run was deleted, or ended while nobody could write.
func (e *Engine) sweepWaiting(ctx context.Context, s *sweeper, now time.Time) (err error) {
	if now.Sub(s.waited) < waitingEvery {
		return nil
	}
	s.waited = now
	for hidden := e.cfg.Pool.BesideArg(); hidden <= 1; hidden++ {
		failed := e.sweepWaitingWith(ctx, hidden, s.low)
		if err = errors.Join(err, failed); !goesOn(ctx, failed) {
			return err
		}
	}
	return err
}

// sweepWaitingWith does so with the jobs of one of the statuses that started jobs have (db/due.go).
func (e *Engine) sweepWaitingWith(ctx context.Context, hidden, low int64) (err error) {
	var after int64
	for {
		jobs, failed := e.queries.ListWaitingJobs(ctx, e.cfg.Pool, db.ListWaitingJobsParams{Hidden: hidden, Waiting: jobspec.Waiting.UnixMilli(), AfterID: after})
		if failed != nil || len(jobs) == 0 {
			return errors.Join(err, failed)
		}
		for _, j := range jobs {
			after = j.ID
			s, wrong := e.scheduleOf(j.ScheduleType, string(j.ScheduleConf), j.TimeZone, j.StartAt, j.EndAt, j.Calendar, j.CalendarRule)
			if wrong != nil {
				e.log.Warn("the delay of a job cannot be read", "job_id", j.ID, "error", wrong)
				continue
			}
			failed := e.rearm(ctx, e.cfg.Pool, s, j.ID, low+siblings)
			if err = errors.Join(err, failed); !goesOn(ctx, failed) {
				return err
			}
		}
	}
}

// scheduleOf is when a job is due, in its own zone and window and by its calendar.
func (e *Engine) scheduleOf(t jobspec.ScheduleType, conf, zone string, start, end int64, calendar, rule string) (jobspec.Schedule, error) {
	s := jobspec.Schedule{Type: t, Conf: conf, Zone: e.cfg.JobZone, Start: db.Instant(start), End: db.Instant(end)}
	loc, err := jobspec.Location(zone)
	if err != nil {
		return s, err
	}
	if loc != nil {
		s.Zone = loc
	}
	return e.cfg.Pool.Calendars().Keep(s, calendar, rule)
}
