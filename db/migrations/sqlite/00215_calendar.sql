-- +goose Up
-- The calendars that somebody has made or uploaded; the table is explained in the MySQL file of the same name.
CREATE TABLE IF NOT EXISTS punctual_calendar (
    name       VARCHAR(64)  NOT NULL PRIMARY KEY,
    body       TEXT         NOT NULL,
    revision   BIGINT       NOT NULL DEFAULT 0,
    updated_at BIGINT       NOT NULL DEFAULT 0,
    updated_by VARCHAR(100) NOT NULL DEFAULT ''
);
