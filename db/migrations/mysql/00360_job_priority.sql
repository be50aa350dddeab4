-- +goose Up
-- How a job's runs stand to those of others that wait for the limit of their executor; '': normal.
ALTER TABLE xxl_job_info ADD COLUMN priority VARCHAR(16) NOT NULL DEFAULT '';
