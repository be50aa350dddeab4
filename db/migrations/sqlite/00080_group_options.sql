-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_group (
  app_name VARCHAR(64) NOT NULL COLLATE NOCASE,
  idle_is_lost TINYINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (app_name)
);
