-- What the runs of a job came to is told to who may see the group that they were recorded with: the job may be in another one since.
-- See the MySQL file of the same name.
-- +goose Up
CREATE TABLE punctual_job_day_of_group (
  day_at BIGINT NOT NULL,
  job_id BIGINT NOT NULL,
  job_group BIGINT NOT NULL DEFAULT 0,
  runs BIGINT NOT NULL,
  total_ms BIGINT NOT NULL,
  longest_id BIGINT NOT NULL,
  longest_ms BIGINT NOT NULL,
  PRIMARY KEY (day_at, job_id, job_group)
);
INSERT INTO punctual_job_day_of_group (day_at, job_id, runs, total_ms, longest_id, longest_ms) SELECT day_at, job_id, runs, total_ms, longest_id, longest_ms FROM punctual_job_day;
DROP TABLE punctual_job_day;
ALTER TABLE punctual_job_day_of_group RENAME TO punctual_job_day;
