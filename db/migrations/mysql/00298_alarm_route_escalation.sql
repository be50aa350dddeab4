-- +goose Up
-- After how many minutes (0: never) a route tells a second channel of an alarm that nobody looks after.
ALTER TABLE punctual_alarm_route
    ADD COLUMN escalate_after INT NOT NULL DEFAULT 0,
    ADD COLUMN escalate_to BIGINT NOT NULL DEFAULT 0;
