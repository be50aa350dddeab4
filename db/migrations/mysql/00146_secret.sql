-- +goose Up
-- Secrets of jobs, sealed; names in capitals. Times are epoch ms.
CREATE TABLE IF NOT EXISTS punctual_secret (
  group_id INT NOT NULL,
  name VARCHAR(64) NOT NULL,
  value MEDIUMTEXT NOT NULL,
  created_at BIGINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0,
  updated_by VARCHAR(64) NOT NULL DEFAULT '',
  PRIMARY KEY (group_id, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
