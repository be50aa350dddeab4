-- What touches punctual_callback: runs whose end is reported by the target of an asynchronous HTTP call. See scheduler/callbacks.go.

-- name: InsertCallback :exec
INSERT INTO punctual_callback (log_id, token, job_id, expires_at) VALUES (?, ?, ?, ?);

-- name: AwaitCallback :execrows
-- The target took the work. Guarded, because a quick target has reported already.
UPDATE punctual_callback SET state = 1 WHERE log_id = sqlc.arg(log_id) AND state = 0;

-- name: GetCallback :one
SELECT log_id, token, job_id, state, expires_at, progress, progress_at FROM punctual_callback WHERE token = sqlc.arg(token);

-- name: GetCallbackOfRun :one
SELECT log_id, token, job_id, state, expires_at, progress, progress_at FROM punctual_callback WHERE log_id = sqlc.arg(log_id);

-- name: ListCallbacksOfRuns :many
SELECT log_id, token, state FROM punctual_callback WHERE log_id IN (sqlc.slice(log_ids)) ORDER BY log_id;

-- name: ListAwaited :many
-- Runs whose target will report, a page after the other.
SELECT log_id, job_id, expires_at FROM punctual_callback WHERE state = 1 AND log_id > sqlc.arg(after_id) ORDER BY log_id LIMIT ?;

-- name: EndCallbacks :execrows
-- Their runs have ended, in the same transaction.
UPDATE punctual_callback SET state = 2 WHERE log_id IN (sqlc.slice(log_ids));

-- name: NoteProgress :execrows
UPDATE punctual_callback SET progress = sqlc.arg(progress), progress_at = sqlc.arg(progress_at) WHERE token = sqlc.arg(token) AND state < 2;

-- name: DeleteCallbacksBefore :execrows
DELETE FROM punctual_callback WHERE expires_at <= ? AND state <> 1;
