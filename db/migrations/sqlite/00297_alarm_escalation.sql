-- Whom to tell of an alarm that nobody looks after; explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_alarm_escalation (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id     INT         NOT NULL,
    cause      VARCHAR(16) NOT NULL,
    opened_at  BIGINT      NOT NULL DEFAULT 0,
    channel_id BIGINT      NOT NULL,
    notice_id  BIGINT      NOT NULL,
    due_at     BIGINT      NOT NULL DEFAULT 0,
    state      TINYINT     NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_alarm_escalation ON punctual_alarm_escalation (job_id, cause, opened_at, channel_id);
CREATE INDEX i_alarm_escalation_due ON punctual_alarm_escalation (state, due_at);
