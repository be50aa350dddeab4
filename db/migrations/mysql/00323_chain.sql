-- +goose Up
-- Of a flow that was made of a job and its child jobs: each job that was changed for it, as it was before, so that it can be undone. version
-- is of the job as it was left; the row of the flow itself has nothing else.
CREATE TABLE IF NOT EXISTS punctual_chain_job (
  flow_id INT NOT NULL,
  job_id INT NOT NULL,
  children VARCHAR(255) NOT NULL DEFAULT '',
  started SMALLINT NOT NULL DEFAULT 0,
  version VARCHAR(64) NOT NULL DEFAULT '',
  PRIMARY KEY (flow_id, job_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
