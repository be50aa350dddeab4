-- +goose Up
-- Answers to such calls that another admin was given than the one that asked.
CREATE TABLE IF NOT EXISTS punctual_pull_answer (
  id VARCHAR(80) NOT NULL PRIMARY KEY,
  asker VARCHAR(40) NOT NULL DEFAULT '',
  app_name VARCHAR(255) NOT NULL DEFAULT '',
  address VARCHAR(255) NOT NULL DEFAULT '',
  body BLOB NOT NULL,
  expires_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS i_pull_answer_asker ON punctual_pull_answer (asker);
