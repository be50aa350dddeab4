-- +goose Up
-- Kept outputs of a job, newest first: what a search reads.
CREATE INDEX i_output_job ON punctual_output (job_id, log_id);
