-- +goose Up
-- The jobs of a group's line, without reading all of its runs.
ALTER TABLE punctual_slot ADD KEY i_group_job (group_id, running, line, job_id, planned_at, log_id);
