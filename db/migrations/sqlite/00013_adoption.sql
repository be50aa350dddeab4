-- One row in a database that was XXL-JOB's. The embedded database never was, so that here the table stays empty.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_adoption (
    id           INTEGER NOT NULL PRIMARY KEY,
    release_line TEXT    NOT NULL DEFAULT '',
    adopted_at   INTEGER NOT NULL DEFAULT 0,
    checked_at   INTEGER NOT NULL DEFAULT 0,
    tokens_at    INTEGER NOT NULL DEFAULT 0,
    backoffs     INTEGER NOT NULL DEFAULT 0,
    finished_at  INTEGER NOT NULL DEFAULT 0,
    finished_by  TEXT    NOT NULL DEFAULT ''
);
