-- The executor group whose editors look after an alarm channel; 0: the installation's, for administrators only. A group's channel
-- carries alarms of that group's jobs alone.

-- +goose Up
ALTER TABLE punctual_alarm_channel ADD COLUMN group_id INT NOT NULL DEFAULT 0;
