-- +goose Up
-- By the priority of its job; what waits in a lower line is before what waits in a higher one. An admin that does not know of it writes 0, that of normal jobs.
ALTER TABLE punctual_slot ADD COLUMN line INT NOT NULL DEFAULT 0, DROP KEY i_group, ADD KEY i_group (group_id, running, line, planned_at, job_id);
