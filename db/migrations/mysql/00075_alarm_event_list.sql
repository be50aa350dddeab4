-- What led to an alarm, as data (see package scheduler/event); detail holds the executor's own words alone.

-- +goose Up
ALTER TABLE punctual_alarm_event ADD COLUMN events TEXT NULL;
