-- Finding due jobs must cost what is due, not what exists; XXL-JOB reads the whole table.

-- +goose Up
ALTER TABLE xxl_job_info ADD KEY i_trigger_next (trigger_status, trigger_next_time);
