-- Whether the executors of a group may manage its jobs with the group's own token, as in XXL-JOB 3.5.

-- +goose Up
ALTER TABLE punctual_group ADD COLUMN token_manages TINYINT NOT NULL DEFAULT 0;
