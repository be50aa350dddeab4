-- Somebody has shown who they are and has no session yet, because a step is left (a second factor, a new password). The cookie holds
-- the number whose hash is the id. Rows of a few minutes; what is a session is in punctual_session and nowhere else. Times are
-- epoch ms; challenge is what a step has asked.

-- +goose Up
CREATE TABLE punctual_sign_in (
    id         VARCHAR(64)  NOT NULL,
    user_id    INT          NOT NULL,
    way        VARCHAR(16)  NOT NULL DEFAULT '',
    provider   VARCHAR(64)  NOT NULL DEFAULT '',
    remember   TINYINT      NOT NULL DEFAULT 0,
    strong     TINYINT      NOT NULL DEFAULT 0,
    address    VARCHAR(64)  NOT NULL DEFAULT '',
    challenge  TEXT,
    expires_at BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
);
CREATE INDEX i_sign_in_user ON punctual_sign_in (user_id);
CREATE INDEX i_sign_in_expires ON punctual_sign_in (expires_at);
