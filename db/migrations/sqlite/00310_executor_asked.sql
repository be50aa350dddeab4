-- +goose Up
-- When an address that somebody typed was asked last whether it is there, in epoch milliseconds; 0: never.
ALTER TABLE punctual_executor ADD COLUMN asked_at BIGINT NOT NULL DEFAULT 0;
