-- +goose Up
-- Changes of scripts that wait for a second person, one a job.
CREATE TABLE punctual_script_change (
  job_id INTEGER NOT NULL PRIMARY KEY,
  author_id BIGINT NOT NULL DEFAULT 0,
  author VARCHAR(64) NOT NULL DEFAULT '',
  base VARCHAR(64) NOT NULL DEFAULT '',
  source TEXT NOT NULL,
  remark VARCHAR(128) NOT NULL DEFAULT '',
  made_at BIGINT NOT NULL DEFAULT 0
);
