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
-- Attempts are the runs whose fire is counted by another run. The caller keeps the stretch short.
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
FROM xxl_job_log WHERE trigger_time >= sqlc.arg(from_time) AND trigger_time < sqlc.arg(to_time) GROUP BY job_group;

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

-- name: ListHours :many
-- The counters of every group in a stretch of hours.
SELECT group_id, hour_at, running_count, suc_count, fail_count, skip_count FROM punctual_run_hour
WHERE hour_at >= sqlc.arg(from_hour) AND hour_at < sqlc.arg(to_hour) ORDER BY hour_at, group_id;

-- name: ListHoursOfGroups :many
-- ListHours for some groups, by the primary key.
SELECT group_id, hour_at, running_count, suc_count, fail_count, skip_count FROM punctual_run_hour
WHERE group_id IN (sqlc.slice(group_ids)) AND hour_at >= sqlc.arg(from_hour) AND hour_at < sqlc.arg(to_hour) ORDER BY hour_at, group_id;

-- name: FirstHourSince :one
-- The first hour with counters in a stretch, or 0.
SELECT CAST(COALESCE(MIN(hour_at), 0) AS SIGNED) AS hour_at FROM punctual_run_hour WHERE hour_at >= sqlc.arg(from_hour) AND hour_at < sqlc.arg(to_hour);

-- name: DeleteHoursBefore :execrows
DELETE FROM punctual_run_hour WHERE hour_at < ? LIMIT 1000;
