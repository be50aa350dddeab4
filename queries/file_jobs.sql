-- What touches punctual_file_job.

-- name: ListFileJobsOfSource :many
SELECT * FROM punctual_file_job WHERE source = ? ORDER BY job_id;

-- name: ListFileJobsByID :many
SELECT * FROM punctual_file_job WHERE job_id IN (sqlc.slice(ids));

-- name: GetFileJob :one
SELECT * FROM punctual_file_job WHERE job_id = ?;

-- name: SaveFileJob :exec
INSERT INTO punctual_file_job (job_id, source, revision, version, applied_at) VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE source = VALUES(source), revision = VALUES(revision), version = VALUES(version), applied_at = VALUES(applied_at);

-- name: DeleteFileJob :execrows
DELETE FROM punctual_file_job WHERE job_id = ?;
