-- +goose Up
-- One-time addresses of asynchronous HTTP calls; the columns are explained in the MySQL file of the same name.
CREATE TABLE punctual_callback (
  log_id INTEGER NOT NULL PRIMARY KEY,
  token CHAR(64) NOT NULL,
  job_id INTEGER NOT NULL DEFAULT 0,
  state TINYINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  progress VARCHAR(1000) NOT NULL DEFAULT '',
  progress_at BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_callback_token ON punctual_callback (token);
CREATE INDEX i_callback_state ON punctual_callback (state, log_id);
CREATE INDEX i_callback_expires ON punctual_callback (expires_at);
