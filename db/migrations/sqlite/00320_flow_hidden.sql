-- +goose Up
-- An XXL-JOB admin on the same database would schedule started flows, and executors refuse them: it asks for trigger_status 1 alone.
UPDATE xxl_job_info SET trigger_status = 2 WHERE trigger_status = 1 AND glue_type = 'FLOW';
