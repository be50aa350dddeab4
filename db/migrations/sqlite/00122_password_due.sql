-- The password was given by somebody else: its owner chooses another at the next login, if the settings ask for it. XXL-JOB's admin
-- does not know of it.

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN password_due TINYINT NOT NULL DEFAULT 0;
