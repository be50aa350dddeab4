-- +goose Up
-- The calendar whose days a job keeps to, and what it makes of them.
ALTER TABLE xxl_job_info
  ADD COLUMN calendar VARCHAR(64) NOT NULL DEFAULT '',
  ADD COLUMN calendar_rule VARCHAR(32) NOT NULL DEFAULT '',
  ADD KEY i_job_calendar (calendar);
