-- What led to an alarm, as data; explained in the MySQL file of the same name.

-- +goose Up
ALTER TABLE punctual_alarm_notice ADD COLUMN events TEXT NULL;
