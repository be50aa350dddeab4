-- The runs of jobs that may have only so many at a time; the tables are explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_slot (
    log_id     INTEGER PRIMARY KEY,
    job_id     INT     NOT NULL,
    running    TINYINT NOT NULL DEFAULT 0,
    planned_at BIGINT  NOT NULL DEFAULT 0
);
CREATE INDEX i_punctual_slot_job ON punctual_slot (job_id, running, planned_at);
CREATE TABLE punctual_gate (
    job_id INTEGER PRIMARY KEY,
    turn   BIGINT NOT NULL DEFAULT 0
);
