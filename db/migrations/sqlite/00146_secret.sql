-- +goose Up
-- Secrets of jobs, sealed; names in capitals.
CREATE TABLE punctual_secret (
  group_id INTEGER NOT NULL,
  name VARCHAR(64) NOT NULL COLLATE NOCASE,
  value TEXT NOT NULL,
  created_at BIGINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0,
  updated_by VARCHAR(64) NOT NULL DEFAULT '',
  PRIMARY KEY (group_id, name)
);
