-- +goose Up
-- The time of the schedule that a run is for, where that is not when it was due to be sent: of a retry that of its first attempt, of a
-- child its parent's, of a run that makes up for missed ones the last of these. Epoch ms; 0: planned_at.
ALTER TABLE xxl_job_log ADD COLUMN planned_for BIGINT NOT NULL DEFAULT 0;
