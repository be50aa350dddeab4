-- What happened that somebody may want to hear of; the tables are explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_alarm_event (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id     INT         NOT NULL,
    job_group  INT         NOT NULL,
    log_id     BIGINT      NOT NULL DEFAULT 0,
    cause      VARCHAR(16) NOT NULL,
    planned_at BIGINT      NOT NULL DEFAULT 0,
    raised_at  BIGINT      NOT NULL DEFAULT 0,
    detail     TEXT        NOT NULL,
    once_key   VARCHAR(64) DEFAULT NULL,
    state      TINYINT     NOT NULL DEFAULT 0,
    notice_id  BIGINT      NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_alarm_event_once ON punctual_alarm_event (once_key);
CREATE INDEX i_alarm_event_state ON punctual_alarm_event (state, id);
CREATE INDEX i_alarm_event_notice ON punctual_alarm_event (notice_id);

CREATE TABLE punctual_alarm_notice (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id       INT         NOT NULL,
    job_group    INT         NOT NULL,
    cause        VARCHAR(16) NOT NULL,
    follow_up    TINYINT     NOT NULL DEFAULT 0,
    event_count  INT         NOT NULL DEFAULT 0,
    log_id       BIGINT      NOT NULL DEFAULT 0,
    first_at     BIGINT      NOT NULL DEFAULT 0,
    last_at      BIGINT      NOT NULL DEFAULT 0,
    detail       TEXT        NOT NULL,
    due_at       BIGINT      NOT NULL DEFAULT 0,
    state        TINYINT     NOT NULL DEFAULT 0,
    revision     BIGINT      NOT NULL DEFAULT 0
);
CREATE INDEX i_alarm_notice_due ON punctual_alarm_notice (state, due_at);

CREATE TABLE punctual_alarm_state (
    job_id       INT         NOT NULL,
    cause        VARCHAR(16) NOT NULL,
    opened_at    BIGINT      NOT NULL DEFAULT 0,
    event_count  INT         NOT NULL DEFAULT 0,
    last_log_id  BIGINT      NOT NULL DEFAULT 0,
    last_planned BIGINT      NOT NULL DEFAULT 0,
    window_until BIGINT      NOT NULL DEFAULT 0,
    notice_id    BIGINT      NOT NULL DEFAULT 0,
    revision     BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, cause)
);
