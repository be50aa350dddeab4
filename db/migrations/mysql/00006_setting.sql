-- What the installation decided once and every admin must agree on (its zone, its cookie key …).

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_setting (
    name       VARCHAR(64) NOT NULL,
    value      TEXT        NOT NULL,
    updated_at BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
