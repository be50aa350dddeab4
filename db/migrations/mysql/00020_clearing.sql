-- Clearings of the run log that somebody asked for. They are worked off in the background, a few hundred rows at a time, by
-- whichever admin looks after the database; at_id is how far that has come, so another may go on.
--   job_group, job_id  0 = all
--   before_time        only runs planned before (wall clock, as trigger_time); NULL = of any age
--   first_id … upto_id the ids that existed when it was asked for
--   state              0 open, 1 done, 2 stopped by hand

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_clearing (
    id          BIGINT      NOT NULL AUTO_INCREMENT,
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
    updated_at  BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
