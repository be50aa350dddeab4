-- The same for the hours of the groups.

-- +goose Up
ALTER TABLE punctual_run_hour ADD COLUMN skip_count BIGINT NOT NULL DEFAULT 0;
