-- +goose Up
-- Jobs that a program brings with it.
CREATE TABLE punctual_declared_job (
  job_id INTEGER PRIMARY KEY,
  group_id INTEGER NOT NULL,
  name VARCHAR(128) NOT NULL,
  fields TEXT NOT NULL,
  digest CHAR(64) NOT NULL DEFAULT '',
  due TINYINT NOT NULL DEFAULT 0,
  declared_at BIGINT NOT NULL DEFAULT 0,
  dropped_at BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_declared_name ON punctual_declared_job (group_id, name);
