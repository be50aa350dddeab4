-- +goose Up
-- Times in which schedules hold still (jobspec.Pause). Moments are epoch ms; until_at 0: until somebody ends it. With cron the pause is
-- windows of length_s seconds that begin at the times of that text, in zone, between from_at and until_at.
CREATE TABLE punctual_pause (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    scope    VARCHAR(8)   NOT NULL,
    target   BIGINT       NOT NULL DEFAULT 0,
    tag      VARCHAR(255) NOT NULL DEFAULT '',
    from_at  BIGINT       NOT NULL,
    until_at BIGINT       NOT NULL DEFAULT 0,
    strategy VARCHAR(8)   NOT NULL,
    cron     VARCHAR(128) NOT NULL DEFAULT '',
    length_s BIGINT       NOT NULL DEFAULT 0,
    zone     VARCHAR(64)  NOT NULL DEFAULT '',
    reason   VARCHAR(255) NOT NULL DEFAULT '',
    made_by  VARCHAR(64)  NOT NULL DEFAULT '',
    made_at  BIGINT       NOT NULL DEFAULT 0,
    ended_by VARCHAR(64)  NOT NULL DEFAULT '',
    ended_at BIGINT       NOT NULL DEFAULT 0
);
