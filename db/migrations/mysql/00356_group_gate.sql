-- +goose Up
-- Touched by whoever gives slots of a group with a limit, as punctual_gate is for jobs.
CREATE TABLE IF NOT EXISTS punctual_group_gate (
    group_id INT    NOT NULL PRIMARY KEY,
    turn     BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
