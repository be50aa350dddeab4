-- +goose Up
-- The first that wait for a job, in the order of their lines and without the others.
ALTER TABLE punctual_slot DROP KEY i_job, ADD KEY i_job (job_id, running, line, planned_at, log_id);
