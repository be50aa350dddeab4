-- +goose Up
-- A job that a pause holds back: the first of its fires that is not decided, the next time that stands for the end of the pause (while
-- trigger_next_time is another, nothing is held back), and the revision of the pauses by which that was said.
ALTER TABLE xxl_job_info ADD COLUMN paused_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN paused_next BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN paused_rev BIGINT NOT NULL DEFAULT 0;
CREATE INDEX i_paused_rev ON xxl_job_info (paused_rev);
