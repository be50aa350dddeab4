-- +goose Up
-- Calls to executors that ask for theirs, and that are connected to another admin; explained in the MySQL file of the same name.
CREATE TABLE IF NOT EXISTS punctual_pull (
  id VARCHAR(80) NOT NULL PRIMARY KEY,
  app_name VARCHAR(255) NOT NULL DEFAULT '',
  address VARCHAR(255) NOT NULL DEFAULT '',
  path VARCHAR(64) NOT NULL DEFAULT '',
  trace_parent VARCHAR(64) NOT NULL DEFAULT '',
  body BLOB NOT NULL,
  size INT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  taken_by VARCHAR(80) NOT NULL DEFAULT ''
);
