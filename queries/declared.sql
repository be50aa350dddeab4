-- What touches punctual_declared_job.

-- name: ListDeclaredJobs :many
-- A group has at most hundreds.
SELECT * FROM punctual_declared_job WHERE group_id = ? ORDER BY name;

-- name: ListDeclaredJobIDs :many
-- Those of some jobs that a program brings with it now.
SELECT job_id FROM punctual_declared_job WHERE dropped_at = 0 AND job_id IN (sqlc.slice(job_ids)) ORDER BY job_id;

-- name: GetDeclaredJob :one
SELECT * FROM punctual_declared_job WHERE job_id = ?;

-- name: InsertDeclaredJob :exec
INSERT INTO punctual_declared_job (job_id, group_id, name, fields, due, declared_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: UpdateDeclaredJob :exec
UPDATE punctual_declared_job SET fields = ?, digest = ?, due = 0, declared_at = ?, dropped_at = 0 WHERE job_id = ?;

-- name: DropDeclaredJob :exec
UPDATE punctual_declared_job SET due = ?, dropped_at = ? WHERE job_id = ?;

-- name: DeleteDeclaredJob :execrows
DELETE FROM punctual_declared_job WHERE job_id = ?;
