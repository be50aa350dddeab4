-- +goose Up
-- What becomes of a run of which no executor can say how it went on: AGAIN runs it once more; '' or FAIL leaves it at that.
ALTER TABLE xxl_job_info ADD COLUMN when_lost VARCHAR(8) NOT NULL DEFAULT '';
