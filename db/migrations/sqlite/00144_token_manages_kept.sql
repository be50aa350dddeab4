-- +goose Up
-- Groups that have a token of their own may use it for that today, and go on until somebody decides otherwise.
INSERT INTO punctual_group (app_name, token_manages, updated_at)
SELECT t.app_name, 1, t.updated_at FROM punctual_token AS t WHERE t.app_name <> ''
ON CONFLICT (app_name) DO UPDATE SET token_manages = 1;
