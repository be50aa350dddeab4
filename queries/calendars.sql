-- What touches punctual_calendar, and jobs by their calendar.

-- name: ListCalendarRevisions :many
-- What there is, for admins that look whether they have it.
SELECT name, revision FROM punctual_calendar ORDER BY name;

-- name: ListCalendars :many
-- Whole: there are tens.
SELECT name, body, revision, updated_at, updated_by FROM punctual_calendar ORDER BY name;

-- name: NextCalendarRevision :one
SELECT CAST(COALESCE(MAX(revision), 0) + 1 AS SIGNED) AS revision FROM punctual_calendar;

-- name: SetCalendar :exec
INSERT INTO punctual_calendar (name, body, revision, updated_at, updated_by) VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE body = VALUES(body), revision = VALUES(revision), updated_at = VALUES(updated_at), updated_by = VALUES(updated_by);

-- name: HoldCalendar :execrows
-- Changes nothing and locks the row: neither is the calendar deleted before the end of the transaction, nor does a job come to one that is being
-- deleted. 0 rows: it is not in the database.
UPDATE punctual_calendar SET name = name WHERE name = ?;

-- name: DeleteCalendar :execrows
DELETE FROM punctual_calendar WHERE name = ?;

-- name: CountCalendarJobs :many
-- How many jobs of which group keep to each calendar, by the index.
SELECT calendar, job_group, COUNT(*) AS jobs FROM xxl_job_info WHERE calendar > '' GROUP BY calendar, job_group ORDER BY calendar, job_group;

-- name: ListCalendarJobs :many
-- The started jobs of a calendar, a page at a time by id: their next times are computed anew when it has changed. The next time of one that a
-- pause holds back is the end of the pause; the calendar counts when that has come.
SELECT id, schedule_type, schedule_conf, time_zone, start_at, end_at, calendar, calendar_rule, trigger_next_time, claimed_until FROM xxl_job_info
WHERE calendar = sqlc.arg(calendar) AND trigger_status > CAST(sqlc.arg(beside) AS SIGNED) AND paused_next <> trigger_next_time AND id > sqlc.arg(after_id) ORDER BY id LIMIT 500;

-- name: ReplanJob :execrows
-- The next time of a job whose calendar has changed; 0 rows when somebody has claimed or changed it meanwhile.
UPDATE xxl_job_info SET trigger_next_time = sqlc.arg(next_time)
WHERE id = sqlc.arg(id) AND trigger_status > CAST(sqlc.arg(beside) AS SIGNED) AND trigger_next_time = sqlc.arg(old_next) AND paused_next <> trigger_next_time AND claimed_until = sqlc.arg(old_claimed);
