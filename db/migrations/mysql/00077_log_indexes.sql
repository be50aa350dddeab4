-- How the last runs of a job ended, for the strips of the job list: read from the index alone, because the rows lie far apart. The
-- outcome is in it, since a run that was killed may have reported a success. It takes the place of the indexes on the job that
-- XXL-JOB's releases have had, and serves their queries: beside one of those MariaDB reads all runs of a job where a few are wanted.
-- And the index on a run's group, which XXL-JOB has since 3.4.0; a table that has one that begins with the column is left as it is.
-- One statement, so that the log is read once. On a big log it is run after the start (db/deferred.go).

-- +goose Up
SET @has_outcome = (SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'
                    AND LOWER(index_name) = 'i_job_outcome' AND LOWER(column_name) = 'outcome');
SET @changes = (SELECT COALESCE(GROUP_CONCAT(DISTINCT 'DROP KEY ', index_name SEPARATOR ', '), '') FROM information_schema.statistics
                WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'
                AND (LOWER(index_name) IN ('i_jobid', 'i_job_id', 'i_jobid_jobgroup') OR LOWER(index_name) = 'i_job_outcome' AND @has_outcome = 0));
SET @changes = CASE WHEN @has_outcome > 0 THEN @changes ELSE CONCAT_WS(', ', NULLIF(@changes, ''), 'ADD KEY i_job_outcome (job_id, id, handle_code, trigger_time, outcome)') END;
SET @has_group = (SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'
                  AND LOWER(column_name) = 'job_group' AND seq_in_index = 1);
SET @changes = CASE WHEN @has_group > 0 THEN @changes ELSE CONCAT_WS(', ', NULLIF(@changes, ''), 'ADD KEY I_jobgroup (job_group)') END;
SET @alter = CASE WHEN @changes = '' THEN 'DO 0' ELSE CONCAT('ALTER TABLE xxl_job_log ', @changes) END;
PREPARE change_index FROM @alter;
EXECUTE change_index;
DEALLOCATE PREPARE change_index;
