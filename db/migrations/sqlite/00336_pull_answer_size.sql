-- +goose Up
-- Which executor's answers wait, and how many bytes: both are bounded, and counted from the index alone.
ALTER TABLE punctual_pull_answer ADD COLUMN size INT NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS i_pull_answer_executor ON punctual_pull_answer (address, app_name, size);
