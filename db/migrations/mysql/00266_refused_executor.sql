-- +goose Up
-- The address of an executor that asks for its calls, where that is what was refused; '' for none.
ALTER TABLE punctual_refused ADD COLUMN executor VARCHAR(128) NOT NULL DEFAULT '';
