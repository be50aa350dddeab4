-- What touches punctual_trial: texts of scripts that were tried before they were saved.

-- name: InsertTrial :exec
INSERT INTO punctual_trial (log_id, job_id, made_at, source) VALUES (?, ?, ?, ?);

-- name: GetTrial :one
SELECT log_id, job_id, made_at, source FROM punctual_trial WHERE log_id = ?;

-- name: ListTrialsWithoutRun :many
-- Those whose run is deleted. There are few, and each is one look by the primary key. See ListGoneRunsOfNotes.
SELECT log_id FROM punctual_trial WHERE made_at < sqlc.arg(made_before) AND NOT EXISTS (SELECT 1 FROM xxl_job_log WHERE xxl_job_log.id = punctual_trial.log_id) LIMIT ?;

-- name: DeleteTrials :execrows
DELETE FROM punctual_trial WHERE log_id IN (sqlc.slice(log_ids));
