-- +goose Up
-- The time of day by which a job's run before it has to be done: HH:MM in the job's zone, '' for none.
ALTER TABLE xxl_job_info ADD COLUMN done_by VARCHAR(16) NOT NULL DEFAULT '';
CREATE INDEX i_job_done_by ON xxl_job_info (done_by);
