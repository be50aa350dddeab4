-- The runs of jobs that may have only so many at a time in the whole cluster: who has a slot, and who waits for one.
-- punctual_gate is touched by whoever gives slots out, so that two who do it at once conflict, on every database.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_slot (
    job_id     INT     NOT NULL,
    log_id     BIGINT  NOT NULL,
    running    TINYINT NOT NULL DEFAULT 0,
    planned_at BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (log_id),
    KEY i_job (job_id, running, planned_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS punctual_gate (
    job_id INT    NOT NULL,
    turn   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
