-- Logins that can be revoked: the cookie carries only the id. All times are epoch ms.

-- +goose Up
CREATE TABLE punctual_session (
    id         VARCHAR(64)  NOT NULL PRIMARY KEY,
    user_id    INT          NOT NULL,
    created_at BIGINT       NOT NULL DEFAULT 0,
    seen_at    BIGINT       NOT NULL DEFAULT 0,
    expires_at BIGINT       NOT NULL DEFAULT 0,
    address    VARCHAR(64)  NOT NULL DEFAULT '',
    agent      VARCHAR(255) NOT NULL DEFAULT ''
);
CREATE INDEX i_session_user ON punctual_session (user_id);
CREATE INDEX i_session_expires ON punctual_session (expires_at);
