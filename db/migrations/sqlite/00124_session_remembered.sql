-- Whether the user asked to stay logged in: such a session has its own limit.

-- +goose Up
ALTER TABLE punctual_session ADD COLUMN remembered TINYINT NOT NULL DEFAULT 0;
