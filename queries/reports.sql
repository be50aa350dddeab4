-- What touches xxl_job_log_report: one row per day with the runs planned for it, counted as they happen.

-- name: AddToReport :execrows
-- Adds what happened since the last time to a day's counters. 0 rows: the day has none yet (InsertReport).
UPDATE xxl_job_log_report
SET running_count = running_count + sqlc.arg(running), suc_count = suc_count + sqlc.arg(succeeded),
    fail_count = fail_count + sqlc.arg(failed), skip_count = skip_count + sqlc.arg(skipped), update_time = sqlc.arg(update_time)
WHERE trigger_day = sqlc.arg(day);

-- name: InsertReport :exec
-- Makes a day's row; several admins may do it at once.
INSERT IGNORE INTO xxl_job_log_report (trigger_day, running_count, suc_count, fail_count, update_time) VALUES (?, 0, 0, 0, ?);

-- name: GetReport :one
SELECT id, trigger_day, running_count, suc_count, fail_count, update_time, skip_count FROM xxl_job_log_report WHERE trigger_day = ?;

-- name: SetReport :execrows
-- Puts a recount in the place of the counters, guarded by what they were before it began: 0 rows means that runs of the
-- day changed meanwhile, and the recount is of no use.
UPDATE xxl_job_log_report
SET running_count = sqlc.arg(running), suc_count = sqlc.arg(succeeded), fail_count = sqlc.arg(failed), skip_count = sqlc.arg(skipped), update_time = sqlc.arg(update_time)
WHERE trigger_day = sqlc.arg(day) AND running_count = sqlc.arg(old_running) AND suc_count = sqlc.arg(old_succeeded) AND fail_count = sqlc.arg(old_failed)
  AND skip_count = sqlc.arg(old_skipped);

-- name: ListReports :many
-- The days of a range that have counters, in order.
SELECT trigger_day, running_count, suc_count, fail_count, skip_count FROM xxl_job_log_report
WHERE trigger_day >= sqlc.arg(first_day) AND trigger_day <= sqlc.arg(last_day) ORDER BY trigger_day;

-- name: CountRunsOfGroups :many
-- Recounts the runs planned in a stretch of time for each group, by the rules of docs/compat.md §2.13 (see upkeep.StateOf) and the index on trigger_time.
-- Attempts are the runs whose fire is counted by another run. A trial of a script is no fire. The caller keeps the stretch short.
SELECT job_group, COUNT(*) AS total,
       CAST(COALESCE(SUM(CASE WHEN outcome = 1 OR outcome = 0 AND handle_code = 200 THEN 1 ELSE 0 END), 0) AS SIGNED) AS succeeded,
       CAST(COALESCE(SUM(CASE WHEN outcome = 0 AND handle_code = 0 AND trigger_code IN (0, 200) THEN 1 ELSE 0 END), 0) AS SIGNED) AS running,
       CAST(COALESCE(SUM(CASE WHEN outcome IN (8, 9) THEN 1 ELSE 0 END), 0) AS SIGNED) AS skipped,
       CAST(COALESCE(SUM(CASE
         WHEN outcome = 11 THEN 1
         WHEN executor_fail_retry_count <= 0 THEN 0
         WHEN outcome IN (2, 3, 4, 5, 7) THEN 1
         WHEN outcome = 0 AND handle_code NOT IN (0, 200) THEN 1
         WHEN outcome = 0 AND handle_code = 0 AND trigger_code NOT IN (0, 200) THEN 1
         ELSE 0 END), 0) AS SIGNED) AS attempts
FROM xxl_job_log WHERE trigger_time >= sqlc.arg(from_time) AND trigger_time < sqlc.arg(to_time) AND trigger_type <> 'TRIAL' GROUP BY job_group;

-- name: AddToHour :exec
-- Adds what happened since the last time to the counters of a group's hour.
INSERT INTO punctual_run_hour (group_id, hour_at, running_count, suc_count, fail_count, skip_count) VALUES (?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE running_count = running_count + VALUES(running_count), suc_count = suc_count + VALUES(suc_count), fail_count = fail_count + VALUES(fail_count),
  skip_count = skip_count + VALUES(skip_count);

-- name: SetHour :exec
-- Puts a recount in the place of the counters.
INSERT INTO punctual_run_hour (group_id, hour_at, running_count, suc_count, fail_count, skip_count) VALUES (?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE running_count = VALUES(running_count), suc_count = VALUES(suc_count), fail_count = VALUES(fail_count),
  skip_count = VALUES(skip_count);

-- name: CorrectHour :execrows
-- Puts a recount in the place of the counters of a group's hour, guarded by what they were before it began.
UPDATE punctual_run_hour
SET running_count = sqlc.arg(running), suc_count = sqlc.arg(succeeded), fail_count = sqlc.arg(failed), skip_count = sqlc.arg(skipped)
WHERE group_id = sqlc.arg(group_id) AND hour_at = sqlc.arg(hour_at) AND running_count = sqlc.arg(old_running) AND suc_count = sqlc.arg(old_succeeded)
  AND fail_count = sqlc.arg(old_failed) AND skip_count = sqlc.arg(old_skipped);

-- name: ListHours :many
-- The counters of every group in a stretch of hours.
SELECT group_id, hour_at, running_count, suc_count, fail_count, skip_count FROM punctual_run_hour
WHERE hour_at >= sqlc.arg(from_hour) AND hour_at < sqlc.arg(to_hour) ORDER BY hour_at, group_id;

-- name: ListHoursOfGroups :many
-- ListHours for some groups, by the primary key.
SELECT group_id, hour_at, running_count, suc_count, fail_count, skip_count FROM punctual_run_hour
WHERE group_id IN (sqlc.slice(group_ids)) AND hour_at >= sqlc.arg(from_hour) AND hour_at < sqlc.arg(to_hour) ORDER BY hour_at, group_id;

-- name: SumHoursByGroup :many
-- What the counters of a stretch of hours come to for each group. group_ids counts unless all_groups is 1.
SELECT group_id, CAST(SUM(running_count) AS SIGNED) AS running, CAST(SUM(suc_count) AS SIGNED) AS succeeded,
       CAST(SUM(fail_count) AS SIGNED) AS failed, CAST(SUM(skip_count) AS SIGNED) AS skipped
FROM punctual_run_hour
WHERE hour_at >= sqlc.arg(from_hour) AND hour_at < sqlc.arg(to_hour) AND (CAST(sqlc.arg(all_groups) AS SIGNED) = 1 OR group_id IN (sqlc.slice(group_ids)))
GROUP BY group_id ORDER BY group_id;

-- name: FirstHourSince :one
-- The first hour with counters in a stretch, or 0.
SELECT CAST(COALESCE(MIN(hour_at), 0) AS SIGNED) AS hour_at FROM punctual_run_hour WHERE hour_at >= sqlc.arg(from_hour) AND hour_at < sqlc.arg(to_hour);

-- name: DeleteHoursBefore :execrows
DELETE FROM punctual_run_hour WHERE hour_at < ? LIMIT 1000;

-- name: ListSlowJobs :many
-- The jobs whose long runs since a day took longest (by 1), most together (2), or longer than before that day (3), the worst first.
-- The caller bounds both stretches. Unless all_groups is 1 the runs are of group_ids, and the jobs are in one of job_groups, the same.
SELECT d.job_id, j.job_desc, j.job_group
FROM punctual_job_day AS d JOIN xxl_job_info AS j ON j.id = d.job_id
WHERE d.day_at >= sqlc.arg(before_day) AND (CAST(sqlc.arg(all_groups) AS SIGNED) = 1 OR d.job_group IN (sqlc.slice(group_ids)) AND j.job_group IN (sqlc.slice(job_groups)))
GROUP BY d.job_id, j.job_desc, j.job_group
HAVING SUM(CASE WHEN d.day_at >= sqlc.arg(since_day) THEN d.runs ELSE 0 END) > 0
ORDER BY CASE CAST(sqlc.arg(order_by) AS SIGNED)
  WHEN 1 THEN MAX(CASE WHEN d.day_at >= sqlc.arg(since_day) THEN d.longest_ms ELSE 0 END)
  WHEN 2 THEN SUM(CASE WHEN d.day_at >= sqlc.arg(since_day) THEN d.total_ms ELSE 0 END)
  ELSE COALESCE(1000.0 * SUM(CASE WHEN d.day_at >= sqlc.arg(since_day) THEN d.total_ms ELSE 0 END) / SUM(CASE WHEN d.day_at >= sqlc.arg(since_day) THEN d.runs ELSE 0 END)
    / NULLIF(SUM(CASE WHEN d.day_at < sqlc.arg(since_day) THEN d.total_ms ELSE 0 END), 0) * SUM(CASE WHEN d.day_at < sqlc.arg(since_day) THEN d.runs ELSE 0 END), 0)
  END DESC, d.job_id LIMIT ?;

-- name: ListLongRunsOfJobs :many
-- group_ids counts unless all_groups is 1.
SELECT day_at, job_id, runs, total_ms, longest_id, longest_ms, job_group FROM punctual_job_day
WHERE day_at >= sqlc.arg(day_at) AND job_id IN (sqlc.slice(job_ids)) AND (CAST(sqlc.arg(all_groups) AS SIGNED) = 1 OR job_group IN (sqlc.slice(group_ids)))
ORDER BY day_at, job_id, job_group;

-- name: SumLongRunsByGroup :many
-- How long the long runs of a stretch of days took for each group that they were recorded with; group 0 has those of jobs that are deleted.
-- The run of a flow is left out, which takes no executor's time beside its steps'. group_ids counts unless all_groups is 1.
SELECT CAST(CASE WHEN j.id IS NULL THEN 0 ELSE d.job_group END AS SIGNED) AS group_id, CAST(SUM(d.total_ms) AS SIGNED) AS total_ms
FROM punctual_job_day AS d LEFT JOIN xxl_job_info AS j ON j.id = d.job_id
WHERE d.day_at >= sqlc.arg(from_day) AND d.day_at < sqlc.arg(to_day) AND COALESCE(j.glue_type, '') <> 'FLOW'
  AND (CAST(sqlc.arg(all_groups) AS SIGNED) = 1 OR j.id IS NOT NULL AND d.job_group IN (sqlc.slice(group_ids)))
GROUP BY group_id ORDER BY group_id;

-- name: DeleteJobDaysBefore :execrows
DELETE FROM punctual_job_day WHERE day_at < ? LIMIT 1000;
