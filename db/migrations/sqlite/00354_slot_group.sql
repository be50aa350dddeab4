-- +goose Up
-- The group whose limit a run counts for; 0: none's. An admin that does not know of it writes none.
ALTER TABLE punctual_slot ADD COLUMN group_id INT NOT NULL DEFAULT 0;
CREATE INDEX i_punctual_slot_group ON punctual_slot (group_id, running, planned_at, job_id);
