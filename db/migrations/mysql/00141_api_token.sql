-- +goose Up
-- API tokens of people and service accounts. Only a hash is kept. rights is a sum as in punctual_permission; group_ids is a list, empty
-- for every group; times are epoch ms, 0 for never.
CREATE TABLE IF NOT EXISTS punctual_api_token (
  id BIGINT NOT NULL AUTO_INCREMENT,
  user_id INT NOT NULL,
  name VARCHAR(64) NOT NULL,
  hash CHAR(64) NOT NULL,
  hint VARCHAR(16) NOT NULL DEFAULT '',
  rights INT NOT NULL DEFAULT 0,
  admin TINYINT NOT NULL DEFAULT 0,
  group_ids TEXT NOT NULL,
  created_at BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  used_at BIGINT NOT NULL DEFAULT 0,
  used_from VARCHAR(64) NOT NULL DEFAULT '',
  revoked_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  UNIQUE KEY i_api_token_hash (hash),
  KEY i_api_token_user (user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
