-- +goose Up
-- Of a flow that was made of a job and its child jobs: each job that was changed for it, as it was before; explained in the MySQL file of the
-- same name.
CREATE TABLE IF NOT EXISTS punctual_chain_job (
  flow_id INTEGER NOT NULL,
  job_id INTEGER NOT NULL,
  children VARCHAR(255) NOT NULL DEFAULT '',
  started SMALLINT NOT NULL DEFAULT 0,
  version VARCHAR(64) NOT NULL DEFAULT '',
  PRIMARY KEY (flow_id, job_id)
);
