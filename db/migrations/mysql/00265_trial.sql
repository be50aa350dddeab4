-- +goose Up
-- The text that a trial of a script ran, by its run: it is in no version of the script. See scheduler/trial.go.
CREATE TABLE IF NOT EXISTS punctual_trial (
  log_id BIGINT NOT NULL,
  job_id INT NOT NULL DEFAULT 0,
  made_at BIGINT NOT NULL DEFAULT 0,
  source MEDIUMTEXT NOT NULL,
  PRIMARY KEY (log_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
