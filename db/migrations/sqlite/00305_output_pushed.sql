-- +goose Up
-- Of a copy: 1 when the executor pushed it as all that the run wrote, so that nobody asks for more when the run has ended.
ALTER TABLE punctual_output ADD COLUMN pushed TINYINT NOT NULL DEFAULT 0;
