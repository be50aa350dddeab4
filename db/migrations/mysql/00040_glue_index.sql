-- The versions of one script; XXL-JOB reads the scripts of all jobs for them.

-- +goose Up
ALTER TABLE xxl_job_logglue ADD KEY i_glue_job (job_id);
