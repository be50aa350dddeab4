-- +goose Up
-- Programs that ask to be let in by somebody who is logged in (RFC 8628), for some minutes. id is the hash of what the program holds;
-- code is what both sides show. state: 0 asked, 1 let in, 2 refused, 3 has its token. The rest is the token that it gets. Times are epoch ms.
CREATE TABLE IF NOT EXISTS punctual_device_login (
  id CHAR(64) NOT NULL,
  code VARCHAR(16) NOT NULL,
  program VARCHAR(64) NOT NULL DEFAULT '',
  address VARCHAR(64) NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL DEFAULT 0,
  state TINYINT NOT NULL DEFAULT 0,
  user_id INT NOT NULL DEFAULT 0,
  name VARCHAR(64) NOT NULL DEFAULT '',
  rights INT NOT NULL DEFAULT 0,
  admin TINYINT NOT NULL DEFAULT 0,
  group_ids TEXT NULL,
  days INT NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  UNIQUE KEY i_device_login_code (code),
  KEY i_device_login_expires (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
