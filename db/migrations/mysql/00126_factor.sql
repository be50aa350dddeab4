-- Second factors: codes of an app (totp) and passkeys. secret is what the code is made of, sealed where there is a secret key, or a
-- passkey's public part; last_step is the last step of time whose code was taken, so that none is taken twice. Times are epoch ms.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_factor (
    id         BIGINT       NOT NULL AUTO_INCREMENT,
    user_id    INT          NOT NULL DEFAULT 0,
    kind       VARCHAR(16)  NOT NULL DEFAULT '',
    name       VARCHAR(64)  NOT NULL DEFAULT '',
    secret     TEXT,
    last_step  BIGINT       NOT NULL DEFAULT 0,
    created_at BIGINT       NOT NULL DEFAULT 0,
    used_at    BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY i_factor_user (user_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
