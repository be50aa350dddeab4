package manage

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/deadline"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runtimes"
)

// Deadline is how a job stands for the time of day by which it has to be done: for the coming deadline, or for the last one while that is
// missed. ok is false for a job without one. The job must be one the principal may see.
func (s *Jobs) Deadline(ctx context.Context, j *db.ListJobsRow, held *Held) (standing deadline.Standing, ok bool, err error) {
	return s.standing(ctx, deadline.Reader{Pool: s.cfg.Pool, Queries: s.queries}, j, held)
}

// Deadlines is [Jobs.Deadline] for those jobs of a list that have one.
func (s *Jobs) Deadlines(ctx context.Context, rows []db.ListJobsRow, held *Held) (map[int64]deadline.Standing, error) {
	var list map[int64]deadline.Standing
	reader := deadline.Reader{Pool: s.cfg.Pool, Queries: s.queries, Usual: s.usual.of}
	for i := range rows {
		standing, ok, err := s.standing(ctx, reader, &rows[i], held)
		if err != nil {
			return nil, err
		}
		if ok && list == nil {
			list = make(map[int64]deadline.Standing)
		}
		if ok {
			list[rows[i].ID] = standing
		}
	}
	return list, nil
}

func (s *Jobs) standing(ctx context.Context, reader deadline.Reader, j *db.ListJobsRow, held *Held) (standing deadline.Standing, ok bool, err error) {
	job, last, following, ok := s.deadlines(j, held)
	if !ok {
		return standing, false, nil
	}
	standing, err = reader.Standing(ctx, job, last, held.now)
	if err == nil && standing.State != deadline.Missed {
		standing, err = reader.Standing(ctx, job, following, held.now)
	}
	if err != nil {
		return standing, false, fmt.Errorf("read the deadline of job %d: %w", j.ID, err)
	}
	return standing, true, nil
}

// daysAhead is how far a deadline with a fire before it is looked for: a job of working days has none on some.
const daysAhead = 8

// TooTight says that a definition's next deadline comes sooner after its fire than the job usually needs: it is known before the job is
// saved. ok is false where there is time, no deadline, or no run that tells. A job that is not there yet is 0; else it must be one the
// principal may see.
func (s *Jobs) TooTight(ctx context.Context, p auth.Principal, jobID int64, spec jobspec.Job) (standing deadline.Standing, ok bool, err error) {
	clock, ok := jobspec.ParseClock(spec.DoneBy)
	if !ok || jobID == 0 {
		return standing, false, nil
	}
	if _, err := s.Get(ctx, p, jobID); err != nil {
		return standing, false, err
	}
	schedule, err := s.scheduleOf(spec)
	if err != nil {
		return standing, false, nil //nolint:nilerr // the form says what is wrong with it
	}
	now := s.cfg.Now()
	var next jobspec.Deadline
	for at, day := now, 0; next.Fire.IsZero() || next.Fire.Before(now); day++ {
		if day == daysAhead {
			return standing, false, nil
		}
		// What has a beat of its own has it from its start on, which may be still to come.
		if _, next, err = schedule.Deadlines(clock, time.Time{}, at); err != nil {
			return standing, false, nil //nolint:nilerr // as above
		}
		at = next.By
	}
	usual, err := runtimes.Of(ctx, s.queries, s.cfg.Pool, jobID)
	if err != nil {
		return standing, false, err
	}
	standing = deadline.Judge(next, now, nil, usual)
	return standing, standing.Expected.After(standing.By), nil
}

// DeadlineOfRun is the moment by which the planned fire that a run came of has to be done; ok is false where it has none.
func (s *Jobs) DeadlineOfRun(j db.Job, r db.Run) (by time.Time, ok bool) {
	due := r.PlannedAt
	if r.PlannedFor > 0 {
		due = r.PlannedFor
	}
	clock, ok := jobspec.ParseClock(j.DoneBy)
	if !ok || due == 0 {
		return by, false
	}
	schedule, err := s.scheduleOf(j.Spec())
	if err != nil {
		return by, false
	}
	by, ok, err = schedule.DeadlineOf(clock, db.Undecided(j.TriggerNextTime, j.PausedAt, j.PausedNext), time.UnixMilli(due))
	return by, ok && err == nil
}

// deadlines are the last deadline of a job and the coming one. One whose schedule cannot be read has none: its page says so.
func (s *Jobs) deadlines(j *db.ListJobsRow, held *Held) (job *deadline.Job, last, following jobspec.Deadline, ok bool) {
	clock, ok := jobspec.ParseClock(j.DoneBy)
	if !ok {
		return nil, last, following, false
	}
	schedule, err := s.scheduleOf(jobspec.Job{
		ScheduleType: j.ScheduleType, ScheduleConf: string(j.ScheduleConf), Zone: j.TimeZone, Start: j.StartAt, End: j.EndAt,
		Calendar: j.Calendar, CalendarRule: jobspec.CalendarRule(j.CalendarRule),
	})
	if err != nil {
		return nil, last, following, false
	}
	job = &deadline.Job{
		ID: j.ID, Schedule: schedule, Clock: clock, Next: db.Undecided(j.TriggerNextTime, j.PausedAt, j.PausedNext), Started: jobspec.Started(j.TriggerStatus),
		Pauses: held.book.Of(j.ID, j.JobGroup, j.Tags), Changed: s.cfg.Pool.InstantOf(j.UpdateTime),
	}
	last, following, err = schedule.Deadlines(clock, job.Next, held.now)
	return job, last, following, err == nil
}
