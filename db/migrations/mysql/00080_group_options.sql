-- +goose Up
-- What is decided for an executor group beyond XXL-JOB's columns.
CREATE TABLE IF NOT EXISTS punctual_group (
  app_name VARCHAR(64) NOT NULL,
  idle_is_lost TINYINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (app_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
