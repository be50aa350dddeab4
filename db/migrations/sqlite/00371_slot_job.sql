-- +goose Up
-- The jobs of a group's line, without reading all of its runs.
CREATE INDEX i_punctual_slot_group_job ON punctual_slot (group_id, running, line, job_id, planned_at);
