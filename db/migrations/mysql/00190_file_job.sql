-- +goose Up
-- Jobs that are kept in files. source says where, as a repository's name; revision which state of it was applied last, as a commit;
-- version what the job was then ([manage.JobVersion]), so that a later change by hand shows. applied_at is epoch ms.
CREATE TABLE IF NOT EXISTS punctual_file_job (
  job_id BIGINT NOT NULL,
  source VARCHAR(255) NOT NULL,
  revision VARCHAR(255) NOT NULL DEFAULT '',
  version VARCHAR(64) NOT NULL DEFAULT '',
  applied_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (job_id),
  KEY i_file_source (source)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
