package upkeep

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

const (
	// DefaultRetentionDays is how long runs are kept unless somebody decides otherwise, as upstream's configuration has it.
	DefaultRetentionDays = db.DefaultRetentionDays
	// MinRetentionDays is the least; upstream ignores a smaller number (docs/compat.md §4.11).
	MinRetentionDays = 3
	// openGrace is how much longer a run without a result is kept: it may be running.
	openGrace = 90 * 24 * time.Hour
)

// ErrRetention says that a retention is neither "for ever" nor long enough.
var ErrRetention = fmt.Errorf("runs are kept for at least %d days, or for ever (0)", MinRetentionDays)

// Retention is for how many days an installation keeps runs. A job's own goes before it.
type Retention struct {
	Days      int // 0: for ever
	Succeeded int // at most so long if they succeeded; 0: as long as the others
}

// RetentionDays is for how many days the installation keeps runs, those that succeeded perhaps for less; 0: for ever.
func (s *Service) RetentionDays(ctx context.Context) (int, error) {
	r, err := s.retention(ctx)
	return r.Days, err
}

func (s *Service) retention(ctx context.Context) (Retention, error) {
	r, err := s.cfg.Retention(ctx)
	if err == nil && r.Days > 0 && r.Days < MinRetentionDays {
		err = fmt.Errorf("%d days: %w", r.Days, ErrRetention)
	}
	return Retention{max(0, r.Days), max(0, r.Succeeded)}, err
}

// retention decides which runs are too old.
type retention struct {
	today  time.Time     // midnight, wall clock
	of     Retention     // the installation's
	perJob map[int64]int // of jobs that have their own; below 0: for ever
}

// bound is the wall-clock time before which a job's runs go, or those that succeeded; the zero time: they stay.
func (r *retention) bound(jobID int64, succeeded bool) time.Time {
	days, own := r.perJob[jobID]
	if !own {
		days = r.of.Days
		if less := r.of.Succeeded; succeeded && less > 0 && (days == 0 || less < days) {
			days = less
		}
	}
	if days <= 0 {
		return time.Time{}
	}
	// As upstream: a run of the day that is `days` ago stays until that day is over too (docs/compat.md §4.11).
	return r.today.AddDate(0, 0, -days)
}

func (r *retention) old(run *db.ListRunStatesRow) bool {
	state := StateOf(run.Outcome, run.TriggerCode, run.HandleCode, 0)
	bound := r.bound(run.JobID, state == StateSucceeded)
	if bound.IsZero() {
		return false
	}
	if state == StateRunning {
		bound = bound.Add(-openGrace)
	}
	return !run.TriggerTime.Valid || run.TriggerTime.Time.Before(bound)
}

// retain deletes the runs that are too old. It may be stopped at any point and goes on where rows are left.
func (s *Service) retain(ctx context.Context) error {
	if s.cfg.Pool.Beside() { // XXL-JOB admins delete runs of all, by their own setting
		return nil
	}
	of, err := s.retention(ctx)
	if err != nil {
		return err
	}
	own, err := s.queries.ListJobRetention(ctx, s.cfg.Pool)
	if err != nil {
		return err
	}
	r := &retention{today: s.today(), of: of, perJob: make(map[int64]int, len(own))}
	for _, j := range own {
		r.perJob[j.ID] = int(j.RetentionDays)
	}
	// Only a new day or another decision makes more runs too old.
	key := fmt.Sprint(r.today, r.of, own)
	if s.retained.Load() == key {
		return nil
	}
	if err := s.noteRetention(ctx, r); err != nil {
		return err
	}
	err = s.dropPartitions(ctx, r)
	if db.IsTransient(err) || !s.goesOn(ctx, err) { // somebody reads the log for long: the next hour tries again
		return err
	}
	deleted, failed := s.retainRuns(ctx, r, own)
	if err = errors.Join(err, failed); err == nil {
		s.retained.Store(key)
	}
	if deleted > 0 {
		s.cfg.Changed()
	}
	return err
}

// retainRuns deletes the runs that are too old. What cannot be deleted of one job keeps none of the others.
func (s *Service) retainRuns(ctx context.Context, r *retention, own []db.ListJobRetentionRow) (deleted int64, err error) {
	began := time.Now()
	all := r.bound(0, true)
	if !all.IsZero() {
		deleted, err = s.retainBefore(ctx, r, all, 0)
	}
	for _, j := range own {
		if !s.goesOn(ctx, err) {
			break
		}
		if bound := r.bound(j.ID, true); !bound.IsZero() && bound.After(all) {
			n, failed := s.retainBefore(ctx, r, bound, j.ID)
			deleted += n
			err = errors.Join(err, failed)
		}
	}
	if deleted > 0 {
		s.log.Info("deleted old runs", "runs", deleted, "took", time.Since(began).Round(time.Millisecond).String())
	}
	return deleted, err
}

// goesOn reports whether there is a point in doing the next thing after one that failed.
func (s *Service) goesOn(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !errors.Is(err, errNotLeader) && !db.IsUnavailable(err)
}

// noteRetention writes down, before it is done, of which times not all runs are kept: for the installation, and for each job that
// has a retention of its own.
func (s *Service) noteRetention(ctx context.Context, r *retention) error {
	for _, id := range append([]int64{0}, slices.Collect(maps.Keys(r.perJob))...) {
		bound := r.bound(id, true)
		if bound.IsZero() {
			continue
		}
		if err := s.noteDeletion(ctx, DeletedByRetention, runScope{job: id}, s.cfg.Pool.FromWall(bound), ""); err != nil {
			return err
		}
	}
	return nil
}

// retainBefore deletes what is too old among the runs that may be older than a bound: of one job, or of all (0).
func (s *Service) retainBefore(ctx context.Context, r *retention, bound time.Time, jobID int64) (deleted int64, err error) {
	upto, err := s.queries.LastRunIDBefore(ctx, s.cfg.Pool, nullTime(bound))
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	pages := s.newPages(runScope{job: jobID}, 0, upto)
	var refused error
	for {
		rows, err := pages.next(ctx)
		if err != nil || len(rows) == 0 {
			return deleted, errors.Join(refused, err)
		}
		var ids []int64
		for i := range rows {
			if r.old(&rows[i]) {
				ids = append(ids, rows[i].ID)
			}
		}
		if len(ids) > 0 {
			n, failed := s.deleteRuns(ctx, ids)
			if failed == nil {
				deleted += n
			} else if !db.IsTransient(failed) { // the next day's round finds what a conflict left
				refused = errors.Join(refused, failed)
			}
			if !s.goesOn(ctx, failed) {
				return deleted, refused
			}
		}
		if !s.cfg.Leads() {
			return deleted, errors.Join(refused, errNotLeader)
		}
		if err := pages.rest(ctx); err != nil {
			return deleted, errors.Join(refused, err)
		}
	}
}

// deleteRuns deletes runs with the copies of their outputs.
func (s *Service) deleteRuns(ctx context.Context, ids []int64) (n int64, err error) {
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err = s.deleteRunsIn(ctx, tx, ids)
		return err
	})
	return n, err
}

func (s *Service) deleteRunsIn(ctx context.Context, tx *sql.Tx, ids []int64) (n int64, err error) {
	if n, err = s.queries.DeleteRuns(ctx, tx, ids); err != nil {
		return 0, err
	}
	return n, db.ForgetOutputs(ctx, tx, ids)
}
