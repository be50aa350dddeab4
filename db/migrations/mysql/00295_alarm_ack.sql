-- +goose Up
-- Who looks after an open alarm, since when (0: nobody does), and what they said of it. It ends with the alarm.
ALTER TABLE punctual_alarm_state
    ADD COLUMN acked_at BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN acked_by VARCHAR(64) NOT NULL DEFAULT '',
    ADD COLUMN ack_remark VARCHAR(255) NOT NULL DEFAULT '';
