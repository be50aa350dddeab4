-- Where a user has logged in before: a device (the hash of the id in its cookie) or an address. Failed logins from elsewhere do not
-- count against these. seen_at is epoch ms.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_login_place (
    user_id INT         NOT NULL,
    place   VARCHAR(80) NOT NULL,
    seen_at BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, place),
    KEY i_login_place_seen (seen_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
