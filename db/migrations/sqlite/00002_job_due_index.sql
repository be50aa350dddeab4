-- Finding due jobs must cost what is due, not what exists.

-- +goose Up
CREATE INDEX i_trigger_next ON xxl_job_info (trigger_status, trigger_next_time);
