-- +goose Up
-- What becomes of missed fires beyond what misfire_strategy can say, which an XXL-JOB admin reads: of FIRE_ONCE_NOW, FIRE_ALL, FIRE_LAST (so
-- many) or FIRE_WITHIN (so many seconds); '' for nothing more.
ALTER TABLE xxl_job_info ADD COLUMN misfire_more VARCHAR(32) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_info ADD COLUMN misfire_last BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_info ADD COLUMN misfire_within BIGINT NOT NULL DEFAULT 0;
