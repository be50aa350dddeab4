-- +goose Up
-- Which jobs are flows, for what uses a job.
ALTER TABLE xxl_job_info ADD KEY i_job_kind (glue_type);
