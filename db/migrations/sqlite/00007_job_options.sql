-- +goose Up
-- What a job can say beyond XXL-JOB.
ALTER TABLE xxl_job_info ADD COLUMN time_zone VARCHAR(64) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_info ADD COLUMN start_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN end_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN retry_backoff VARCHAR(128) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_info ADD COLUMN max_concurrent INT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN concurrency_policy VARCHAR(16) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_info ADD COLUMN retention_days INT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN warn_after_seconds INT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN expect_every_seconds INT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN tags VARCHAR(255) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_info ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
