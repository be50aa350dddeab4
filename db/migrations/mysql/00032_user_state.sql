-- Users who may not log in, and when each did last (epoch ms). XXL-JOB's admin writes neither column.

-- +goose Up
ALTER TABLE xxl_job_user
    ADD COLUMN disabled TINYINT NOT NULL DEFAULT 0,
    ADD COLUMN login_at BIGINT NOT NULL DEFAULT 0;
