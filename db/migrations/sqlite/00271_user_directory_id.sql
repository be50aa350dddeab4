-- What a directory calls a user for ever; see the MySQL file of the same name.

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN directory_id VARCHAR(500) NOT NULL DEFAULT '';
