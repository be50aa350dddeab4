-- Lists of jobs narrowed to a handler ask the index for the few handlers there are, and then for their jobs. Nothing is written to it unless
-- somebody gives a job another handler.

-- +goose Up
ALTER TABLE xxl_job_info ADD KEY i_job_handler (executor_handler);
