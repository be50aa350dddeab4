-- +goose Up
-- API tokens of people and service accounts. Only a hash is kept.
CREATE TABLE punctual_api_token (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  name VARCHAR(64) NOT NULL,
  hash CHAR(64) NOT NULL,
  hint VARCHAR(16) NOT NULL DEFAULT '',
  rights INTEGER NOT NULL DEFAULT 0,
  admin TINYINT NOT NULL DEFAULT 0,
  group_ids TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  used_at BIGINT NOT NULL DEFAULT 0,
  used_from VARCHAR(64) NOT NULL DEFAULT '',
  revoked_at BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_api_token_hash ON punctual_api_token (hash);
CREATE INDEX i_api_token_user ON punctual_api_token (user_id);
