-- What the runs of a job that took a second or more came to in a day, counted as they end: which jobs are slow can be said without reading
-- the log. day_at is the day that a run was planned for, as hour_at of punctual_run_hour.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_job_day (
    day_at     BIGINT NOT NULL,
    job_id     BIGINT NOT NULL,
    runs       BIGINT NOT NULL,
    total_ms   BIGINT NOT NULL,
    longest_id BIGINT NOT NULL,
    longest_ms BIGINT NOT NULL,
    PRIMARY KEY (day_at, job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
