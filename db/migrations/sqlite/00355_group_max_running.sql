-- +goose Up
-- How many runs of a group's jobs there may be at a time; 0: as many as come.
ALTER TABLE punctual_group ADD COLUMN max_running INT NOT NULL DEFAULT 0;
