package db

import (
	"context"
	"fmt"
)

// XXL-JOB 2.1 and 2.2 know cron jobs only, and read their text from xxl_job_info.job_cron. The column stays where such a
// database was adopted, and is kept in step, so that an old admin that is put back finds the jobs as they are. What that one
// changes meanwhile is taken from there at the next start.

// findJobCron looks for the column, and takes what an old admin has written into it.
func (p *Pool) findJobCron(ctx context.Context) error {
	if p.dialect != MySQL {
		return nil
	}
	var n int
	err := p.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name = 'xxl_job_info' AND column_name = 'job_cron'`).Scan(&n)
	if err != nil || n == 0 {
		return Error(err)
	}
	p.jobCron.Store(true)
	res, err := p.ExecContext(ctx, `UPDATE xxl_job_info SET schedule_conf = job_cron, schedule_type = 'CRON'
		WHERE job_cron <> '' AND schedule_type IN ('CRON', 'NONE') AND COALESCE(schedule_conf, '') <> job_cron`)
	if err != nil {
		return fmt.Errorf("take over job_cron: %w", Error(err))
	}
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		p.logger.Info("took over what an old admin has written into job_cron", "jobs", n)
	}
	return nil
}

// keepJobCron writes the column of a job whose schedule was just written. Of a schedule that is not cron an old admin knows nothing.
func (s *Schedules) keepJobCron(ctx context.Context, tx DBTX, id int64) error {
	if s.pool == nil || !s.pool.jobCron.Load() {
		return nil
	}
	_, err := tx.ExecContext(ctx, "UPDATE xxl_job_info SET job_cron = CASE schedule_type WHEN 'CRON' THEN COALESCE(schedule_conf, '') ELSE '' END WHERE id = ?", id)
	if err != nil {
		return fmt.Errorf("keep job_cron: %w", Error(err))
	}
	return nil
}
