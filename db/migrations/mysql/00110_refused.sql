-- +goose Up
-- Executors whose calls were not taken lately, whichever admin they called. Rows go after a quarter of an hour.
CREATE TABLE IF NOT EXISTS punctual_refused (
  app_name VARCHAR(64) NOT NULL,
  address VARCHAR(64) NOT NULL,
  why VARCHAR(16) NOT NULL,
  calls BIGINT NOT NULL DEFAULT 0,
  last_at BIGINT NOT NULL DEFAULT 0,
  runs VARCHAR(2000) NOT NULL DEFAULT '',
  PRIMARY KEY (app_name, address, why)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
