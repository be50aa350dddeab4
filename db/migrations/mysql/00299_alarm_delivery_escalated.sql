-- +goose Up
-- 1: the message tells a second channel of an alarm that nobody looked after.
ALTER TABLE punctual_alarm_delivery ADD COLUMN escalated TINYINT NOT NULL DEFAULT 0;
