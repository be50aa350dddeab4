-- +goose Up
-- Fires that were tried more than once and whose children have been started: by the first run of the fire, and by which one.
CREATE TABLE IF NOT EXISTS punctual_followed (
  log_id BIGINT NOT NULL,
  by_log_id BIGINT NOT NULL DEFAULT 0,
  followed_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (log_id),
  KEY i_followed_at (followed_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
