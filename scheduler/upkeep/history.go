package upkeep

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/db"
)

// SettingSchedulesSeen is the row of punctual_setting that holds when the last whole look for changed schedules began, in
// epoch ms.
const SettingSchedulesSeen = "schedules_seen"

// noticeShare is how many times longer than a look for changed schedules took the next one waits: two thirds of the look are pauses,
// so that it has a hundredth of a connection at most, however many jobs there are. A look at 100,000 jobs takes about a second of it
// (make bench BENCH='-only audit').
const noticeShare = 30

// noticeSchedules looks for schedules that somebody else has changed and writes them into their history. The first look at an
// adopted database begins the history of every job.
func (s *Service) noticeSchedules(ctx context.Context) error {
	start := time.Now()
	if start.UnixMilli() < s.looksAt.Load() {
		return nil
	}
	defer func() { s.looksAt.Store(start.Add(noticeShare * time.Since(start)).UnixMilli()) }()
	began := s.cfg.Now().UnixMilli()
	since, err := SchedulesSeen(ctx, s.queries, s.cfg.Pool)
	if err != nil {
		return err
	}
	n, err := s.cfg.Schedules.Notice(ctx, s.cfg.Pool, since, func(took time.Duration) error {
		if !s.cfg.Leads() {
			return errNotLeader
		}
		return Rest(ctx, restAfter(took))
	})
	if n > 0 {
		s.log.Info("noticed schedules that are not as their history says", "jobs", n)
	}
	if err != nil {
		return err
	}
	return s.queries.SetSetting(ctx, s.cfg.Pool, db.SetSettingParams{
		Name: SettingSchedulesSeen, Value: strconv.FormatInt(began, 10), UpdatedAt: s.cfg.Now().UnixMilli(),
	})
}

// SchedulesSeen is when the last whole look for changed schedules began, in epoch ms; 0 if there was none.
func SchedulesSeen(ctx context.Context, q *db.Queries, pool *db.Pool) (int64, error) {
	row, err := q.GetSetting(ctx, pool, SettingSchedulesSeen)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	at, err := strconv.ParseInt(row.Value, 10, 64)
	if err != nil {
		return 0, nil // as if there had been none
	}
	return at, nil
}

// forgetSchedules deletes what the history says of times of which no runs are kept.
func (s *Service) forgetSchedules(ctx context.Context) error {
	days, err := s.RetentionDays(ctx)
	if err != nil || days == 0 {
		return err
	}
	own, err := s.queries.ListJobRetention(ctx, s.cfg.Pool)
	if err != nil {
		return err
	}
	for _, j := range own {
		if j.RetentionDays < 0 {
			return nil
		}
		days = max(days, int(j.RetentionDays))
	}
	before := s.cfg.Now().AddDate(0, 0, -days-1).UnixMilli()
	for {
		n, err := s.queries.DeleteSchedulesBefore(ctx, s.cfg.Pool, before)
		if err != nil || n < 1000 { // the query's limit
			return err
		}
		if err := Rest(ctx, restAfter(10*time.Millisecond)); err != nil {
			return err
		}
	}
}

// What deletes runs on purpose, in punctual_deletion.
const (
	DeletedByRetention = "retention"
	DeletedByClearing  = "clearing"
)

// noteDeletion writes down, before it is done, that runs planned before a moment are deleted: of all jobs, of a group's or of one.
func (s *Service) noteDeletion(ctx context.Context, what string, of runScope, before time.Time, by string) error {
	old, err := s.queries.GetDeletion(ctx, s.cfg.Pool, db.GetDeletionParams{What: what, JobGroup: of.group, JobID: of.job})
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	if err == nil && old.BeforeAt >= before.UnixMilli() {
		return nil
	}
	return s.queries.SetDeletion(ctx, s.cfg.Pool, db.SetDeletionParams{
		What: what, JobGroup: of.group, JobID: of.job, BeforeAt: before.UnixMilli(), MadeBy: maker(by), MadeAt: s.cfg.Now().UnixMilli(),
	})
}
