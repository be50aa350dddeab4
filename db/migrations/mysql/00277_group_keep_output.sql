-- +goose Up
-- The same of a group's jobs; '' as the settings say.
ALTER TABLE punctual_group ADD COLUMN keep_output VARCHAR(8) NOT NULL DEFAULT '';
