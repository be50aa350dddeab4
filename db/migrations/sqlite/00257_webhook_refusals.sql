-- +goose Up
-- How often its receiver refused an event. tries counts those too that failed because the receiver was in trouble.
ALTER TABLE punctual_webhook_delivery ADD COLUMN refusals INT NOT NULL DEFAULT 0;
