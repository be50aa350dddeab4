-- The embedded database has one admin at a time, yet it leaves a row per start: what an earlier start left unsent is found by it.

-- +goose Up
CREATE TABLE punctual_node (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       VARCHAR(255) NOT NULL,
    address    VARCHAR(255) NOT NULL DEFAULT '',
    version    VARCHAR(64)  NOT NULL DEFAULT '',
    started_at BIGINT       NOT NULL DEFAULT 0,
    beat       BIGINT       NOT NULL DEFAULT 0,
    beat_at    BIGINT       NOT NULL DEFAULT 0,
    low_log_id BIGINT       NOT NULL DEFAULT 0,
    state      TINYINT      NOT NULL DEFAULT 1
);
