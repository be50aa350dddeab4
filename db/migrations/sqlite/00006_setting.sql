-- What the installation decided once (its zone, its cookie key …).

-- +goose Up
CREATE TABLE punctual_setting (
    name       VARCHAR(64) NOT NULL PRIMARY KEY,
    value      TEXT        NOT NULL,
    updated_at BIGINT      NOT NULL DEFAULT 0
);
