-- The same for what is told of it. A file of its own, because each ALTER commits on its own.

-- +goose Up
ALTER TABLE punctual_alarm_notice ADD COLUMN events TEXT NULL;
