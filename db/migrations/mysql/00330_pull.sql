-- +goose Up
-- Calls to executors that ask for theirs, and that are connected to another admin. A row lives for seconds. Whoever hands a call over writes
-- the name of the pull into taken_by, if nobody has; see scheduler/pull.
CREATE TABLE IF NOT EXISTS punctual_pull (
  id VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  app_name VARCHAR(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  address VARCHAR(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  path VARCHAR(64) NOT NULL DEFAULT '',
  trace_parent VARCHAR(64) NOT NULL DEFAULT '',
  body MEDIUMBLOB NOT NULL,
  size INT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  taken_by VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
