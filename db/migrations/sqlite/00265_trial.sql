-- +goose Up
-- The text that a trial of a script ran; the columns are explained in the MySQL file of the same name.
CREATE TABLE punctual_trial (
  log_id INTEGER NOT NULL PRIMARY KEY,
  job_id INTEGER NOT NULL DEFAULT 0,
  made_at BIGINT NOT NULL DEFAULT 0,
  source TEXT NOT NULL
);
