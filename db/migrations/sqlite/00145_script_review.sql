-- Whether a change of a script of the group waits for a second person.

-- +goose Up
ALTER TABLE punctual_group ADD COLUMN script_review TINYINT NOT NULL DEFAULT 0;
