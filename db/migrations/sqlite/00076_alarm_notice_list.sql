-- What led to an alarm, as data, and the outcome in the index of the strips; explained in the MySQL file of the same name.

-- +goose Up
DROP INDEX i_job_outcome;
CREATE INDEX i_job_outcome ON xxl_job_log (job_id, id, handle_code, trigger_time, outcome);
ALTER TABLE punctual_alarm_notice ADD COLUMN events TEXT NULL;
