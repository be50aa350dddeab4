-- +goose Up
-- When executors that ask for their calls did so last; explained in the MySQL file of the same name.
CREATE TABLE IF NOT EXISTS punctual_pull_seen (
  app_name VARCHAR(255) NOT NULL,
  address VARCHAR(255) NOT NULL,
  seen_at BIGINT NOT NULL DEFAULT 0,
  wait_ms INT NOT NULL DEFAULT 0,
  PRIMARY KEY (app_name, address)
);
