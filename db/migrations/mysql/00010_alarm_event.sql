-- +goose Up
-- What happened that somebody may want to hear of, written in the transaction that made it happen, and what became of it:
--   event   one occurrence; state 0 new, 1 part of a notice, 2 nobody needs to hear. once_key makes occurrences that
--           several admins notice by themselves (a run that is slow) one row.
--   notice  what is to be told in one message: events of one job and cause; state 0 gathering until due_at, 1 handed to
--           channels, 2 settled.
--   state   of a job and cause: open since opened_at (0: not), and until when further events are gathered.
-- All times are epoch ms. See scheduler/alarm/doc.go.
CREATE TABLE IF NOT EXISTS punctual_alarm_event (
    id         BIGINT      NOT NULL AUTO_INCREMENT,
    job_id     INT         NOT NULL,
    job_group  INT         NOT NULL,
    log_id     BIGINT      NOT NULL DEFAULT 0,
    cause      VARCHAR(16) NOT NULL,
    planned_at BIGINT      NOT NULL DEFAULT 0,
    raised_at  BIGINT      NOT NULL DEFAULT 0,
    detail     TEXT        NOT NULL,
    once_key   VARCHAR(64) DEFAULT NULL,
    state      TINYINT     NOT NULL DEFAULT 0,
    notice_id  BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY i_alarm_event_once (once_key),
    KEY i_alarm_event_state (state, id),
    KEY i_alarm_event_notice (notice_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS punctual_alarm_notice (
    id           BIGINT      NOT NULL AUTO_INCREMENT,
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
    revision     BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY i_alarm_notice_due (state, due_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS punctual_alarm_state (
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
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
