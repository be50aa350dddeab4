-- +goose Up
-- 1 from when it was told that the executor's beats stopped until they come again.
ALTER TABLE xxl_job_registry ADD COLUMN silent TINYINT NOT NULL DEFAULT 0;
