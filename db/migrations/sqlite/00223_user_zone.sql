-- The time zone in which somebody sees and types times in the console; empty: the installation's.

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN time_zone VARCHAR(64) NOT NULL DEFAULT '';
