-- +goose Up
-- Which executor's answers wait, and how many bytes: both are bounded, and counted from the index alone.
ALTER TABLE punctual_pull_answer ADD COLUMN size INT NOT NULL DEFAULT 0, ADD KEY i_pull_answer_executor (address, app_name, size);
