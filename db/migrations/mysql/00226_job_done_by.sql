-- +goose Up
-- The time of day by which a job's run before it has to be done: HH:MM in the job's zone, '' for none.
ALTER TABLE xxl_job_info
  ADD COLUMN done_by VARCHAR(16) NOT NULL DEFAULT '',
  ADD KEY i_job_done_by (done_by);
