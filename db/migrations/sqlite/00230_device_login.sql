-- +goose Up
-- Programs that ask to be let in; the columns are explained in the MySQL file of the same name.
CREATE TABLE punctual_device_login (
  id CHAR(64) NOT NULL PRIMARY KEY,
  code VARCHAR(16) NOT NULL,
  program VARCHAR(64) NOT NULL DEFAULT '',
  address VARCHAR(64) NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  state TINYINT NOT NULL DEFAULT 0,
  user_id INTEGER NOT NULL DEFAULT 0,
  name VARCHAR(64) NOT NULL DEFAULT '',
  rights INTEGER NOT NULL DEFAULT 0,
  admin TINYINT NOT NULL DEFAULT 0,
  group_ids TEXT NULL,
  days INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_device_login_code ON punctual_device_login (code);
CREATE INDEX i_device_login_expires ON punctual_device_login (expires_at);
