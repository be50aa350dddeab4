-- The jobs that start others, which a job's deletion asks about: few among many. Claims do not write the column.

-- +goose Up
ALTER TABLE xxl_job_info ADD KEY i_job_children (child_jobid(12));
