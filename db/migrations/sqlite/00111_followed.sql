-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_followed (
  log_id INTEGER PRIMARY KEY,
  by_log_id BIGINT NOT NULL DEFAULT 0,
  followed_at BIGINT NOT NULL DEFAULT 0
);
