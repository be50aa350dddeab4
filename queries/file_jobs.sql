-- What touches punctual_file_job.

-- name: ListFileJobsOfSource :many
SELECT * FROM punctual_file_job WHERE source = ? ORDER BY job_id;

-- name: ListFileJobsByID :many
SELECT * FROM punctual_file_job WHERE job_id IN (sqlc.slice(ids));

-- name: GetFileJob :one
SELECT * FROM punctual_file_job WHERE job_id = ?;

-- name: FindFileJobs :many
-- The jobs of a group with a name that are kept in files, by the index of names; MySQL finds other cases too.
SELECT f.job_id, f.source, f.revision, f.version, f.applied_at, j.job_desc FROM punctual_file_job AS f JOIN xxl_job_info AS j ON j.id = f.job_id
WHERE j.job_group = sqlc.arg(job_group) AND j.job_desc = sqlc.arg(name) ORDER BY f.job_id;

-- name: SaveFileJob :exec
INSERT INTO punctual_file_job (job_id, source, revision, version, applied_at) VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE source = VALUES(source), revision = VALUES(revision), version = VALUES(version), applied_at = VALUES(applied_at);

-- name: SetFileRevision :exec
-- What is in the files as before has nothing new but their revision.
UPDATE punctual_file_job SET revision = sqlc.arg(revision), applied_at = sqlc.arg(applied_at) WHERE job_id IN (sqlc.slice(ids)) AND source = sqlc.arg(source);

-- name: DeleteFileJob :execrows
DELETE FROM punctual_file_job WHERE job_id = ?;
