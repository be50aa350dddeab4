-- +goose Up
-- When executors that ask for their calls did so last, at any admin, and for how many milliseconds they wanted to wait then. A row without an
-- app_name is an admin's own, by which it knows that what others have seen can be read here.
CREATE TABLE IF NOT EXISTS punctual_pull_seen (
  app_name VARCHAR(255) COLLATE utf8mb4_bin NOT NULL,
  address VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seen_at BIGINT NOT NULL DEFAULT 0,
  wait_ms INT NOT NULL DEFAULT 0,
  PRIMARY KEY (app_name, address)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
