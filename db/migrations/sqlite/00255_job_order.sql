-- Lists of jobs by name and by next time, whatever groups they are narrowed to, read an index alone. Neither is written more often for
-- it: a fire moves its job in i_trigger_next as before, and in i_job_name nothing is written unless somebody changes the job. ids stand
-- before what only narrows, so that claims read the former in the order of next times and ids as before.

-- +goose Up
DROP INDEX IF EXISTS i_trigger_next;
CREATE INDEX i_trigger_next ON xxl_job_info (trigger_status, trigger_next_time, id, job_group);
CREATE INDEX i_job_name ON xxl_job_info (job_desc, id, job_group, trigger_status);
