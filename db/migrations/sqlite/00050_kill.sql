-- Runs that are to be ended; the table is explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_kill (
    log_id   INTEGER PRIMARY KEY,
    asked_by TEXT    NOT NULL DEFAULT '',
    asked_at BIGINT  NOT NULL DEFAULT 0
);
