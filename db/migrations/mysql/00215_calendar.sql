-- +goose Up
-- The calendars that somebody has made or uploaded, each as its file (package scheduler/calendar). One of a shipped calendar's name stands
-- in its place. The revision counts changes of all calendars, so that the other admins see them.
CREATE TABLE IF NOT EXISTS punctual_calendar (
    name       VARCHAR(64)  NOT NULL PRIMARY KEY,
    body       MEDIUMTEXT   NOT NULL,
    revision   BIGINT       NOT NULL DEFAULT 0,
    updated_at BIGINT       NOT NULL DEFAULT 0,
    updated_by VARCHAR(100) NOT NULL DEFAULT ''
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
