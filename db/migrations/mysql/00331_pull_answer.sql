-- +goose Up
-- Answers to such calls that another admin was given than the one that asked.
CREATE TABLE IF NOT EXISTS punctual_pull_answer (
  id VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  asker VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  app_name VARCHAR(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  address VARCHAR(255) COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  body MEDIUMBLOB NOT NULL,
  expires_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  KEY i_pull_answer_asker (asker)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
