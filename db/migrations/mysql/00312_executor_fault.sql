-- +goose Up
-- The kind of failure of the last question (wire.Fault); '' when it answered.
ALTER TABLE punctual_executor ADD COLUMN fault VARCHAR(16) NOT NULL DEFAULT '';
