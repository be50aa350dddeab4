-- Sign-ins at a provider that have ended in a session, so that none does twice. id is the hash of the sign-in's state; used_at is
-- epoch ms.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_used_sign_in (
    id      VARCHAR(64) NOT NULL,
    used_at BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY i_used_sign_in (used_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
