-- +goose Up
-- When a message was tried first, moved on by quiet hours since; 0: not yet. Epoch ms.
ALTER TABLE punctual_alarm_delivery ADD COLUMN tried_at BIGINT NOT NULL DEFAULT 0;
