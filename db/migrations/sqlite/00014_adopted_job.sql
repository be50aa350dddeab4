-- Jobs whose times are not what they were under XXL-JOB.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_adopted_job (
    job_id        INTEGER NOT NULL PRIMARY KEY,
    finding       TEXT    NOT NULL DEFAULT '',
    schedule_type TEXT    NOT NULL DEFAULT '',
    schedule_conf TEXT    NOT NULL DEFAULT ''
);
