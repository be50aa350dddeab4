-- +goose Up
-- What a job can say beyond XXL-JOB. Every column has a default, so an old admin's inserts and updates go on working.
ALTER TABLE xxl_job_info
  ADD COLUMN time_zone VARCHAR(64) NOT NULL DEFAULT '',
  ADD COLUMN start_at BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN end_at BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN retry_backoff VARCHAR(128) NOT NULL DEFAULT '',
  ADD COLUMN max_concurrent INT NOT NULL DEFAULT 0,
  ADD COLUMN concurrency_policy VARCHAR(16) NOT NULL DEFAULT '',
  ADD COLUMN retention_days INT NOT NULL DEFAULT 0,
  ADD COLUMN warn_after_seconds INT NOT NULL DEFAULT 0,
  ADD COLUMN expect_every_seconds INT NOT NULL DEFAULT 0,
  ADD COLUMN tags VARCHAR(255) NOT NULL DEFAULT '',
  ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
