-- +goose Up
-- Where events are sent for programs, and what is sent (package scheduler/webhook).
--   config    sealed: the address and the secret that signs
--   state     on, off, gone (its receiver said so), deleted (until its deliveries are)
--   types     comma-separated; empty: all. group_ids, tags: the same; empty: every job
--   holder    the admin that sends, until lease_until, so that order holds
--   failures  in a row, since failing_since; until rest_until nothing is tried
--   dropped   events that were not kept because too many waited
--   delivery  one event for one webhook; state 0 waiting (next_at 0: not refused yet), 1 taken, 2 given up. Of a run the row of the run tells
--             the rest when it is sent. All times are epoch ms.
CREATE TABLE IF NOT EXISTS punctual_webhook (
    id            BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name          VARCHAR(64)   NOT NULL,
    config        TEXT          NOT NULL,
    types         VARCHAR(500)  NOT NULL DEFAULT '',
    group_ids     VARCHAR(2000) NOT NULL DEFAULT '',
    tags          VARCHAR(500)  NOT NULL DEFAULT '',
    state         VARCHAR(8)    NOT NULL DEFAULT 'on',
    holder        VARCHAR(32)   NOT NULL DEFAULT '',
    lease_until   BIGINT        NOT NULL DEFAULT 0,
    failures      INT           NOT NULL DEFAULT 0,
    failing_since BIGINT        NOT NULL DEFAULT 0,
    rest_until    BIGINT        NOT NULL DEFAULT 0,
    last_ok_at    BIGINT        NOT NULL DEFAULT 0,
    last_reason   VARCHAR(16)   NOT NULL DEFAULT '',
    last_status   INT           NOT NULL DEFAULT 0,
    dropped       BIGINT        NOT NULL DEFAULT 0,
    made_by       VARCHAR(64)   NOT NULL DEFAULT '',
    updated_at    BIGINT        NOT NULL DEFAULT 0,
    UNIQUE KEY i_webhook_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS punctual_webhook_delivery (
    id          BIGINT        NOT NULL AUTO_INCREMENT PRIMARY KEY,
    webhook_id  BIGINT        NOT NULL,
    type        VARCHAR(32)   NOT NULL,
    job_group   BIGINT        NOT NULL DEFAULT 0,
    job_id      BIGINT        NOT NULL DEFAULT 0,
    log_id      BIGINT        NOT NULL DEFAULT 0,
    happened_at BIGINT        NOT NULL,
    outcome     TINYINT       NOT NULL DEFAULT 0,
    code        INT           NOT NULL DEFAULT 0,
    again       TINYINT       NOT NULL DEFAULT 0,
    facts       VARCHAR(1000) NOT NULL DEFAULT '',
    state       TINYINT       NOT NULL DEFAULT 0,
    tries       INT           NOT NULL DEFAULT 0,
    next_at     BIGINT        NOT NULL DEFAULT 0,
    tried_at    BIGINT        NOT NULL DEFAULT 0,
    status      INT           NOT NULL DEFAULT 0,
    reason      VARCHAR(16)   NOT NULL DEFAULT '',
    answer      VARCHAR(255)  NOT NULL DEFAULT '',
    KEY i_webhook_delivery (webhook_id, state, next_at, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
