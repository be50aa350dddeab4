-- +goose Up
-- What a job's parameter consists of, as people are asked for it; nothing for any text. TEXT, since what stands in a row beside it is bounded.
ALTER TABLE xxl_job_info ADD COLUMN param_form TEXT;
