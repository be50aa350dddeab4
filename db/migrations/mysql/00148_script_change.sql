-- +goose Up
-- Changes of scripts that wait for a second person, one a job. base says which text it replaces; made_at is epoch ms.
CREATE TABLE IF NOT EXISTS punctual_script_change (
  job_id INT NOT NULL,
  author_id BIGINT NOT NULL DEFAULT 0,
  author VARCHAR(64) NOT NULL DEFAULT '',
  base VARCHAR(64) NOT NULL DEFAULT '',
  source MEDIUMTEXT NOT NULL,
  remark VARCHAR(128) NOT NULL DEFAULT '',
  made_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (job_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
