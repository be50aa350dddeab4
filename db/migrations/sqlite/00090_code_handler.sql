-- Handlers of a group's executors whose parameter is code, as the executors declared when they registered. No other table says so.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_code_handler (
  group_id BIGINT NOT NULL,
  handler VARCHAR(255) NOT NULL,
  PRIMARY KEY (group_id, handler)
);
