-- Lists of jobs narrowed to a handler ask the index for the few handlers there are, and then for their jobs. Nothing is written to it unless
-- somebody gives a job another handler.

-- +goose Up
CREATE INDEX i_job_handler ON xxl_job_info (executor_handler);
