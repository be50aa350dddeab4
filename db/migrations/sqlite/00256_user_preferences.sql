-- How somebody wants the console, beyond language, theme and zone: the columns and the size of lists, and whether keys do anything. JSON;
-- empty: as it comes.

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN preferences VARCHAR(2000) NOT NULL DEFAULT '';
