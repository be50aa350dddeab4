-- What happened to a run, as data; the columns are explained in the MySQL file of the same name.

-- +goose Up
ALTER TABLE xxl_job_log ADD COLUMN outcome TINYINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_log ADD COLUMN kill_asked_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_log ADD COLUMN events TEXT NULL;
