-- Whether a run by hand goes with the job's own parameter only. An old admin's inserts and updates go on working.

-- +goose Up
ALTER TABLE xxl_job_info ADD COLUMN param_fixed TINYINT NOT NULL DEFAULT 0;
