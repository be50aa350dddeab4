-- What happened to a run, as data; see package scheduler/event.
--   outcome        how it ended, or why it did not begin; 0 = open, or a row of an XXL-JOB admin, whose codes tell it
--   kill_asked_at  epoch ms since when somebody wants it ended, 0 = nobody does
--   events         what led there, a line for each
-- One statement, because each ALTER commits on its own.

-- +goose Up
ALTER TABLE xxl_job_log
    ADD COLUMN outcome       TINYINT NOT NULL DEFAULT 0,
    ADD COLUMN kill_asked_at BIGINT  NOT NULL DEFAULT 0,
    ADD COLUMN events        TEXT    NULL;
