-- What the dashboard asks across tables. Each reads an index from one end and stops at its limit.

-- name: ListFailuresByCode :many
-- The newest runs with a result code, or without any (0), between two ids, and whether each is a failure: fires that were passed
-- over and runs that somebody ended did not succeed on purpose (see event.Outcome; of an XXL-JOB admin's rows the codes tell it), and
-- a trial of a script is nobody's failure.
-- By the index on handle_code, in which the id follows.
SELECT id, job_id, executor_sharding_param, CAST(CASE
         WHEN trigger_type = 'TRIAL' THEN 0
         WHEN outcome <> 0 THEN outcome IN (2, 3, 4, 5, 7, 10)
         WHEN handle_code <> 0 THEN handle_code <> 200
         ELSE trigger_code NOT IN (0, 200)
       END AS SIGNED) AS failed
FROM xxl_job_log FORCE INDEX (I_handle_code)
WHERE handle_code = sqlc.arg(handle_code) AND id >= sqlc.arg(from_id) AND id < sqlc.arg(before_id)
ORDER BY id DESC LIMIT ?;

-- name: ListFailedRuns :many
-- Some runs as the console shows them, newest first.
SELECT id, job_group, job_id, executor_address, executor_handler, executor_param, executor_sharding_param,
       executor_fail_retry_count, trigger_time, trigger_code, handle_time, handle_code,
       planned_at, planned_for, owner_node, trigger_type, origin_log_id, sent_at, finished_at,
       outcome, kill_asked_at, SUBSTRING(COALESCE(events, ''), 1, 8000) AS events,
       SUBSTRING(COALESCE(trigger_msg, ''), 1, 2000) AS trigger_note, SUBSTRING(COALESCE(handle_msg, ''), 1, 300) AS handle_note
FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) ORDER BY id DESC;

-- name: ListOldestOpenRuns :many
-- Those of the runs that were open a sweep ago and still are, the oldest first.
SELECT id, job_group, job_id, executor_address, executor_handler, executor_param, executor_sharding_param,
       executor_fail_retry_count, trigger_time, trigger_code, handle_time, handle_code,
       planned_at, planned_for, owner_node, trigger_type, origin_log_id, sent_at, finished_at,
       outcome, kill_asked_at, SUBSTRING(COALESCE(events, ''), 1, 8000) AS events,
       SUBSTRING(COALESCE(trigger_msg, ''), 1, 2000) AS trigger_note, SUBSTRING(COALESCE(handle_msg, ''), 1, 300) AS handle_note
FROM xxl_job_log
WHERE id IN (sqlc.slice(ids)) AND handle_code = 0 AND trigger_code IN (0, 200)
ORDER BY id;

-- name: ListSuccessesAfter :many
-- Successes of a job above an id, in no order: one is enough to have recovered from what failed before. Asked for the
-- first, MySQL would rather read every run above the id than those of the job.
SELECT l.id FROM xxl_job_log AS l WHERE l.job_id = sqlc.arg(job_id) AND l.id > sqlc.arg(after_id) AND l.handle_code = 200
  AND NOT EXISTS (SELECT 1 FROM punctual_trial AS t WHERE t.log_id = l.id) LIMIT ?;

-- name: ListSuccessesOfPartAfter :many
-- The same for a part of a broadcast: successes of its own, and those of fires that had another number of parts. What other parts of as many
-- did says nothing of it. others is a pattern of these. (+ 0: or SQLite would read every success.)
SELECT l.id FROM xxl_job_log AS l FORCE INDEX (i_job_outcome) WHERE l.job_id = sqlc.arg(job_id) AND l.id > sqlc.arg(after_id) AND l.handle_code + 0 = 200
  AND (l.executor_sharding_param = sqlc.arg(part) OR l.executor_sharding_param IS NULL OR l.executor_sharding_param NOT LIKE sqlc.arg(others))
  AND NOT EXISTS (SELECT 1 FROM punctual_trial AS t WHERE t.log_id = l.id) LIMIT ?;

-- name: CountJobsByGroup :many
-- Jobs and started jobs of each group. It reads all jobs, so the caller keeps the answer for a while.
SELECT job_group, COUNT(*) AS total, CAST(COALESCE(SUM(CASE WHEN trigger_status > 0 THEN 1 ELSE 0 END), 0) AS SIGNED) AS started
FROM xxl_job_info GROUP BY job_group ORDER BY job_group;

-- name: ListJobsDueWithin :many
-- The schedules of started jobs due up to a moment, soonest first, for the forecast. [ListDueWithin] asks twice.
SELECT id, job_group, schedule_type, schedule_conf, time_zone, trigger_next_time, end_at, calendar, calendar_rule, tags, paused_at, paused_next FROM xxl_job_info
WHERE trigger_status = 1 + CAST(sqlc.arg(hidden) AS SIGNED) AND trigger_next_time <= sqlc.arg(until_ms)
ORDER BY trigger_next_time LIMIT ?;

-- name: ListSchedulesOfJobs :many
-- The same of some jobs, for the timeline.
SELECT id, job_group, schedule_type, schedule_conf, time_zone, trigger_next_time, end_at, calendar, calendar_rule, tags, paused_at, paused_next FROM xxl_job_info
WHERE trigger_status > CAST(sqlc.arg(beside) AS SIGNED) AND id IN (sqlc.slice(ids)) AND trigger_next_time > 0 AND trigger_next_time <= sqlc.arg(until_ms);


-- name: GetFirstSteps :one
-- What of its first steps an installation has taken: each is one look at the first row there is. The jobs and groups of the sample are made
-- by nobody.
SELECT EXISTS (SELECT 1 FROM xxl_job_info WHERE author <> sqlc.arg(sample_author)) AS any_job,
       EXISTS (SELECT 1 FROM punctual_alarm_channel) AS any_channel,
       EXISTS (SELECT 1 FROM xxl_job_user LIMIT 1 OFFSET 1) AS any_people;
