-- +goose Up
-- Since when it does not answer as an executor does, in epoch milliseconds; 0: it answered when it was asked last.
ALTER TABLE punctual_executor ADD COLUMN silent_since BIGINT NOT NULL DEFAULT 0;
