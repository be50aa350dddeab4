-- What was deleted from the log on purpose, so that nobody looks for it: runs planned before a moment, of all jobs, of a group's
-- or of one. what is who did it: retention, or a clearing that somebody asked for.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_deletion (
    what      VARCHAR(16)  NOT NULL,
    job_group INT          NOT NULL DEFAULT 0,
    job_id    BIGINT       NOT NULL DEFAULT 0,
    before_at BIGINT       NOT NULL DEFAULT 0,
    made_by   VARCHAR(100) NOT NULL DEFAULT '',
    made_at   BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (what, job_group, job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
