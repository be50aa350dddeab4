-- What is known of a database that was XXL-JOB's; see db/adopted.go.

-- name: GetAdoption :one
SELECT release_line, adopted_at, checked_at, tokens_at, backoffs, finished_at, finished_by FROM punctual_adoption WHERE id = 1;

-- name: FinishAdoption :execrows
-- From now on there is no way back. 0 rows: somebody else has said so, or there never was one.
UPDATE punctual_adoption SET finished_at = sqlc.arg(finished_at), finished_by = sqlc.arg(finished_by) WHERE id = 1 AND finished_at = 0;

-- name: NoteAdoptionChecked :exec
UPDATE punctual_adoption SET checked_at = sqlc.arg(checked_at), backoffs = sqlc.arg(backoffs) WHERE id = 1;

-- name: NoteAdoptedTokens :exec
UPDATE punctual_adoption SET tokens_at = sqlc.arg(tokens_at) WHERE id = 1;

-- name: InsertAdoptedJob :exec
-- What is there was found by an admin that started at the same moment.
INSERT IGNORE INTO punctual_adopted_job (job_id, finding, schedule_type, schedule_conf) VALUES (?, ?, ?, ?);

-- name: ListAdoptedJobs :many
-- Jobs with a finding whose schedule nobody has changed since, the started ones first. HEX, because XXL-JOB's tables have another collation
-- than ours, in which MySQL would not compare.
SELECT a.job_id, a.finding, a.schedule_conf, j.job_desc, j.trigger_status
FROM punctual_adopted_job AS a JOIN xxl_job_info AS j ON j.id = a.job_id AND HEX(j.schedule_type) = HEX(a.schedule_type)
  AND HEX(COALESCE(j.schedule_conf, '')) = HEX(a.schedule_conf)
ORDER BY j.trigger_status DESC, a.job_id LIMIT ?;

-- name: ListSchedulesAfter :many
-- All jobs with when they are due, some at a time.
SELECT id, schedule_type, schedule_conf FROM xxl_job_info WHERE id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: CountJobsWithBackoff :one
-- Jobs with retries that wait as long as somebody asks.
SELECT COUNT(*) FROM xxl_job_info WHERE executor_fail_retry_count > 0 AND retry_backoff = sqlc.arg(retry_backoff);

-- name: CountJobsWithMail :one
-- Jobs that name addresses for alarm mails.
SELECT COUNT(*) FROM xxl_job_info WHERE alarm_email <> '';

-- name: CountChannelsForJobs :one
-- Channels that carry the mails to them: one at most.
SELECT COUNT(*) FROM punctual_alarm_channel WHERE for_jobs = 1 AND enabled = 1 AND kind = 'mail';

-- name: InsertAdoptedToken :execrows
-- The token that a group had in XXL-JOB 3.5, unless the group has one here.
INSERT IGNORE INTO punctual_token (app_name, token, updated_at) VALUES (?, ?, ?);

-- name: ListMovedJobs :many
-- Jobs of the status that stands for started jobs here, and for nothing in XXL-JOB. Flows are ours, in a database that comes back.
SELECT id FROM xxl_job_info WHERE trigger_status = 2 AND glue_type <> 'FLOW' ORDER BY id;

-- name: StopMovedJobs :exec
-- XXL-JOB takes them for stopped.
UPDATE xxl_job_info SET trigger_status = 0 WHERE trigger_status = 2 AND id IN (sqlc.slice(ids));
