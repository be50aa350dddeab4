-- Up to when a job's planned fires have been decided, in epoch ms: one planned before this has its run, or a row that says why
-- not. Nobody but Punctual writes it. XXL-JOB's admin writes trigger_next_time back to what it read, and a fire must not be
-- made again for that. See scheduler/claim.go.

-- +goose Up
ALTER TABLE xxl_job_info ADD COLUMN claimed_until BIGINT NOT NULL DEFAULT 0;
