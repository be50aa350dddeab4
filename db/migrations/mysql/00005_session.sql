-- Logins that can be revoked: the cookie carries only the id. All times are epoch ms.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_session (
    id         VARCHAR(64)  NOT NULL,
    user_id    INT          NOT NULL,
    created_at BIGINT       NOT NULL DEFAULT 0,
    seen_at    BIGINT       NOT NULL DEFAULT 0,
    expires_at BIGINT       NOT NULL DEFAULT 0,
    address    VARCHAR(64)  NOT NULL DEFAULT '',
    agent      VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    KEY i_session_user (user_id),
    KEY i_session_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
