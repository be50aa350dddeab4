-- Lists of jobs narrowed to a tag ask the index for the few lists of tags there are, and then for their jobs. Nothing is written to it unless
-- somebody gives a job other tags.

-- +goose Up
ALTER TABLE xxl_job_info ADD KEY i_job_tags (tags);
