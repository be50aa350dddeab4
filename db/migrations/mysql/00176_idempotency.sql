-- +goose Up
-- What a request of API v1 with an Idempotency-Key came to, so that the same request gets the same answer. id and request are SHA-256
-- sums in hexadecimal: of who asks and their key, and of what they ask. An empty answer is one that is not known yet.
CREATE TABLE IF NOT EXISTS punctual_idempotency (
    id      VARCHAR(64) NOT NULL PRIMARY KEY,
    request VARCHAR(64) NOT NULL DEFAULT '',
    answer  MEDIUMTEXT  NOT NULL,
    made_at BIGINT      NOT NULL DEFAULT 0,
    KEY i_idempotency_made (made_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
