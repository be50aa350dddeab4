-- +goose Up
-- Nobody looks for a step by its run: the run names its step.
DROP INDEX i_flow_step_run ON punctual_flow_step;
