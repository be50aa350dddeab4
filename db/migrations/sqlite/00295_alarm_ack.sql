-- Who looks after an open alarm; explained in the MySQL file of the same name.

-- +goose Up
ALTER TABLE punctual_alarm_state ADD COLUMN acked_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE punctual_alarm_state ADD COLUMN acked_by VARCHAR(64) NOT NULL DEFAULT '';
ALTER TABLE punctual_alarm_state ADD COLUMN ack_remark VARCHAR(255) NOT NULL DEFAULT '';
