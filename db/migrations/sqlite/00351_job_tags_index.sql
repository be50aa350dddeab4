-- Lists of jobs narrowed to a tag ask the index for the few lists of tags there are, and then for their jobs. Nothing is written to it unless
-- somebody gives a job other tags.

-- +goose Up
CREATE INDEX i_job_tags ON xxl_job_info (tags);
