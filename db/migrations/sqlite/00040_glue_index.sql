-- The versions of one script must cost what that one has, not what all have.

-- +goose Up
CREATE INDEX i_glue_job ON xxl_job_logglue (job_id);
