-- The jobs of the groups that somebody may see, and how many of them are started. Claims write neither column.

-- +goose Up
ALTER TABLE xxl_job_info ADD KEY i_job_group (job_group, trigger_status);
