-- +goose Up
-- The same of a group.
CREATE INDEX i_output_group ON punctual_output (job_group, log_id);
