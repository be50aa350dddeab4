-- +goose Up
-- The step of a flow that a run carries out, a row of punctual_flow_step; 0: none.
ALTER TABLE xxl_job_log ADD COLUMN flow_step BIGINT NOT NULL DEFAULT 0;
