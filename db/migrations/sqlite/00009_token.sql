-- +goose Up
-- Access tokens: of the installation (app_name empty) and of single groups.
CREATE TABLE punctual_token (
  app_name VARCHAR(64) NOT NULL COLLATE NOCASE PRIMARY KEY,
  token VARCHAR(255) NOT NULL,
  previous VARCHAR(255) NOT NULL DEFAULT '',
  previous_until BIGINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0
);
