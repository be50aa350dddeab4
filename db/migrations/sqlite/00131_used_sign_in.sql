-- Sign-ins that have ended in a session; see the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_used_sign_in (
    id      VARCHAR(64) NOT NULL PRIMARY KEY,
    used_at BIGINT      NOT NULL DEFAULT 0
);
CREATE INDEX i_used_sign_in ON punctual_used_sign_in (used_at);
