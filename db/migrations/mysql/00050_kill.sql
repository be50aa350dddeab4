-- Runs that are to be ended and were not sent, or not recorded as sent, when somebody asked for it. The admin that holds such a
-- run looks here; a run that has been sent meanwhile is ended at its executor. See scheduler/kill.go.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_kill (
    log_id   BIGINT       NOT NULL,
    asked_by VARCHAR(100) NOT NULL DEFAULT '',
    asked_at BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (log_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
