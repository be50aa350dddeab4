-- The admins that share this database. beat is a counter and not a time, so that clocks that differ do no harm;
-- low_log_id is the lowest run this node may still hold unsent, which bounds what a successor has to read.
-- state: 1 alive, 0 gone.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_node (
    id         BIGINT       NOT NULL AUTO_INCREMENT,
    name       VARCHAR(255) NOT NULL,
    address    VARCHAR(255) NOT NULL DEFAULT '',
    version    VARCHAR(64)  NOT NULL DEFAULT '',
    started_at BIGINT       NOT NULL DEFAULT 0,
    beat       BIGINT       NOT NULL DEFAULT 0,
    beat_at    BIGINT       NOT NULL DEFAULT 0,
    low_log_id BIGINT       NOT NULL DEFAULT 0,
    state      TINYINT      NOT NULL DEFAULT 1,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
