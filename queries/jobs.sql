-- What touches xxl_job_info. Columns are always named: their order differs between XXL-JOB releases (docs/compat.md §2.3).
-- Started jobs have trigger_status 1, which XXL-JOB admins schedule, or 2, which they take for stopped: flows have it, and beside XXL-JOB
-- admins (db/beside.go) all jobs of ours. There the argument "beside" is 1, else 0, so that what is ours is above it. Where the order of
-- an index counts, one value is asked for at a time: the argument "hidden" is 1 for those with 2. See db/due.go.

-- name: ListDueJobs :many
-- The claim's plain read: running jobs due up to a moment, in the order (next time, id), a page at a time by that key so
-- that no job starves behind a limit. It leaves out the source text, which only GLUE jobs need (GetJobSource), and groups whose executors
-- have too much to do, which the index tells apart.
SELECT id, job_group, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy, executor_handler,
       executor_param, executor_block_strategy, executor_timeout, executor_fail_retry_count, glue_type, glue_updatetime,
       child_jobid, trigger_last_time, trigger_next_time, time_zone, start_at, end_at, retry_backoff, max_concurrent,
       concurrency_policy, claimed_until, tags, paused_at, paused_next, calendar, calendar_rule, misfire_more, misfire_last, misfire_within, when_lost, keep_output, priority
FROM xxl_job_info
WHERE trigger_status = 1 + CAST(sqlc.arg(hidden) AS SIGNED) AND trigger_next_time <= sqlc.arg(until_ms)
  AND (trigger_next_time > sqlc.arg(after_ms) OR (trigger_next_time = sqlc.arg(after_ms) AND id > sqlc.arg(after_id)))
  AND job_group NOT IN (sqlc.slice(held))
ORDER BY trigger_next_time, id
LIMIT ?;

-- name: ListJobsToRun :many
-- What a run needs to know of its job, for steps of flows that start: without what describes, plans and watches it, and without its source. And
-- whether the job is one of ListHeededJobs, for the end of the step before.
SELECT id, job_group, schedule_type, misfire_strategy, executor_route_strategy, executor_handler, executor_param, executor_block_strategy,
       executor_timeout, executor_fail_retry_count, glue_type, glue_updatetime, time_zone, retry_backoff, max_concurrent, concurrency_policy,
       keep_output, when_lost, priority,
       CASE WHEN child_jobid <> '' OR schedule_type = 'FIX_DELAY' OR max_concurrent > 0 OR keep_output <> '' OR glue_type = 'FLOW' THEN 1 ELSE 0 END AS heeded
FROM xxl_job_info WHERE id IN (sqlc.slice(ids));

-- name: GetJobSource :one
-- The source of a GLUE job, read when its version is not in the engine's cache.
SELECT glue_source, glue_updatetime FROM xxl_job_info WHERE id = ?;

-- name: GetJob :one
SELECT id, job_group, job_desc, add_time, update_time, author, alarm_email, schedule_type, schedule_conf, misfire_strategy,
       executor_route_strategy, executor_handler, executor_param, executor_block_strategy, executor_timeout,
       executor_fail_retry_count, glue_type, glue_source, glue_remark, glue_updatetime, child_jobid, trigger_status,
       trigger_last_time, trigger_next_time, time_zone, start_at, end_at, retry_backoff, max_concurrent, concurrency_policy,
       retention_days, warn_after_seconds, expect_every_seconds, tags, revision, claimed_until, param_fixed, paused_at, paused_next, paused_rev, calendar, calendar_rule, done_by,
       misfire_more, misfire_last, misfire_within, keep_output, when_lost, runbook, param_form, priority
FROM xxl_job_info WHERE id = ?;

-- name: ListJobsByID :many
-- Jobs by id, for follow-ups (children, retries) and for the names beside a page of runs.
SELECT id, job_group, job_desc, add_time, update_time, author, alarm_email, schedule_type, schedule_conf, misfire_strategy,
       executor_route_strategy, executor_handler, executor_param, executor_block_strategy, executor_timeout,
       executor_fail_retry_count, glue_type, glue_source, glue_remark, glue_updatetime, child_jobid, trigger_status,
       trigger_last_time, trigger_next_time, time_zone, start_at, end_at, retry_backoff, max_concurrent, concurrency_policy,
       retention_days, warn_after_seconds, expect_every_seconds, tags, revision, claimed_until, param_fixed, paused_at, paused_next, paused_rev, calendar, calendar_rule, done_by,
       misfire_more, misfire_last, misfire_within, keep_output, when_lost, runbook, param_form, priority
FROM xxl_job_info WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListJobsToSpread :many
-- What the preview of a spread needs to know of jobs, of which there may be thousands: what they are called and when they are due.
SELECT id, job_group, job_desc, schedule_type, schedule_conf, time_zone, start_at, end_at, calendar, calendar_rule, revision
FROM xxl_job_info WHERE id IN (sqlc.slice(ids));

-- name: ListJobTitles :many
-- What jobs are called, and whose they are.
SELECT id, job_group, job_desc FROM xxl_job_info WHERE id IN (sqlc.slice(ids));

-- name: ListTagsInUse :many
-- The tags of the newest jobs, as the jobs have them, for forms that offer some. Bounded, because no index knows tags.
SELECT DISTINCT j.tags FROM (SELECT i.tags FROM xxl_job_info AS i ORDER BY i.id DESC LIMIT 2000) AS j WHERE j.tags <> '' ORDER BY j.tags LIMIT 200;

-- name: ListTagsWith :many
-- The tags of jobs, as the jobs have them, with a text among them; by the collation, so the caller compares what is found. What differs
-- only by the collation is told each, or one that others have in other letters would not be found. Their index has all of it.
SELECT tags FROM xxl_job_info FORCE INDEX (i_job_tags) WHERE tags > '' AND CONCAT(',', tags, ',') LIKE sqlc.arg(pattern) ESCAPE '!' GROUP BY tags, HEX(tags) LIMIT ?;

-- name: ListJobsByName :many
-- What jobs are called, by name: an index has all of it.
SELECT id, job_group, job_desc FROM xxl_job_info ORDER BY job_desc, id LIMIT ?;

-- name: ListJobs :many
-- A page of the job list: the jobs that were found ([FindJobs]), newest first, without their long texts.
SELECT id, job_group, job_desc, add_time, update_time, author, alarm_email, schedule_type, schedule_conf, misfire_strategy,
       executor_route_strategy, executor_handler, executor_param, executor_block_strategy, executor_timeout,
       executor_fail_retry_count, glue_type, glue_updatetime, child_jobid, trigger_status,
       trigger_last_time, trigger_next_time, time_zone, tags, start_at, end_at, paused_at, paused_next, calendar, calendar_rule, done_by
FROM xxl_job_info WHERE id IN (sqlc.slice(ids)) ORDER BY id DESC;

-- name: ListJobNames :many
-- Ids and names of one group's jobs, for the pick list of the run filter; at most the limit.
SELECT id, job_desc FROM xxl_job_info
WHERE job_group = ?
ORDER BY id DESC LIMIT ?;

-- name: CountJobsOfGroup :one
-- Guards the deletion of a group.
SELECT COUNT(*) FROM xxl_job_info WHERE job_group = ?;

-- name: InsertJob :execlastid
-- A new job is always stopped; StartJob is what makes it due.
INSERT INTO xxl_job_info (job_group, job_desc, add_time, update_time, author, alarm_email, schedule_type, schedule_conf,
  misfire_strategy, executor_route_strategy, executor_handler, executor_param, executor_block_strategy, executor_timeout,
  executor_fail_retry_count, glue_type, glue_source, glue_remark, glue_updatetime, child_jobid, time_zone, start_at, end_at,
  retry_backoff, max_concurrent, concurrency_policy, retention_days, warn_after_seconds, expect_every_seconds, tags, param_fixed,
  calendar, calendar_rule, done_by, misfire_more, misfire_last, misfire_within, keep_output, when_lost, runbook, param_form, priority, trigger_status, trigger_last_time, trigger_next_time)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0);

-- name: UpdateJob :execrows
-- Changes a definition and its next time together. Guarded by the next time and the revision that were read, so that neither a claim
-- nor somebody's change in between is undone: 0 rows means re-read and try again. GLUE type and source are not changed here (docs/compat.md §5.4).
-- What was claimed beyond a new next time was claimed by another schedule or a wrong clock, and holds nothing back.
UPDATE xxl_job_info
SET job_group = sqlc.arg(job_group), job_desc = sqlc.arg(job_desc), update_time = sqlc.arg(update_time),
    author = sqlc.arg(author), alarm_email = sqlc.arg(alarm_email), schedule_type = sqlc.arg(schedule_type),
    schedule_conf = sqlc.arg(schedule_conf), misfire_strategy = sqlc.arg(misfire_strategy),
    executor_route_strategy = sqlc.arg(executor_route_strategy), executor_handler = sqlc.arg(executor_handler),
    executor_param = sqlc.arg(executor_param), executor_block_strategy = sqlc.arg(executor_block_strategy),
    executor_timeout = sqlc.arg(executor_timeout), executor_fail_retry_count = sqlc.arg(executor_fail_retry_count),
    child_jobid = sqlc.arg(child_jobid), time_zone = sqlc.arg(time_zone), start_at = sqlc.arg(start_at),
    end_at = sqlc.arg(end_at), retry_backoff = sqlc.arg(retry_backoff), max_concurrent = sqlc.arg(max_concurrent),
    concurrency_policy = sqlc.arg(concurrency_policy), retention_days = sqlc.arg(retention_days),
    warn_after_seconds = sqlc.arg(warn_after_seconds), expect_every_seconds = sqlc.arg(expect_every_seconds),
    tags = sqlc.arg(tags), param_fixed = sqlc.arg(param_fixed), calendar = sqlc.arg(calendar), calendar_rule = sqlc.arg(calendar_rule),
    done_by = sqlc.arg(done_by), misfire_more = sqlc.arg(misfire_more), misfire_last = sqlc.arg(misfire_last),
    misfire_within = sqlc.arg(misfire_within), runbook = sqlc.arg(runbook), param_form = sqlc.arg(param_form), priority = sqlc.arg(priority), keep_output = sqlc.arg(keep_output), when_lost = sqlc.arg(when_lost), revision = revision + 1,
    claimed_until = CASE WHEN trigger_next_time <> sqlc.arg(new_next_time) AND claimed_until > sqlc.arg(new_next_time) THEN 0 ELSE claimed_until END,
    trigger_next_time = sqlc.arg(new_next_time)
WHERE id = sqlc.arg(id) AND trigger_next_time = sqlc.arg(old_next_time) AND trigger_status = sqlc.arg(old_status) AND revision = sqlc.arg(old_revision);

-- name: UpdateJobSource :execrows
-- A new version of a GLUE job's source.
UPDATE xxl_job_info
SET glue_source = sqlc.arg(glue_source), glue_remark = sqlc.arg(glue_remark), glue_updatetime = sqlc.arg(glue_updatetime),
    update_time = sqlc.arg(update_time)
WHERE id = sqlc.arg(id);

-- name: StartJob :execrows
-- Makes a stopped job due from its next time on, a flow so that no XXL-JOB admin schedules it; 0 rows when it already runs (or is gone). See UpdateJob for claimed_until.
UPDATE xxl_job_info
SET trigger_status = CASE WHEN glue_type = 'FLOW' THEN 2 ELSE 1 + CAST(sqlc.arg(beside) AS SIGNED) END, claimed_until = CASE WHEN claimed_until > sqlc.arg(next_time) THEN 0 ELSE claimed_until END,
    trigger_next_time = sqlc.arg(next_time), update_time = sqlc.arg(update_time)
WHERE id = sqlc.arg(id) AND trigger_status = 0;

-- name: StopJob :execrows
-- Stops a job. The last time stays: it is history, not schedule. Guarded by the next time that was read, so that it is known
-- which fires have been claimed.
UPDATE xxl_job_info
SET trigger_status = 0, trigger_next_time = 0, update_time = sqlc.arg(update_time)
WHERE id = sqlc.arg(id) AND trigger_status > CAST(sqlc.arg(beside) AS SIGNED) AND trigger_next_time = sqlc.arg(old_next_time);

-- name: DeleteJob :execrows
-- Guarded by the revision that was read: 0 rows means that somebody has changed the job, or deleted it.
DELETE FROM xxl_job_info WHERE id = sqlc.arg(id) AND revision = sqlc.arg(revision);

-- name: InsertGlueVersion :exec
INSERT INTO xxl_job_logglue (job_id, glue_type, glue_source, glue_remark, add_time, update_time) VALUES (?, ?, ?, ?, ?, ?);

-- name: DeleteGlueVersionsOfJob :exec
DELETE FROM xxl_job_logglue WHERE job_id = ?;

-- name: ListJobsWithConsequences :many
-- Which of these jobs have something to do when a run ends: children, a next time that hangs on the end, a limit of runs, a wish of
-- their own whether its output is kept. ListRunsToEnd says whether there are any, by the same conditions.
SELECT id, child_jobid, schedule_type, schedule_conf, time_zone, start_at, end_at, max_concurrent, calendar, calendar_rule, keep_output, glue_type,
       executor_block_strategy
FROM xxl_job_info
WHERE id IN (sqlc.slice(ids)) AND (child_jobid <> '' OR schedule_type = 'FIX_DELAY' OR max_concurrent > 0 OR keep_output <> '' OR glue_type = 'FLOW');

-- name: ListHeededJobs :many
-- Which these are.
SELECT id FROM xxl_job_info
WHERE id IN (sqlc.slice(ids)) AND (child_jobid <> '' OR schedule_type = 'FIX_DELAY' OR max_concurrent > 0 OR keep_output <> '' OR glue_type = 'FLOW');

-- name: ListJobsToRunAgain :many
-- Which of these jobs want a run that is lost to be run once more.
SELECT id FROM xxl_job_info WHERE id IN (sqlc.slice(ids)) AND when_lost = 'AGAIN';

-- name: RearmJob :execrows
-- Sets the next time of a FIX_DELAY job whose run has ended; 0 rows when it has been stopped or edited, or has its time.
-- See UpdateJob for claimed_until.
UPDATE xxl_job_info
SET claimed_until = CASE WHEN claimed_until > sqlc.arg(next_time) THEN 0 ELSE claimed_until END, trigger_next_time = sqlc.arg(next_time)
WHERE id = sqlc.arg(id) AND trigger_status > CAST(sqlc.arg(beside) AS SIGNED) AND trigger_next_time = sqlc.arg(waiting);

-- name: ListWaitingJobs :many
-- The FIX_DELAY jobs that wait for a run to end, for the sweep.
SELECT id, schedule_type, schedule_conf, time_zone, start_at, end_at, calendar, calendar_rule FROM xxl_job_info
WHERE trigger_status = 1 + CAST(sqlc.arg(hidden) AS SIGNED) AND trigger_next_time = sqlc.arg(waiting) AND id > sqlc.arg(after_id) ORDER BY id LIMIT 500;

-- name: ListParentsOf :many
-- Jobs whose children include one, in no order: the pattern is its id between commas, of either width. The first condition
-- leaves out, by their index, the many jobs that start none: lists begin with a digit, or with a comma by mistake. That they are
-- not empty would not do, because MySQL's index knows the beginnings alone, and an empty one may be that of anything.
SELECT id, job_group, job_desc, child_jobid FROM xxl_job_info
WHERE child_jobid >= ',' AND CONCAT(',', REPLACE(REPLACE(child_jobid, ' ', ''), '，', ','), ',') LIKE sqlc.arg(pattern) LIMIT ?;

-- name: ListParents :many
-- Jobs with children, from an id on. See ListParentsOf for the condition.
SELECT id, child_jobid FROM xxl_job_info WHERE child_jobid >= ',' AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: ListJobKinds :many
-- What some jobs are, without their long texts.
SELECT id, job_group, job_desc, glue_type FROM xxl_job_info WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListFlowsNaming :many
-- Flows in whose definition a number or a text stands, from an id on, by the index on the kind. What of it names a job only reading the
-- definition tells.
SELECT id, job_group, job_desc, glue_source FROM xxl_job_info
WHERE glue_type = 'FLOW' AND id > sqlc.arg(after_id) AND (glue_source LIKE sqlc.arg(number) OR glue_source LIKE sqlc.arg(text)) ORDER BY id LIMIT ?;

-- name: ListGlueVersionIDs :many
-- Newest first, from an offset on: what is there to forget.
SELECT id FROM xxl_job_logglue WHERE job_id = ? ORDER BY id DESC LIMIT ? OFFSET ?;

-- name: DeleteGlueVersionsUpTo :exec
DELETE FROM xxl_job_logglue WHERE job_id = ? AND id <= ?;

-- name: CountJobsDueAt :one
-- How many jobs fire at the very same time, for the form that is about to add one. It counts along the index of due jobs.
SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status IN (1, 2) AND trigger_next_time = sqlc.arg(at_ms) AND id <> sqlc.arg(except_id);

-- name: ListJobsNamed :many
-- The jobs of some executors that have one of some descriptions, for an import. MySQL compares without case: the caller
-- compares again.
SELECT id, job_group, job_desc FROM xxl_job_info
WHERE job_group IN (sqlc.slice(group_ids)) AND job_desc IN (sqlc.slice(names)) ORDER BY id;

-- name: ListJobTimes :many
-- The times of some jobs as they are now: which of a batch that could not be claimed have been moved meanwhile.
SELECT id, trigger_status, trigger_next_time, claimed_until FROM xxl_job_info WHERE id IN (sqlc.slice(ids));

-- name: LockFreeJobs :many
-- Which of some jobs nobody has locked, for the length of the transaction that asks. MySQL 8, MariaDB 10.6.
SELECT id FROM xxl_job_info FORCE INDEX (PRIMARY) WHERE id IN (sqlc.slice(ids)) FOR UPDATE SKIP LOCKED;

-- name: MendStatuses :execrows
-- Of some jobs: flows that somebody has started in an XXL-JOB admin, which would have executors run them, are hidden from it; and what somebody
-- has given a status of another number is stopped, as it is to XXL-JOB. By their ids: + 0 keeps SQLite from the index of all that are started.
UPDATE xxl_job_info SET trigger_status = CASE WHEN trigger_status + 0 = 1 THEN 2 ELSE 0 END
WHERE id IN (sqlc.slice(ids)) AND ((trigger_status + 0 = 1 AND glue_type = 'FLOW') OR trigger_status + 0 NOT IN (0, 1, 2));
