-- XXL-JOB's admin looks for failures every ten seconds, so that its retries had waits without a setting. The jobs of a database that
-- is being adopted get one that says so. On a database that is Punctual's already nothing happens: it has later versions.

-- +goose Up
UPDATE xxl_job_info SET retry_backoff = '10s'
WHERE executor_fail_retry_count > 0 AND retry_backoff = '' AND NOT EXISTS (SELECT 1 FROM punctual_version WHERE version_id > 12 AND is_applied = 1);
