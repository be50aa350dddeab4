-- +goose Up
-- 1: the message tells a service that keeps incidents that somebody looks after the alarm.
ALTER TABLE punctual_alarm_delivery ADD COLUMN acked TINYINT NOT NULL DEFAULT 0;
