-- +goose Up
-- By the priority of its job; what waits in a lower line is before what waits in a higher one. An admin that does not know of it writes 0, that of normal jobs.
-- The index has the columns by which a line is sorted, so that its first are found without the others.
ALTER TABLE punctual_slot ADD COLUMN line INT NOT NULL DEFAULT 0, DROP KEY i_group, ADD KEY i_group (group_id, running, line, planned_at, log_id, job_id);
