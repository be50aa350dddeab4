-- The jobs of the groups that somebody may see, and how many of them are started. Claims write neither column.

-- +goose Up
CREATE INDEX i_job_group ON xxl_job_info (job_group, trigger_status);
