-- Failed logins, shared by the admins of a cluster: one row for each limit that was touched lately. id and name are hashes, of
-- what is limited and of the name that was typed, because people type passwords into the wrong field. full_at is the moment
-- (epoch ms) from which all attempts are there again; the row is worth nothing then.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_login_attempt (
    id      VARCHAR(64) NOT NULL,
    name    VARCHAR(64) NOT NULL DEFAULT '',
    full_at BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY i_login_attempt_name (name),
    KEY i_login_attempt_full (full_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
