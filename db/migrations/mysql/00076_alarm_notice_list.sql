-- The same for what is told of it. Before that, what may be done twice: the index of the strips has the outcome too, since a run
-- that was killed may have reported a success. The ALTER that may not is last, because each commits on its own.

-- +goose Up
ALTER TABLE xxl_job_log DROP KEY i_job_outcome, ADD KEY i_job_outcome (job_id, id, handle_code, trigger_time, outcome);
ALTER TABLE punctual_alarm_notice ADD COLUMN events TEXT NULL;
