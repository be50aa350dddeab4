-- Lists of jobs by name and by next time, whatever groups they are narrowed to, read an index alone. Neither is written more often for
-- it: a fire moves its job in i_trigger_next as before, and in i_job_name nothing is written unless somebody changes the job. ids stand
-- before what only narrows, so that claims read the former in the order of next times and ids as before. The older formats of a table,
-- which some of XXL-JOB's have, cannot index so many bytes.

-- +goose Up
ALTER TABLE xxl_job_info
    ROW_FORMAT = DYNAMIC,
    DROP KEY i_trigger_next, ADD KEY i_trigger_next (trigger_status, trigger_next_time, id, job_group),
    ADD KEY i_job_name (job_desc, id, job_group, trigger_status);
