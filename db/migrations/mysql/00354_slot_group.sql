-- +goose Up
-- The group whose limit a run counts for; 0: none's. An admin that does not know of it writes none.
ALTER TABLE punctual_slot ADD COLUMN group_id INT NOT NULL DEFAULT 0, ADD KEY i_group (group_id, running, planned_at, job_id);
