-- How many of a day's runs were left out on purpose (event.Outcome.Passed): neither successes nor failures. An XXL-JOB admin
-- knows nothing of it and counts them as failures.

-- +goose Up
ALTER TABLE xxl_job_log_report ADD COLUMN skip_count INT NOT NULL DEFAULT 0;
