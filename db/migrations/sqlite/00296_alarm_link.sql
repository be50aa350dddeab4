-- +goose Up
-- When the link of a message, by which its alarm can be acknowledged once, was used; 0: it was not.
ALTER TABLE punctual_alarm_delivery ADD COLUMN link_used_at BIGINT NOT NULL DEFAULT 0;
