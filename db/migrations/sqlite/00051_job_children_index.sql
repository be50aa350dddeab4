-- The jobs that start others, which a job's deletion asks about: few among many. Claims do not write the column.

-- +goose Up
CREATE INDEX i_job_children ON xxl_job_info (child_jobid) WHERE child_jobid >= ',';
