-- +goose Up
-- What people wrote down at a run, at a job, or at all jobs of an executor group; the columns are explained in the MySQL file of the same name.
CREATE TABLE IF NOT EXISTS punctual_note (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_group INT NOT NULL,
  job_id INT NOT NULL DEFAULT 0,
  run_id BIGINT NOT NULL DEFAULT 0,
  at BIGINT NOT NULL,
  made_at BIGINT NOT NULL,
  made_by TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS i_note_job ON punctual_note (job_id, at);
CREATE INDEX IF NOT EXISTS i_note_group ON punctual_note (job_group, job_id, at);
CREATE INDEX IF NOT EXISTS i_note_run ON punctual_note (run_id);
