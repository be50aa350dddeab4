-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_refused (
  app_name VARCHAR(64) NOT NULL COLLATE NOCASE,
  address VARCHAR(64) NOT NULL,
  why VARCHAR(16) NOT NULL,
  calls BIGINT NOT NULL DEFAULT 0,
  last_at BIGINT NOT NULL DEFAULT 0,
  runs VARCHAR(2000) NOT NULL DEFAULT '',
  PRIMARY KEY (app_name, address, why)
);
