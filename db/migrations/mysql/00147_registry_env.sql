-- Whether an executor takes an environment with a run, as it said when it registered.

-- +goose Up
ALTER TABLE xxl_job_registry ADD COLUMN takes_env TINYINT NOT NULL DEFAULT 0;
