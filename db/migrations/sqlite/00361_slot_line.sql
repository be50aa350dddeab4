-- +goose Up
-- By the priority of its job; what waits in a lower line is before what waits in a higher one. An admin that does not know of it writes 0, that of normal jobs.
ALTER TABLE punctual_slot ADD COLUMN line INT NOT NULL DEFAULT 0;
DROP INDEX i_punctual_slot_group;
CREATE INDEX i_punctual_slot_group ON punctual_slot (group_id, running, line, planned_at, job_id);
