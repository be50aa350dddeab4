-- How the last runs of a job ended, for the strips of the job list: read from the index alone, because the rows lie far apart.
-- It takes the place of the index on the job alone.

-- +goose Up
CREATE INDEX i_job_outcome ON xxl_job_log (job_id, id, handle_code, trigger_time);
DROP INDEX I_jobid;
