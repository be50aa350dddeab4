-- +goose Up
-- Where alarms go. config is sealed (AES-GCM), because it holds passwords and webhook addresses.
--   quiet_from, quiet_to  minutes after midnight in the installation's zone; equal: no quiet hours
--   quiet_mode            queue (tell all at the end) or count (tell only how many)
--   route                 scope all, group or job; causes is a comma-separated list, empty for the usual ones
--   delivery              one message to one recipient of a channel; state 0 waiting, 1 being sent (until lease_until, by
--                         whoever wrote holder), 2 sent, 3 given up
CREATE TABLE IF NOT EXISTS punctual_alarm_channel (
    id            BIGINT       NOT NULL AUTO_INCREMENT,
    name          VARCHAR(64)  NOT NULL,
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
    updated_at    BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY i_alarm_channel_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS punctual_alarm_route (
    id         BIGINT       NOT NULL AUTO_INCREMENT,
    channel_id BIGINT       NOT NULL,
    scope      VARCHAR(8)   NOT NULL,
    scope_id   BIGINT       NOT NULL DEFAULT 0,
    causes     VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    UNIQUE KEY i_alarm_route (channel_id, scope, scope_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS punctual_alarm_delivery (
    id          BIGINT       NOT NULL AUTO_INCREMENT,
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
    done_at     BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY i_alarm_delivery_due (state, next_at),
    KEY i_alarm_delivery_notice (notice_id),
    KEY i_alarm_delivery_channel (channel_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
