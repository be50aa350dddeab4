-- What touches punctual_refused: executors whose calls some admin did not take lately, for all admins to show. See scheduler/refusedstore.go.

-- name: ListRefused :many
-- A few hundred rows at most: who adds some looks first how many there are.
SELECT app_name, address, why, calls, last_at, runs, executor FROM punctual_refused ORDER BY last_at DESC, address, app_name, why LIMIT 1000;

-- name: AddRefused :exec
-- Adds to the calls that the admins have counted; the newest call, the runs and the executor are those of the writer.
INSERT INTO punctual_refused (app_name, address, why, calls, last_at, runs, executor) VALUES (?, ?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE calls = calls + VALUES(calls), last_at = VALUES(last_at), runs = VALUES(runs), executor = VALUES(executor);

-- name: DeleteRefusedBefore :execrows
DELETE FROM punctual_refused WHERE last_at < ?;
