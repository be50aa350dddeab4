-- +goose Up
-- Whom to tell of an alarm (job, cause, when it opened) if it is still open at due_at and nobody looks after it.
--   state  0 waiting, 1 told or over, 2 spared: somebody looked after it when it was due
CREATE TABLE IF NOT EXISTS punctual_alarm_escalation (
    id         BIGINT      NOT NULL AUTO_INCREMENT,
    job_id     INT         NOT NULL,
    cause      VARCHAR(16) NOT NULL,
    opened_at  BIGINT      NOT NULL DEFAULT 0,
    channel_id BIGINT      NOT NULL,
    notice_id  BIGINT      NOT NULL,
    due_at     BIGINT      NOT NULL DEFAULT 0,
    state      TINYINT     NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY i_alarm_escalation (job_id, cause, opened_at, channel_id),
    KEY i_alarm_escalation_due (state, due_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
