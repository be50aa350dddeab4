-- +goose Up
-- What a job's parameter consists of, as people are asked for it; '' for any text.
ALTER TABLE xxl_job_info ADD COLUMN param_form VARCHAR(4000) NOT NULL DEFAULT '';
