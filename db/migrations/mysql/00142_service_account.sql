-- Users that are programs: nobody signs in as one. Their password fits none, for admins that know nothing of it.

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN service TINYINT NOT NULL DEFAULT 0;
