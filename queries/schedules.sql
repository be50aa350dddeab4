-- What touches punctual_schedule, the history of when jobs are due, and punctual_deletion. Rows are inserted by db/schedules.go.

-- name: ListJobSchedules :many
-- When jobs are due, as they are now.
SELECT id, job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, time_zone, start_at, end_at, trigger_status, trigger_next_time, claimed_until,
       paused_at, paused_next, calendar, calendar_rule
FROM xxl_job_info WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: EndSchedule :execrows
-- The row that was true of a job is so no more.
UPDATE punctual_schedule SET until_at = sqlc.arg(until_at), claimed_to = sqlc.arg(claimed_to)
WHERE job_id = sqlc.arg(job_id) AND until_at = 0;

-- name: EndSchedules :execrows
-- The same for many jobs of which nobody knows how far they had been claimed.
UPDATE punctual_schedule SET until_at = sqlc.arg(until_at), claimed_to = 0
WHERE until_at = 0 AND job_id IN (sqlc.slice(job_ids));

-- name: ListSchedulesUnnoticed :many
-- The jobs of a stretch of ids that are not as the newest row of their history says, flows that an XXL-JOB admin would schedule, and statuses that there are not. Started are those of ours, see queries/jobs.sql. Texts are compared by their bytes. A fixed
-- rate whose next time is off the beat was started anew, unless that is the end of a pause. The next time of any other job moves with its runs and says nothing.
SELECT j.id FROM xxl_job_info AS j LEFT JOIN punctual_schedule AS h ON h.job_id = j.id AND h.until_at = 0
WHERE j.id > sqlc.arg(after_id) AND j.id <= sqlc.arg(upto_id)
  AND (h.id IS NULL OR (j.trigger_status = 1 AND j.glue_type = 'FLOW') OR j.trigger_status NOT IN (0, 1, 2) OR h.started <> CASE WHEN j.trigger_status > CAST(sqlc.arg(beside) AS SIGNED) THEN 1 ELSE 0 END OR h.job_group <> j.job_group OR h.start_at <> j.start_at OR h.end_at <> j.end_at
    OR HEX(h.schedule_type) <> HEX(j.schedule_type) OR HEX(h.schedule_conf) <> HEX(COALESCE(j.schedule_conf, ''))
    OR HEX(h.misfire_strategy) <> HEX(j.misfire_strategy) OR HEX(h.job_desc) <> HEX(j.job_desc)
    OR HEX(h.calendar) <> HEX(j.calendar) OR HEX(h.calendar_rule) <> HEX(j.calendar_rule)
    OR (j.time_zone <> '' AND HEX(h.time_zone) <> HEX(j.time_zone)) OR (j.time_zone = '' AND h.time_zone <> sqlc.arg(zone))
    OR (j.schedule_type = 'FIX_RATE' AND j.trigger_status > CAST(sqlc.arg(beside) AS SIGNED) AND j.trigger_next_time <> j.paused_next
      AND (j.trigger_next_time - h.next_at) % (CAST(j.schedule_conf AS SIGNED) * 1000) <> 0))
ORDER BY j.id;

-- name: ListCurrentSchedules :many
-- The rows that are true of these jobs.
SELECT id, job_id, job_group, job_desc, cause, since_at, made_at, until_at, claimed_to, started, next_at, schedule_type, schedule_conf,
       misfire_strategy, time_zone, start_at, end_at, calendar, calendar_rule
FROM punctual_schedule WHERE job_id IN (sqlc.slice(job_ids)) AND until_at = 0 ORDER BY job_id, id;

-- name: ListSchedulesOrphaned :many
-- Jobs of a stretch of ids that are gone although their history does not say so. The sum keeps SQLite from reading all jobs by the
-- index on until_at.
SELECT h.job_id FROM punctual_schedule AS h LEFT JOIN xxl_job_info AS j ON j.id = h.job_id
WHERE h.job_id > sqlc.arg(after_id) AND h.job_id <= sqlc.arg(upto_id) AND h.until_at + 0 = 0 AND j.id IS NULL
ORDER BY h.job_id;

-- name: MaxScheduleJobID :one
-- The highest id of a job that there is or was, for the stretches.
SELECT CAST(COALESCE(MAX(id), 0) AS SIGNED) AS id FROM (
  SELECT MAX(j.id) AS id FROM xxl_job_info AS j UNION ALL SELECT MAX(h.job_id) AS id FROM punctual_schedule AS h) AS ids;

-- name: ListScheduledJobs :many
-- The jobs that had a definition in a period, a page at a time by id.
SELECT DISTINCT h.job_id FROM punctual_schedule AS h
WHERE h.job_id > sqlc.arg(after_id) AND h.since_at < sqlc.arg(until_ms)
  AND (h.until_at = 0 OR h.until_at > sqlc.arg(from_ms) OR h.claimed_to > sqlc.arg(from_ms))
ORDER BY h.job_id LIMIT ?;

-- name: ListScheduledJobsNamed :many
-- The jobs that had a name at some time.
SELECT DISTINCT h.job_id FROM punctual_schedule AS h WHERE h.job_desc = ? ORDER BY h.job_id LIMIT ?;

-- name: ListSchedules :many
-- The definitions that jobs have had since a moment, oldest first for each: also those behind a period, because the next one says
-- how one ended.
SELECT id, job_id, job_group, job_desc, cause, since_at, made_at, until_at, claimed_to, started, next_at, schedule_type, schedule_conf,
       misfire_strategy, time_zone, start_at, end_at, calendar, calendar_rule
FROM punctual_schedule
WHERE job_id IN (sqlc.slice(job_ids))
  AND (until_at = 0 OR until_at > sqlc.arg(from_ms) OR claimed_to > sqlc.arg(from_ms))
ORDER BY job_id, id;

-- name: DeleteSchedulesBefore :execrows
-- Forgets what was superseded before a moment, in rounds until one comes back short.
DELETE FROM punctual_schedule WHERE until_at > 0 AND until_at < sqlc.arg(before_ms) LIMIT 1000;

-- name: ListDeletions :many
-- What was deleted from the log on purpose: a row for each job, group or installation it was done to.
SELECT what, job_group, job_id, before_at, made_by, made_at FROM punctual_deletion ORDER BY what, job_group, job_id;

-- name: GetDeletion :one
SELECT what, job_group, job_id, before_at, made_by, made_at FROM punctual_deletion WHERE what = ? AND job_group = ? AND job_id = ?;

-- name: SetDeletion :exec
-- What is noted only gets later: of two who delete at once the earlier moment does not hide the later one.
INSERT INTO punctual_deletion (what, job_group, job_id, before_at, made_by, made_at) VALUES (?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE
    made_by = CASE WHEN VALUES(before_at) > before_at THEN VALUES(made_by) ELSE made_by END,
    made_at = CASE WHEN VALUES(before_at) > before_at THEN VALUES(made_at) ELSE made_at END,
    before_at = GREATEST(before_at, VALUES(before_at));
