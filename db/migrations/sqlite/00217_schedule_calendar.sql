-- +goose Up
-- The same in the history of schedules.
ALTER TABLE punctual_schedule ADD COLUMN calendar VARCHAR(64) NOT NULL DEFAULT '';
ALTER TABLE punctual_schedule ADD COLUMN calendar_rule VARCHAR(32) NOT NULL DEFAULT '';
