-- +goose Up
-- The first that wait for a job, in the order of their lines and without the others.
DROP INDEX i_punctual_slot_job;
CREATE INDEX i_punctual_slot_job ON punctual_slot (job_id, running, line, planned_at);
