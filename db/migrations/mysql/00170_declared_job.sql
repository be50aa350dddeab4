-- +goose Up
-- Jobs that a program brings with it. fields names what the program decides, in the words of a job file; digest is of what it said last;
-- due is 1 while the schedule is still to be started. Times are epoch ms; dropped_at is 0 while the program declares the job.
CREATE TABLE IF NOT EXISTS punctual_declared_job (
  job_id BIGINT NOT NULL,
  group_id INT NOT NULL,
  name VARCHAR(128) NOT NULL,
  fields TEXT NOT NULL,
  digest CHAR(64) NOT NULL DEFAULT '',
  due TINYINT NOT NULL DEFAULT 0,
  declared_at BIGINT NOT NULL DEFAULT 0,
  dropped_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (job_id),
  UNIQUE KEY i_declared_name (group_id, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
