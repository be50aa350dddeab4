-- Where alarms go; the tables are explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_alarm_channel (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          VARCHAR(64)  NOT NULL COLLATE NOCASE,
    kind          VARCHAR(16)  NOT NULL,
    config        TEXT         NOT NULL,
    lang          VARCHAR(8)   NOT NULL DEFAULT '',
    enabled       TINYINT      NOT NULL DEFAULT 1,
    for_jobs      TINYINT      NOT NULL DEFAULT 0,
    quiet_from    INT          NOT NULL DEFAULT 0,
    quiet_to      INT          NOT NULL DEFAULT 0,
    quiet_mode    VARCHAR(8)   NOT NULL DEFAULT 'queue',
    last_ok_at    BIGINT       NOT NULL DEFAULT 0,
    last_error_at BIGINT       NOT NULL DEFAULT 0,
    last_error    VARCHAR(500) NOT NULL DEFAULT '',
    updated_at    BIGINT       NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_alarm_channel_name ON punctual_alarm_channel (name);

CREATE TABLE punctual_alarm_route (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    channel_id BIGINT       NOT NULL,
    scope      VARCHAR(8)   NOT NULL,
    scope_id   BIGINT       NOT NULL DEFAULT 0,
    causes     VARCHAR(255) NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX i_alarm_route ON punctual_alarm_route (channel_id, scope, scope_id);

CREATE TABLE punctual_alarm_delivery (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    notice_id   BIGINT       NOT NULL,
    channel_id  BIGINT       NOT NULL,
    recipient   VARCHAR(255) NOT NULL DEFAULT '',
    counted     TINYINT      NOT NULL DEFAULT 0,
    state       TINYINT      NOT NULL DEFAULT 0,
    tries       INT          NOT NULL DEFAULT 0,
    next_at     BIGINT       NOT NULL DEFAULT 0,
    holder      VARCHAR(32)  NOT NULL DEFAULT '',
    lease_until BIGINT       NOT NULL DEFAULT 0,
    error       VARCHAR(500) NOT NULL DEFAULT '',
    created_at  BIGINT       NOT NULL DEFAULT 0,
    done_at     BIGINT       NOT NULL DEFAULT 0
);
CREATE INDEX i_alarm_delivery_due ON punctual_alarm_delivery (state, next_at);
CREATE INDEX i_alarm_delivery_notice ON punctual_alarm_delivery (notice_id);
CREATE INDEX i_alarm_delivery_channel ON punctual_alarm_delivery (channel_id, id);
