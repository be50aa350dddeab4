-- Codes for the day when the second factor is lost: hashes, each good once.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_recovery_code (
    user_id INT         NOT NULL,
    hash    VARCHAR(64) NOT NULL,
    PRIMARY KEY (user_id, hash)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
