package db

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// RunOfJob is a run, and the job whose it is.
type RunOfJob struct{ Run, Job int64 }

// FindLastRuns finds the newest run of every job whose time has come: runs are there up to some seconds before, and retries that wait for
// longer. A trial of a script is none.
//
// It is one step in the index i_job_outcome for each job, in parts side by side.
func FindLastRuns(ctx context.Context, pool *Pool, now time.Time) ([]RunOfJob, error) {
	parts, err := JobFilter{}.parts(ctx, pool)
	if err != nil {
		return nil, err
	}
	found := make([][]RunOfJob, len(parts))
	err = pool.sideBySide(ctx, len(parts), func(i int) (err error) {
		w := parts[i].where(false)
		found[i], err = findRunsOfJobs(ctx, pool, "SELECT COALESCE((SELECT l.id FROM xxl_job_log AS l WHERE l.job_id = xxl_job_info.id AND (l.trigger_time IS NULL OR l.trigger_time <= ?) "+
			"AND NOT EXISTS (SELECT 1 FROM punctual_trial WHERE log_id = l.id) ORDER BY l.id DESC LIMIT 1), 0), id FROM xxl_job_info"+w.String(), append([]any{pool.Wall(now)}, w.args...))
		return err
	})
	return slices.Concat(found...), err
}

// FindRunsBetween finds runs whose time came after one moment and up to another, at most so many, in no order. A trial of a script is none.
func FindRunsBetween(ctx context.Context, pool *Pool, after, until time.Time, limit int) ([]RunOfJob, error) {
	return findRunsOfJobs(ctx, pool, "SELECT id, job_id FROM xxl_job_log WHERE trigger_time > ? AND trigger_time <= ? AND trigger_type <> 'TRIAL' LIMIT ?",
		[]any{pool.Wall(after), pool.Wall(until), limit})
}

func findRunsOfJobs(ctx context.Context, tx DBTX, query string, args []any) (found []RunOfJob, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("find newest runs: %w", err)
	}
	err = scanAll(rows, func() error {
		var r RunOfJob
		err := rows.Scan(&r.Run, &r.Job)
		found = append(found, r)
		return err
	})
	return found, err
}

// FindJobsAbove finds the jobs with higher ids than one.
func FindJobsAbove(ctx context.Context, tx DBTX, id int64) ([]int64, error) {
	return findIDs(ctx, tx, "new jobs", "SELECT id FROM xxl_job_info WHERE id > ?", []any{id})
}

// FindAllJobs finds the ids of all jobs under a filter, in no order.
func FindAllJobs(ctx context.Context, pool *Pool, f JobFilter) ([]int64, error) {
	f.dialect = pool.dialect
	find := func(ctx context.Context, f JobFilter) ([]int64, error) {
		w := f.where(false)
		return findIDs(ctx, pool, "jobs", "SELECT id FROM xxl_job_info"+w.String(), w.args)
	}
	if !f.reads() { // an index has them
		return find(ctx, f)
	}
	parts, err := f.parts(ctx, pool)
	if err != nil {
		return nil, err
	}
	found := make([][]int64, len(parts))
	err = pool.sideBySide(ctx, len(parts), func(i int) (err error) {
		found[i], err = find(ctx, parts[i])
		return err
	})
	return slices.Concat(found...), err
}
