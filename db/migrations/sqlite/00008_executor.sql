-- +goose Up
-- What is known of an executor address beyond its registration.
CREATE TABLE punctual_executor (
  app_name VARCHAR(64) NOT NULL COLLATE NOCASE,
  address VARCHAR(255) NOT NULL COLLATE NOCASE,
  dialect VARCHAR(8) NOT NULL DEFAULT '',
  disabled TINYINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (app_name, address)
);
