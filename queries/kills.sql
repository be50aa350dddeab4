-- What touches punctual_kill: runs that are to be ended as soon as they can be. See scheduler/kill.go.

-- name: InsertKill :exec
-- The first who asks is the one who is named.
INSERT IGNORE INTO punctual_kill (log_id, asked_by, asked_at) VALUES (?, ?, ?);

-- name: ListKills :many
-- A page of them. The table is empty but for the seconds in which somebody waits; a flow that is stopped, or a job that is deleted, may fill it.
SELECT log_id, asked_by, asked_at FROM punctual_kill WHERE log_id > sqlc.arg(after_id) ORDER BY log_id LIMIT ?;

-- name: GetKill :one
SELECT log_id, asked_by, asked_at FROM punctual_kill WHERE log_id = ?;

-- name: DeleteKill :execrows
DELETE FROM punctual_kill WHERE log_id = ?;

-- name: ListOpenRetries :many
-- Runs that came out of another one in some way and have not ended: of retries at most one, unless an old admin retried it too. Read by the index on handle_code.
SELECT id, trigger_code FROM xxl_job_log
WHERE handle_code = 0 AND trigger_code IN (0, 200) AND id > sqlc.arg(after_id) AND origin_log_id = sqlc.arg(origin_log_id) AND trigger_type = sqlc.arg(trigger_type)
ORDER BY id LIMIT 10;

-- name: ListUnsentRunsOfJob :many
-- A page of what waits of a job that is deleted. A plain read, because INSERT … SELECT would lock the rows that it looks at.
SELECT id FROM xxl_job_log WHERE handle_code = 0 AND trigger_code = 0 AND job_id = sqlc.arg(job_id) AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;
