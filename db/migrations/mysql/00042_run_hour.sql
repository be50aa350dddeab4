-- How many runs were planned for each hour in each executor group, and what became of them: counted as they happen, like
-- xxl_job_log_report, which knows neither hours nor groups. hour_at is the beginning of the hour by the wall clock of the
-- installation's zone, in seconds as if that were UTC.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_run_hour (
    group_id      INT    NOT NULL,
    hour_at       BIGINT NOT NULL,
    running_count BIGINT NOT NULL DEFAULT 0,
    suc_count     BIGINT NOT NULL DEFAULT 0,
    fail_count    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (group_id, hour_at),
    KEY i_run_hour (hour_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
