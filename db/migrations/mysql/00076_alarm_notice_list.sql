-- The same for what is told of it.

-- +goose Up
ALTER TABLE punctual_alarm_notice ADD COLUMN events TEXT NULL;
