-- +goose Up
-- Of the events that were not kept, those that the receiver has not been told of by an event: since when. They are told when the queue has room.
ALTER TABLE punctual_webhook ADD COLUMN untold BIGINT NOT NULL DEFAULT 0, ADD COLUMN untold_since BIGINT NOT NULL DEFAULT 0;
