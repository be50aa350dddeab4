package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/punctual-job/punctual/db"
)

const (
	auditDays  = 30
	auditEvery = 3 * 24 * time.Hour // between two fires of a job
)

// auditOfAMonth fills a database with -jobs jobs of a month, each with a run every three days, and measures the account of that
// month as an operator asks for it (punctual audit, in a process of its own), and a look for schedules that somebody else has
// changed, which the admins repeat, without the pauses that it makes.
func auditOfAMonth(ctx context.Context, s Settings, database string) error {
	y, err := newSystem(ctx, s, database)
	if err != nil {
		return err
	}
	defer y.close()
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	runs := s.Jobs * int(auditDays*24*time.Hour/auditEvery)
	first := time.Now().Add(-auditDays * 24 * time.Hour).Truncate(time.Second)
	err = fillForAudit(ctx, pool, s.Jobs, runs, first)
	began := time.Now()
	if err == nil {
		var noticed int
		noticed, err = db.NewSchedules(pool, time.UTC, time.Now).Notice(ctx, pool, 0, func(time.Duration) error { return ctx.Err() })
		if err == nil && noticed > 0 {
			err = fmt.Errorf("%d schedules are not as their history says", noticed)
		}
	}
	looked := time.Since(began)
	if closed := pool.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	began = time.Now()
	audit := exec.CommandContext(ctx, y.binary, "audit", "--from", first.Add(-time.Hour).Format(time.RFC3339), "--output", "json")
	audit.Env = append(os.Environ(), "PUNCTUAL_DATABASE_URL="+y.url, "PUNCTUAL_DATA_DIR="+filepath.Join(y.dir, "data"), "PUNCTUAL_TIME_ZONE=UTC")
	if out, err := audit.CombinedOutput(); err != nil {
		return fmt.Errorf("audit: %w: %.500s", err, out)
	}
	took := time.Since(began)
	rss := mostMemory(audit.ProcessState)
	s.report(database, "audit", "%d jobs, %d fires of a month: all accounted for in %.1f s with %s MB at most; a look for changed schedules %.2f s",
		s.Jobs, runs, took.Seconds(), rss, looked.Seconds())
	return nil
}

// fillForAudit inserts jobs whose fires are spread over the period, their history, and the runs in the order of time.
func fillForAudit(ctx context.Context, pool *db.Pool, jobs, runs int, first time.Time) error {
	phase := func(job int) time.Duration {
		return (auditEvery * time.Duration(job) / time.Duration(jobs)).Truncate(time.Millisecond)
	}
	wall, conf := pool.Wall(first), fmt.Sprint(int(auditEvery.Seconds()))
	next := first.Add(auditEvery * time.Duration(runs/jobs))
	if err := insert(ctx, pool, "xxl_job_group (id, app_name, title, address_type)", 1, func(int) []any { return []any{1, "bench", "bench", 0} }); err != nil {
		return err
	}
	err := insert(ctx, pool, `xxl_job_info (id, job_group, job_desc, add_time, update_time, author, schedule_type, schedule_conf, misfire_strategy,
 executor_route_strategy, executor_handler, executor_block_strategy, glue_type, glue_updatetime, trigger_status, trigger_next_time)`, jobs, func(i int) []any {
		return []any{i + 1, 1, fmt.Sprintf("job %d", i+1), wall, wall, "bench", "FIX_RATE", conf, "DO_NOTHING", "ROUND", "noop", "SERIAL_EXECUTION", "BEAN", wall, 1, next.Add(phase(i)).UnixMilli()}
	})
	if err != nil {
		return err
	}
	since := first.Add(-time.Minute).UnixMilli()
	err = insert(ctx, pool, "punctual_schedule (job_id, job_group, job_desc, cause, since_at, made_at, started, next_at, schedule_type, schedule_conf, misfire_strategy, time_zone)", jobs, func(i int) []any {
		return []any{i + 1, 1, fmt.Sprintf("job %d", i+1), string(db.ScheduleCreated), since, since, 1, first.Add(phase(i)).UnixMilli(), "FIX_RATE", conf, "DO_NOTHING", "UTC"}
	})
	if err != nil {
		return err
	}
	return insert(ctx, pool, "xxl_job_log (job_group, job_id, executor_handler, trigger_time, trigger_code, handle_time, handle_code, alarm_status, executor_fail_retry_count, planned_at, trigger_type, sent_at, finished_at, outcome)", runs, func(i int) []any {
		at := first.Add(auditEvery * time.Duration(i/jobs)).Add(phase(i % jobs))
		wall, ms := pool.Wall(at), at.UnixMilli()
		return []any{1, i%jobs + 1, "noop", wall, 200, wall, 200, 1, 0, ms, "CRON", ms, ms + 5, 1}
	})
}
