-- Users who may not log in, and when each did last (epoch ms).

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN disabled TINYINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_user ADD COLUMN login_at BIGINT NOT NULL DEFAULT 0;
