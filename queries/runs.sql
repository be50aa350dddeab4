-- What touches xxl_job_log, one row per run. Inserts and the hot updates of many rows are in db/bulk.go, the run list is in
-- db/findruns.go.

-- name: GetRun :one
SELECT id, job_group, job_id, executor_address, executor_handler, executor_param, executor_sharding_param,
       executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, handle_time, handle_code, handle_msg,
       alarm_status, planned_at, owner_node, trigger_type, origin_log_id, sent_at, finished_at, outcome, kill_asked_at, events, planned_for, flow_step
FROM xxl_job_log WHERE id = ?;

-- name: ListRunIDs :many
-- Which of some runs are still there.
SELECT id FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListGroupsOfRuns :many
-- By which group the rights to some runs are judged.
SELECT id, job_group FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListRunsByID :many
-- The rows a batch of callbacks is about, without their long texts' cost where there are none.
SELECT id, job_group, job_id, executor_address, executor_handler, executor_param, executor_sharding_param,
       executor_fail_retry_count, trigger_time, trigger_code, handle_code, handle_msg, planned_at, owner_node,
       trigger_type, origin_log_id, sent_at, alarm_status, outcome, kill_asked_at, planned_for, flow_step
FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListRunsToEnd :many
-- As ListRunsByID, with what the end of a run may mean beyond its row: heeded_by is its job where that has something to do then, which
-- ListJobsWithConsequences says, else 0.
SELECT l.id, l.job_group, l.job_id, l.executor_address, l.executor_handler, l.executor_param, l.executor_sharding_param,
       l.executor_fail_retry_count, l.trigger_time, l.trigger_code, l.handle_code, l.handle_msg, l.planned_at, l.owner_node,
       l.trigger_type, l.origin_log_id, l.sent_at, l.alarm_status, l.outcome, l.kill_asked_at, l.planned_for, l.flow_step,
       COALESCE(j.id, 0) AS heeded_by, CAST(0 AS SIGNED) AS flow_log_id, CAST(0 AS SIGNED) AS flow_revision, CAST(0 AS SIGNED) AS flow_state
FROM xxl_job_log AS l
LEFT JOIN xxl_job_info AS j ON j.id = l.job_id
 AND (j.child_jobid <> '' OR j.schedule_type = 'FIX_DELAY' OR j.max_concurrent > 0 OR j.keep_output <> '' OR j.glue_type = 'FLOW')
WHERE l.id IN (sqlc.slice(ids)) ORDER BY l.id;

-- name: ListStepsToEnd :many
-- The same where some are known to be steps, with the run of a flow that each is a step of (else 0), and the revision and the state of that.
-- It stands by itself, with the columns of the other, so that runs of no flow do not pay for it.
SELECT l.id, l.job_group, l.job_id, l.executor_address, l.executor_handler, l.executor_param, l.executor_sharding_param,
       l.executor_fail_retry_count, l.trigger_time, l.trigger_code, l.handle_code, l.handle_msg, l.planned_at, l.owner_node,
       l.trigger_type, l.origin_log_id, l.sent_at, l.alarm_status, l.outcome, l.kill_asked_at, l.planned_for, l.flow_step,
       COALESCE(j.id, 0) AS heeded_by,
       COALESCE(f.log_id, 0) AS flow_log_id, COALESCE(f.revision, 0) AS flow_revision, COALESCE(f.state, 0) AS flow_state
FROM xxl_job_log AS l
LEFT JOIN xxl_job_info AS j ON j.id = l.job_id
 AND (j.child_jobid <> '' OR j.schedule_type = 'FIX_DELAY' OR j.max_concurrent > 0 OR j.keep_output <> '' OR j.glue_type = 'FLOW')
LEFT JOIN punctual_flow_step AS s ON s.id = l.flow_step
LEFT JOIN punctual_flow_run AS f ON f.log_id = s.flow_log_id
WHERE l.id IN (sqlc.slice(ids)) ORDER BY l.id;

-- name: ListUnsentRunsOfNode :many
-- What a node that is gone left unsent. handle_code leads, because its index (with the id behind it) keeps this a read of
-- open rows only, however big the log is; the node's low mark bounds it from below.
SELECT id, job_group, job_id, executor_address, executor_handler, executor_param, executor_sharding_param,
       executor_fail_retry_count, trigger_time, trigger_code, handle_code, handle_msg, planned_at, owner_node,
       trigger_type, origin_log_id, sent_at, alarm_status, outcome, kill_asked_at, planned_for, flow_step
FROM xxl_job_log
WHERE handle_code = 0 AND id >= sqlc.arg(low_id) AND trigger_code = 0 AND owner_node = sqlc.arg(owner_node)
ORDER BY id LIMIT ?;

-- name: LockFreeRuns :many
-- Which of some runs nobody has locked, for the length of the transaction that asks. MySQL 8, MariaDB 10.6.
SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (sqlc.slice(ids)) FOR UPDATE SKIP LOCKED;

-- name: TakeOverRuns :execrows
-- Moves unsent runs from a node that is gone to another. Guarded, so that two nodes cannot both take one. By their ids, or it waits for rows
-- that somebody else has locked.
UPDATE xxl_job_log FORCE INDEX (PRIMARY)
SET owner_node = sqlc.arg(new_owner),
    events = CASE WHEN LENGTH(events) > 24000 THEN events ELSE CONCAT(COALESCE(events, ''), sqlc.arg(events)) END,
    trigger_msg = CASE WHEN LENGTH(trigger_msg) > 30000 THEN trigger_msg ELSE CONCAT(COALESCE(trigger_msg, ''), sqlc.arg(message)) END
WHERE owner_node = sqlc.arg(old_owner) AND trigger_code = 0 AND handle_code = 0 AND id IN (sqlc.slice(ids));

-- name: ListReportedRunsOfNode :many
-- Runs of a node which have a result but no record of their sending. A plain read of a stretch of ids: an update by these conditions
-- would lock the whole stretch.
SELECT id, executor_address FROM xxl_job_log
WHERE id >= sqlc.arg(low_id) AND id <= sqlc.arg(top_id) AND owner_node = sqlc.arg(owner_node) AND trigger_code = 0 AND handle_code <> 0
ORDER BY id LIMIT ?;

-- name: RecordReportedRuns :execrows
-- Notes them as sent.
UPDATE xxl_job_log
SET trigger_code = 200, events = CASE WHEN LENGTH(events) > 24000 THEN events ELSE CONCAT(COALESCE(events, ''), sqlc.arg(events)) END,
    trigger_msg = CASE WHEN LENGTH(trigger_msg) > 30000 THEN trigger_msg ELSE CONCAT(COALESCE(trigger_msg, ''), sqlc.arg(message)) END
WHERE owner_node = sqlc.arg(owner_node) AND trigger_code = 0 AND handle_code <> 0 AND id IN (sqlc.slice(ids));

-- name: MarkLeaving :execrows
-- A retry goes out: whoever reads its row from now on must take it for sent.
UPDATE xxl_job_log SET sent_at = sqlc.arg(sent_at)
WHERE id = sqlc.arg(id) AND owner_node = sqlc.arg(owner_node) AND trigger_code = 0 AND handle_code = 0;

-- name: ListOpenRuns :many
-- Runs that are sent and have no result, or are not sent yet, oldest first from an id on. The sweep asks executors about
-- the first kind; the second keeps its low mark from passing a run that will be of the first kind later.
SELECT id, job_group, job_id, executor_address, trigger_type, trigger_time, trigger_code, planned_at, sent_at
FROM xxl_job_log
WHERE handle_code = 0 AND trigger_code IN (0, 200) AND id > sqlc.arg(after_id)
ORDER BY id LIMIT ?;

-- name: ListOpenRunsByID :many
-- ListOpenRuns of those that were open a sweep ago: read one by one, where the walk from the oldest on passes every run since that could not be sent.
SELECT id, job_group, job_id, executor_address, trigger_type, trigger_time, trigger_code, planned_at, sent_at
FROM xxl_job_log
WHERE id IN (sqlc.slice(ids)) AND handle_code = 0 AND trigger_code IN (0, 200)
ORDER BY id;

-- name: ListWholeRuns :many
-- Runs with all of their texts. The caller asks for few at a time.
SELECT id, job_group, job_id, executor_address, executor_handler, executor_param, executor_sharding_param,
       executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, handle_time, handle_code, handle_msg,
       alarm_status, planned_at, owner_node, trigger_type, origin_log_id, sent_at, finished_at, outcome, kill_asked_at, events, planned_for, flow_step
FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) ORDER BY id DESC;

-- name: FirstRunIDSince :one
-- The smallest id of the runs that were due first since a moment, 0 for none: a short walk in the index of times. Ids grow with the times
-- except for the few seconds by which runs are claimed ahead, so the caller asks for an earlier moment, and for those that were recorded
-- late, so one alone would not do. Not ordered by the id too: a log in partitions would be sorted for it.
SELECT CAST(COALESCE(MIN(id), 0) AS SIGNED) AS id FROM (SELECT id FROM xxl_job_log WHERE trigger_time >= ? ORDER BY trigger_time LIMIT 200) first_due;

-- name: RunTimeFrom :one
-- When the first run from an id on was planned.
SELECT trigger_time FROM xxl_job_log WHERE id >= ? ORDER BY id LIMIT 1;

-- name: MarkKilling :execrows
-- Notes who wants an open run ended before its executor is asked, because the executor's report of the end may be here first, and
-- a run that somebody stopped does not start again. With kill_asked_at 0 it is taken back.
UPDATE xxl_job_log
SET kill_asked_at = sqlc.arg(asked_at), events = CASE WHEN LENGTH(events) > 24000 THEN events ELSE CONCAT(COALESCE(events, ''), sqlc.arg(events)) END
WHERE id = sqlc.arg(id) AND handle_code = 0;

-- name: GiveRetry :exec
-- Gives runs that have no retry left one more.
UPDATE xxl_job_log SET executor_fail_retry_count = 1 WHERE id IN (sqlc.slice(ids)) AND executor_fail_retry_count <= 0;

-- name: ListRunEvents :many
SELECT id, events FROM xxl_job_log WHERE id IN (sqlc.slice(ids));

-- name: ListTracedRuns :many
-- What a trace tells of runs: no parameters, no messages and no output.
SELECT l.id, l.job_group, l.job_id, l.executor_handler, l.trigger_type, l.trigger_code, l.handle_code, l.planned_at, l.origin_log_id,
       l.finished_at, l.outcome, l.events, COALESCE(g.app_name, '') AS app_name
FROM xxl_job_log l LEFT JOIN xxl_job_group g ON g.id = l.job_group
WHERE l.id IN (sqlc.slice(ids)) ORDER BY l.id;

-- name: MaxRunID :one
SELECT CAST(COALESCE(MAX(id), 0) AS SIGNED) AS id FROM xxl_job_log;

-- name: CountOpenRuns :one
-- The undecided fires of a job from a low mark on, read by the index on handle_code. A trial of its script is none.
SELECT COUNT(*) FROM xxl_job_log
WHERE handle_code = 0 AND trigger_code IN (0, 200) AND id >= sqlc.arg(low_id) AND job_id = sqlc.arg(job_id) AND trigger_type <> 'TRIAL';

-- name: SupersedeLost :execrows
-- Puts a late result in the place of "lost". Guarded by the outcome that only the sweep writes (event.Lost).
UPDATE xxl_job_log
SET outcome = sqlc.arg(outcome), events = CASE WHEN LENGTH(events) > 24000 THEN events ELSE CONCAT(COALESCE(events, ''), sqlc.arg(events)) END,
    handle_code = sqlc.arg(handle_code), handle_time = sqlc.arg(handle_time), finished_at = sqlc.arg(finished_at),
    handle_msg = sqlc.arg(handle_msg)
WHERE id = sqlc.arg(id) AND outcome = 7;

-- name: ListShards :many
-- The runs of one broadcast: of one job and one planned time, with ids close to each other, because they were inserted
-- together. The bounds of the id keep this a read of few rows.
SELECT id, job_id, job_group, executor_address, executor_sharding_param, trigger_type, trigger_time, trigger_code, handle_code,
       SUBSTRING(COALESCE(handle_msg, ''), 1, 300) AS handle_note, planned_at, sent_at, outcome, kill_asked_at,
       SUBSTRING(COALESCE(events, ''), 1, 8000) AS events
FROM xxl_job_log
WHERE job_id = sqlc.arg(job_id) AND id >= sqlc.arg(from_id) AND id < sqlc.arg(before_id) AND planned_at = sqlc.arg(planned_at)
  AND executor_sharding_param <> '' AND trigger_type = sqlc.arg(trigger_type)
ORDER BY id LIMIT 1000;

-- name: LastForeignRun :one
-- The newest run that no admin of ours made, among the newest above an id: its columns of ours have their defaults. 0: none
-- of those that were looked at.
SELECT COUNT(*) AS looked, CAST(COALESCE(MAX(CASE WHEN owner_node = 0 AND trigger_type = '' THEN id ELSE 0 END), 0) AS SIGNED) AS id FROM (
    SELECT id, owner_node, trigger_type FROM xxl_job_log WHERE id > sqlc.arg(after_id) ORDER BY id DESC LIMIT 1000
) newest;

-- name: ListRunsOfJobBetween :many
-- A page of the runs of one job that were planned within a time by the wall clock: a walk along the job's index, which holds the time.
SELECT id, trigger_time, trigger_code, handle_code, planned_at, trigger_type, executor_sharding_param, sent_at, outcome,
       SUBSTRING(COALESCE(events, ''), 1, 8000) AS events
FROM xxl_job_log FORCE INDEX (i_job_outcome)
WHERE job_id = sqlc.arg(job_id) AND id > sqlc.arg(after_id) AND trigger_time >= sqlc.arg(from_time) AND trigger_time < sqlc.arg(until_time)
ORDER BY id LIMIT ?;

-- name: ListRunTimesOfJob :many
-- How long the newest fires of a job below an id took, without their texts: what its usual duration is made of. Of those with unsure = 1 the
-- end is not known (event.EndUnsure). group_ids counts unless all_groups is 1; then only those from an id on are looked at (db.NearRuns).
SELECT id, trigger_time, trigger_code, handle_time, handle_code, planned_at, sent_at, finished_at, outcome,
       CAST(CASE WHEN events LIKE '%["endunsure",%' THEN 1 ELSE 0 END AS SIGNED) AS unsure
FROM xxl_job_log FORCE INDEX (i_job_outcome)
WHERE job_id = sqlc.arg(job_id) AND id >= sqlc.arg(from_id) AND id < sqlc.arg(before_id) AND trigger_type <> 'TRIAL'
  AND (CAST(sqlc.arg(all_groups) AS SIGNED) = 1 OR job_group IN (sqlc.slice(group_ids)))
ORDER BY id DESC LIMIT ?;
