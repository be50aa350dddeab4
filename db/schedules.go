package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// ScheduleCause says why a job's schedule became what a row of its history says.
type ScheduleCause string

// The causes, as stored.
const (
	ScheduleCreated    ScheduleCause = "created"
	ScheduleEdited     ScheduleCause = "edited"
	ScheduleStarted    ScheduleCause = "started"
	ScheduleStopped    ScheduleCause = "stopped"
	ScheduleEnded      ScheduleCause = "ended"      // it has no time to come, so the engine stopped the job
	ScheduleUnreadable ScheduleCause = "unreadable" // it cannot be read, so the engine stopped the job
	ScheduleDeleted    ScheduleCause = "deleted"
	ScheduleNoticed    ScheduleCause = "noticed" // somebody else made the change, or there was no history yet
	ScheduleGone       ScheduleCause = "gone"    // somebody else deleted the job
)

// ErrMoved means that a job's next time or state moved between reading and changing it. Whoever meets it reads again.
var ErrMoved = errors.New("the job was moved meanwhile")

// Schedules changes what says when jobs are due, and writes each change into their history in the same transaction, so that
// it can be said later what was planned for a time. Nothing else in the program makes such a change: a test sees to it.
// What an XXL-JOB admin or somebody with SQL changes is found by [Schedules.Notice].
type Schedules struct {
	q    *Queries
	pool *Pool
	zone string
	now  func() time.Time
}

// NewSchedules makes one for a database. The zone is the installation's, in which jobs without a zone of their own are due.
func NewSchedules(pool *Pool, zone *time.Location, now func() time.Time) *Schedules {
	return &Schedules{q: New(), pool: pool, zone: zone.String(), now: now}
}

// Create inserts a job, which is stopped at first, and gives its id.
func (s *Schedules) Create(ctx context.Context, tx *sql.Tx, job InsertJobParams) (id int64, err error) {
	if id, err = s.q.InsertJob(ctx, tx, job); err != nil {
		return 0, err
	}
	if err := s.keepJobCron(ctx, tx, id); err != nil {
		return 0, err
	}
	return id, s.note(ctx, tx, ScheduleCreated, id, 0)
}

// Edit is [Queries.UpdateJob]; [ErrMoved] where the job is not as it was read any more.
func (s *Schedules) Edit(ctx context.Context, tx *sql.Tx, job UpdateJobParams) error {
	old, err := s.read(ctx, tx, job.ID)
	if err != nil {
		return err
	}
	n, err := s.q.UpdateJob(ctx, tx, job)
	if err == nil && n == 0 {
		err = ErrMoved
	}
	if err != nil {
		return err
	}
	claimed := job.OldNextTime
	if old.held() && old.TriggerNextTime == claimed {
		claimed = old.Claimed()
	}
	if err := s.keepJobCron(ctx, tx, job.ID); err != nil {
		return err
	}
	return s.note(ctx, tx, ScheduleEdited, job.ID, claimed)
}

// Start makes a stopped job due. It reports false when the job is started already or gone.
func (s *Schedules) Start(ctx context.Context, tx *sql.Tx, job StartJobParams) (bool, error) {
	job.Beside = s.pool.BesideArg()
	n, err := s.q.StartJob(ctx, tx, job)
	if err != nil || n == 0 {
		return false, err
	}
	return true, s.note(ctx, tx, ScheduleStarted, job.ID, 0)
}

// Stop stops a job. It reports false when the job is stopped already or gone; [ErrMoved] where it was claimed meanwhile.
func (s *Schedules) Stop(ctx context.Context, tx *sql.Tx, id int64, updated sql.NullTime) (bool, error) {
	j, err := s.read(ctx, tx, id)
	if err != nil || j.TriggerStatus <= s.pool.BesideArg() {
		return false, err
	}
	if err := s.stop(ctx, tx, id, j.TriggerNextTime, updated); err != nil {
		return false, err
	}
	return true, s.note(ctx, tx, ScheduleStopped, id, j.Claimed())
}

// Replan moves the next time of a job whose calendar has changed; false when somebody has claimed or changed the job meanwhile. Until that
// time, or the one before if it is sooner, the definition before was true.
func (s *Schedules) Replan(ctx context.Context, tx *sql.Tx, job ReplanJobParams) (bool, error) {
	job.Beside = s.pool.BesideArg()
	n, err := s.q.ReplanJob(ctx, tx, job)
	if err != nil || n == 0 {
		return false, err
	}
	return true, s.note(ctx, tx, ScheduleEdited, job.ID, min(job.OldNext, job.NextTime))
}

func (s *Schedules) stop(ctx context.Context, tx *sql.Tx, id, next int64, updated sql.NullTime) error {
	n, err := s.q.StopJob(ctx, tx, StopJobParams{ID: id, Beside: s.pool.BesideArg(), OldNextTime: next, UpdateTime: updated})
	if err == nil && n == 0 {
		err = ErrMoved
	}
	return err
}

// Delete deletes a job of a revision; [ErrMoved] where it was claimed, changed or deleted meanwhile.
func (s *Schedules) Delete(ctx context.Context, tx *sql.Tx, id, revision int64) error {
	j, err := s.read(ctx, tx, id)
	if err != nil {
		return err
	}
	if j.TriggerStatus > s.pool.BesideArg() { // nobody claims it between the reading and the deletion
		if err := s.stop(ctx, tx, id, j.TriggerNextTime, sql.NullTime{}); err != nil {
			return err
		}
	}
	if err := s.note(ctx, tx, ScheduleDeleted, id, j.Claimed()); err != nil {
		return err
	}
	n, err := s.q.DeleteJob(ctx, tx, DeleteJobParams{ID: id, Revision: revision})
	if err == nil && n == 0 {
		err = ErrMoved
	}
	return err
}

// Claimed is the moment before which all fires have been decided. An XXL-JOB admin may have put the next time back.
func (j *ListJobSchedulesRow) Claimed() int64 {
	if j.held() {
		return max(j.PausedAt, j.ClaimedUntil)
	}
	return max(j.TriggerNextTime, j.ClaimedUntil)
}

// held reports whether a pause holds the job back, so that its next time is the end of the pause.
func (j *ListJobSchedulesRow) held() bool {
	return j.TriggerNextTime > 0 && j.TriggerNextTime == j.PausedNext
}

// read reads a job; the zero row is one that is gone.
func (s *Schedules) read(ctx context.Context, tx DBTX, id int64) (j ListJobSchedulesRow, err error) {
	rows, err := s.q.ListJobSchedules(ctx, tx, []int64{id})
	if err != nil || len(rows) == 0 {
		return j, err
	}
	return rows[0], nil
}

// Stopped writes down which of the jobs that [AdvanceJobs] moved it stopped. It belongs into the same transaction.
func (s *Schedules) Stopped(ctx context.Context, tx *sql.Tx, advances []Advance) error {
	for i := range advances {
		a := &advances[i]
		if !a.Stop {
			continue
		}
		cause, claimed := ScheduleEnded, max(a.Last+1, a.OldNext)
		if a.Unreadable {
			cause, claimed = ScheduleUnreadable, a.OldNext
		}
		if err := s.note(ctx, tx, cause, a.ID, claimed); err != nil {
			return err
		}
	}
	return nil
}

// note ends the newest row of a job's history and begins the next, from the job as it is in the transaction.
func (s *Schedules) note(ctx context.Context, tx *sql.Tx, cause ScheduleCause, id, claimedTo int64) error {
	rows, err := s.q.ListJobSchedules(ctx, tx, []int64{id})
	if err != nil || len(rows) == 0 {
		return err
	}
	now := s.now().UnixMilli()
	if _, err := s.q.EndSchedule(ctx, tx, EndScheduleParams{UntilAt: now, ClaimedTo: claimedTo, JobID: id}); err != nil {
		return err
	}
	h := s.row(&rows[0], cause, now)
	if cause == ScheduleDeleted {
		h.Started, h.NextAt, h.UntilAt = 0, 0, now
	}
	return insertSchedules(ctx, tx, []JobSchedule{h})
}

// Now is how a job is, as a row of its history; false: the history says so already, as old does. The zone of a job without one
// is left to [Schedules.Notice], which knows the installation's.
func (s *Schedules) Now(j *ListJobSchedulesRow, old JobSchedule) (h JobSchedule, changed bool) {
	h = s.row(j, ScheduleNoticed, s.now().UnixMilli())
	if j.TimeZone == "" {
		h.TimeZone = old.TimeZone
	}
	return h, !h.follows(old)
}

// row is a job's schedule as a row of its history.
func (s *Schedules) row(j *ListJobSchedulesRow, cause ScheduleCause, now int64) JobSchedule {
	h := JobSchedule{
		JobID: j.ID, JobGroup: j.JobGroup, JobDesc: j.JobDesc, Cause: cause, SinceAt: now, MadeAt: now, Started: s.started(j.TriggerStatus),
		NextAt: j.TriggerNextTime, ScheduleType: j.ScheduleType, ScheduleConf: string(j.ScheduleConf), MisfireStrategy: j.MisfireStrategy,
		TimeZone: j.TimeZone, StartAt: j.StartAt, EndAt: j.EndAt, Calendar: j.Calendar, CalendarRule: j.CalendarRule,
	}
	if j.held() {
		h.NextAt = j.PausedAt
	}
	h.TimeZone = cmp.Or(h.TimeZone, s.zone)
	return h
}

// started is 1 for a job that Punctual schedules: one that an XXL-JOB admin beside it does is none of its business.
func (s *Schedules) started(status int64) int64 {
	if status > s.pool.BesideArg() {
		return 1
	}
	return 0
}

// scheduleStretch is how many ids of jobs one look covers.
const scheduleStretch = 2000

// Notice looks through all jobs for schedules that are not as their history says, which somebody else has changed, and writes
// down how they are now; flows that XXL-JOB admins would schedule are hidden from them, and statuses that there are not made that of stopped jobs. The time between since and now is when the change was made: since is when the last such look began,
// 0 if there was none. Between the stretches of its work it calls rest, with how long the last took.
func (s *Schedules) Notice(ctx context.Context, pool *Pool, since int64, rest func(took time.Duration) error) (noticed int, err error) {
	top, err := s.q.MaxScheduleJobID(ctx, pool)
	if err != nil {
		return 0, err
	}
	for after := int64(0); after < top; after += scheduleStretch {
		began := time.Now()
		ids, err := s.q.ListSchedulesUnnoticed(ctx, pool, ListSchedulesUnnoticedParams{Beside: s.pool.BesideArg(), AfterID: after, UptoID: after + scheduleStretch, Zone: s.zone})
		if err != nil {
			return noticed, err
		}
		gone, err := s.q.ListSchedulesOrphaned(ctx, pool, ListSchedulesOrphanedParams{AfterID: after, UptoID: after + scheduleStretch})
		if err != nil {
			return noticed, err
		}
		ids = slices.Compact(ids)
		for part := range slices.Chunk(ids, MaxBatch) {
			n, err := s.notice(ctx, pool, part, since)
			if err != nil && !errors.Is(err, ErrMoved) { // the next look sees what moved meanwhile
				return noticed, err
			}
			noticed += n
		}
		for part := range slices.Chunk(slices.Compact(gone), MaxBatch) {
			if err := s.noticeGone(ctx, pool, part, since); err != nil {
				return noticed, err
			}
			noticed += len(part)
		}
		if err := rest(time.Since(began)); err != nil {
			return noticed, err
		}
	}
	return noticed, nil
}

// notice writes down how jobs are now, those that still are not as their history says. [ErrMoved] means that somebody wrote one's
// history meanwhile.
func (s *Schedules) notice(ctx context.Context, pool *Pool, ids []int64, since int64) (noticed int, err error) {
	err = pool.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := s.q.MendStatuses(ctx, tx, ids); err != nil {
			return err
		}
		now := s.now().UnixMilli()
		jobs, err := s.q.ListJobSchedules(ctx, tx, ids)
		if err != nil {
			return err
		}
		current, err := s.q.ListCurrentSchedules(ctx, tx, ids)
		if err != nil {
			return err
		}
		newest := make(map[int64]JobSchedule, len(current))
		for _, h := range current {
			newest[h.JobID] = h
		}
		var changed []int64
		var rows []JobSchedule
		for i := range jobs {
			h := s.row(&jobs[i], ScheduleNoticed, now)
			h.SinceAt = min(since, now)
			if old, ok := newest[h.JobID]; ok && h.follows(old) {
				continue
			}
			changed, rows = append(changed, h.JobID), append(rows, h)
		}
		noticed = len(rows)
		if noticed == 0 {
			return nil
		}
		n, err := s.q.EndSchedules(ctx, tx, EndSchedulesParams{UntilAt: now, JobIds: changed})
		if err != nil {
			return err
		}
		for _, h := range current {
			if slices.Contains(changed, h.JobID) {
				n--
			}
		}
		if n != 0 {
			return ErrMoved
		}
		return insertSchedules(ctx, tx, rows)
	})
	return noticed, err
}

// follows reports whether a job that is as h says may have been as old says all the time: what differs is no more than what
// claims change.
func (h JobSchedule) follows(old JobSchedule) bool {
	if h.Started != 0 && h.ScheduleType == jobspec.ScheduleFixRate {
		if every, err := jobspec.Interval(h.ScheduleConf); err == nil && (h.NextAt-old.NextAt)%every.Milliseconds() != 0 {
			return false
		}
	}
	h.ID, h.Cause, h.SinceAt, h.MadeAt, h.UntilAt, h.ClaimedTo, h.NextAt = old.ID, old.Cause, old.SinceAt, old.MadeAt, old.UntilAt, old.ClaimedTo, old.NextAt
	return h == old
}

func (s *Schedules) noticeGone(ctx context.Context, pool *Pool, ids []int64, since int64) error {
	return pool.Tx(ctx, func(tx *sql.Tx) error {
		now := s.now().UnixMilli()
		if _, err := s.q.EndSchedules(ctx, tx, EndSchedulesParams{UntilAt: now, JobIds: ids}); err != nil {
			return err
		}
		last, err := s.q.ListSchedules(ctx, tx, ListSchedulesParams{JobIds: ids, FromMs: now - 1})
		if err != nil {
			return err
		}
		var rows []JobSchedule
		for _, h := range last {
			if h.UntilAt == now && (len(rows) == 0 || rows[len(rows)-1].JobID != h.JobID) {
				h.Cause, h.Started, h.NextAt, h.SinceAt, h.MadeAt, h.ClaimedTo = ScheduleGone, 0, 0, min(since, now), now, 0
				rows = append(rows, h)
			}
		}
		return insertSchedules(ctx, tx, rows)
	})
}

func insertSchedules(ctx context.Context, tx DBTX, rows []JobSchedule) error {
	return bulkInsert[JobSchedule]{
		what: "insert %d rows of the history of schedules",
		into: `INSERT INTO punctual_schedule (job_id, job_group, job_desc, cause, since_at, made_at, until_at, claimed_to, started,
 next_at, schedule_type, schedule_conf, misfire_strategy, time_zone, start_at, end_at, calendar, calendar_rule)`,
		row: func(r *JobSchedule) []any {
			return []any{r.JobID, r.JobGroup, r.JobDesc, string(r.Cause), r.SinceAt, r.MadeAt, r.UntilAt, r.ClaimedTo, r.Started,
				r.NextAt, string(r.ScheduleType), r.ScheduleConf, string(r.MisfireStrategy), r.TimeZone, r.StartAt, r.EndAt, r.Calendar, r.CalendarRule}
		},
	}.exec(ctx, tx, rows)
}
