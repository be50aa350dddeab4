-- What was counted before has the group of its longest run, and where that is deleted the one in which the job is.
-- Read committed, or all these runs and jobs would be locked until the end, for which the claims of other admins would wait.
-- +goose NO TRANSACTION
-- +goose Up
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
UPDATE punctual_job_day SET job_group = COALESCE((SELECT l.job_group FROM xxl_job_log AS l WHERE l.id = punctual_job_day.longest_id),
  (SELECT j.job_group FROM xxl_job_info AS j WHERE j.id = punctual_job_day.job_id), 0) WHERE job_group = 0;
