-- +goose Up
-- The address of what to do when a job fails; '' for none.
ALTER TABLE xxl_job_info ADD COLUMN runbook VARCHAR(512) NOT NULL DEFAULT '';
