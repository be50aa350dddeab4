package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Shadow reads what an XXL-JOB admin schedules and runs, beside it. It writes nothing.
type Shadow struct {
	Release Release
	pool    *Pool
	jobs    string // the query
}

// ShadowJob is a started job, as the admin has it.
type ShadowJob struct {
	ID      int64
	Name    string
	Type    jobspec.ScheduleType
	Conf    string
	Next    time.Time
	Retries int
	Finding JobFinding // why its times here are others
}

// ShadowRun is a run that the admin has made.
type ShadowRun struct {
	ID      int64
	JobID   int64
	At      time.Time // in whole seconds
	Retries int       // left
	Shard   int       // of a broadcast; 0 of every other
}

// ErrNoXXLJob means that there is no admin of XXL-JOB to look at in a database.
var ErrNoXXLJob = errors.New("there is no database of an XXL-JOB admin: nothing to look at")

// Shadow opens the view of a database that is still XXL-JOB's; it wraps [ErrNoXXLJob].
func (p *Pool) Shadow(ctx context.Context) (*Shadow, error) {
	if p.dialect != MySQL {
		return nil, ErrNoXXLJob
	}
	found, err := readSchema(ctx, p.DB)
	if err != nil {
		return nil, err
	}
	job := found["xxl_job_info"]
	if job == nil || found["xxl_job_log"] == nil {
		return nil, ErrNoXXLJob
	}
	if ours, err := p.hasVersion(ctx); err != nil {
		return nil, err
	} else if ours {
		return nil, fmt.Errorf("%w: Punctual works on it", ErrNoXXLJob)
	}
	name, kind, conf := "job_desc", "schedule_type", "COALESCE(schedule_conf, '')"
	if job.has("name") {
		name = "name"
	}
	if !job.has("schedule_type") {
		kind, conf = "'CRON'", "job_cron"
	}
	return &Shadow{Release: releaseOf(found), pool: p, jobs: "SELECT id, " + name + ", " + kind + ", " + conf + ", trigger_next_time, executor_fail_retry_count FROM xxl_job_info " +
		"WHERE trigger_status = 1 AND trigger_next_time > 0 AND " + kind + " IN ('CRON', 'FIX_RATE') ORDER BY id"}, nil
}

// Jobs are the started ones that the clock starts.
func (s *Shadow) Jobs(ctx context.Context) (jobs []ShadowJob, err error) {
	rows, err := s.pool.QueryContext(ctx, s.jobs)
	if err != nil {
		return nil, fmt.Errorf("read the admin's jobs: %w", Error(err))
	}
	err = scanAll(rows, func() error {
		var j ShadowJob
		var next int64
		err := rows.Scan(&j.ID, &j.Name, &j.Type, &j.Conf, &next, &j.Retries)
		j.Next, j.Finding = time.UnixMilli(next), findingOf(s.Release, j.Type, j.Conf)
		jobs = append(jobs, j)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the admin's jobs: %w", Error(err))
	}
	return jobs, nil
}

// LastRun is the id of the newest run; 0 when there is none.
func (s *Shadow) LastRun(ctx context.Context) (id int64, err error) {
	if err := s.pool.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM xxl_job_log").Scan(&id); err != nil {
		return 0, fmt.Errorf("read the admin's newest run: %w", Error(err))
	}
	return id, nil
}

// Runs are those above an id, by id, so many at most.
func (s *Shadow) Runs(ctx context.Context, above int64, limit int) (runs []ShadowRun, err error) {
	rows, err := s.pool.QueryContext(ctx, `SELECT id, job_id, trigger_time, executor_fail_retry_count, COALESCE(executor_sharding_param, '') FROM xxl_job_log
		WHERE id > ? AND trigger_time IS NOT NULL ORDER BY id LIMIT ?`, above, limit)
	if err != nil {
		return nil, fmt.Errorf("read the admin's runs: %w", Error(err))
	}
	err = scanAll(rows, func() error {
		var r ShadowRun
		var at sql.NullTime
		var shard string
		if err := rows.Scan(&r.ID, &r.JobID, &at, &r.Retries, &shard); err != nil {
			return err
		}
		r.At = s.pool.FromWall(at.Time)
		index, _, _ := strings.Cut(shard, "/")
		r.Shard, _ = strconv.Atoi(index) // "" is no broadcast
		runs = append(runs, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the admin's runs: %w", Error(err))
	}
	return runs, nil
}
