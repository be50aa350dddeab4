-- Whether a group's previous token is the installation's, which counts for the group for a while, and not one of its own.

-- +goose Up
ALTER TABLE punctual_token ADD COLUMN handover TINYINT NOT NULL DEFAULT 0;
