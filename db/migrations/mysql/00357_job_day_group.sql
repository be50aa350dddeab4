-- What the runs of a job came to is told to who may see the group that they were recorded with: the job may be in another one since.
-- An admin that does not know of it writes 0, which only those see who see all groups.
-- +goose Up
ALTER TABLE punctual_job_day ADD COLUMN job_group BIGINT NOT NULL DEFAULT 0 AFTER job_id, DROP PRIMARY KEY, ADD PRIMARY KEY (day_at, job_id, job_group);
