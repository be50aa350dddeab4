-- Clearings of the run log that somebody asked for; the columns are explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_clearing (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    user_name   VARCHAR(64) NOT NULL DEFAULT '',
    job_group   INT         NOT NULL DEFAULT 0,
    job_id      INT         NOT NULL DEFAULT 0,
    before_time DATETIME    DEFAULT NULL,
    first_id    BIGINT      NOT NULL DEFAULT 0,
    upto_id     BIGINT      NOT NULL DEFAULT 0,
    at_id       BIGINT      NOT NULL DEFAULT 0,
    deleted     BIGINT      NOT NULL DEFAULT 0,
    kept        BIGINT      NOT NULL DEFAULT 0,
    state       TINYINT     NOT NULL DEFAULT 0,
    created_at  BIGINT      NOT NULL DEFAULT 0,
    updated_at  BIGINT      NOT NULL DEFAULT 0
);
