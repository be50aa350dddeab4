-- +goose Up
-- Which jobs are flows, for what uses a job.
CREATE INDEX i_job_kind ON xxl_job_info (glue_type);
