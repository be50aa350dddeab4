-- +goose Up
-- Access tokens: of the installation (app_name empty) and of single groups. After a rotation the previous one works until
-- previous_until (epoch ms).
CREATE TABLE IF NOT EXISTS punctual_token (
  app_name VARCHAR(64) NOT NULL,
  token VARCHAR(255) NOT NULL,
  previous VARCHAR(255) NOT NULL DEFAULT '',
  previous_until BIGINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (app_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
