-- How the last runs of a job ended, for the strips of the job list: read from the index alone, because the rows lie far apart.
-- It takes the place of the indexes on the job that XXL-JOB's releases have had, and serves their queries: beside one of those
-- MariaDB reads all runs of a job where a few are wanted.

-- +goose Up
SET @drops = (SELECT COALESCE(GROUP_CONCAT(DISTINCT ', DROP KEY ', index_name SEPARATOR ''), '') FROM information_schema.statistics
              WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log' AND LOWER(index_name) IN ('i_jobid', 'i_job_id', 'i_jobid_jobgroup'));
SET @alter = CONCAT('ALTER TABLE xxl_job_log ADD KEY i_job_outcome (job_id, id, handle_code, trigger_time)', @drops);
PREPARE change_index FROM @alter;
EXECUTE change_index;
DEALLOCATE PREPARE change_index;
