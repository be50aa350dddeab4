-- +goose Up
-- The definitions that runs of flows began with, each once, whatever becomes of the job's own (scheduler/flows.go).
CREATE TABLE punctual_flow_text (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id  BIGINT      NOT NULL DEFAULT 0,
    digest  VARCHAR(64) NOT NULL DEFAULT '',
    made_at BIGINT      NOT NULL DEFAULT 0,
    source  MEDIUMTEXT  NOT NULL
);
CREATE UNIQUE INDEX i_flow_text_digest ON punctual_flow_text (job_id, digest);
