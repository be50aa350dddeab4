-- +goose Up
-- What is known of an executor address beyond its registration: which dialect of the protocol it speaks, and whether an
-- operator has taken it out of rotation.
CREATE TABLE IF NOT EXISTS punctual_executor (
  app_name VARCHAR(64) NOT NULL,
  address VARCHAR(255) NOT NULL,
  dialect VARCHAR(8) NOT NULL DEFAULT '',
  disabled TINYINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (app_name, address)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
