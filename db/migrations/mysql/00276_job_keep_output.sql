-- +goose Up
-- Of which runs of a job the output is kept: ALL, FAILED, NONE; '' or INHERIT as its group says.
ALTER TABLE xxl_job_info ADD COLUMN keep_output VARCHAR(8) NOT NULL DEFAULT '';
