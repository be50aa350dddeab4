-- +goose Up
-- One-time addresses by which the target of an asynchronous HTTP call reports the end of its run. token is the hash of what stands in the
-- address. state: 0 handed out with the call, 1 the target took the work and will report, 2 the run has ended. The address counts until
-- expires_at, the end of the run's time limit; the row stays longer, so that a late report gets an answer. Times are epoch ms.
CREATE TABLE IF NOT EXISTS punctual_callback (
  log_id BIGINT NOT NULL,
  token CHAR(64) NOT NULL,
  job_id INT NOT NULL DEFAULT 0,
  state TINYINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  progress VARCHAR(1000) NOT NULL DEFAULT '',
  progress_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (log_id),
  UNIQUE KEY i_callback_token (token),
  KEY i_callback_state (state, log_id),
  KEY i_callback_expires (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
