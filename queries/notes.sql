-- What touches punctual_note: what people wrote down at runs, at jobs, and at all jobs of a group.

-- name: InsertNote :execlastid
INSERT INTO punctual_note (job_group, job_id, run_id, at, made_at, made_by, note) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: GetNote :one
SELECT id, job_group, job_id, run_id, at, made_at, made_by, note FROM punctual_note WHERE id = ?;

-- name: DeleteNote :execrows
DELETE FROM punctual_note WHERE id = ?;

-- name: ListNotesOfRun :many
-- The oldest first, along i_note_run.
SELECT id, job_group, job_id, run_id, at, made_at, made_by, note FROM punctual_note WHERE run_id = ? ORDER BY id LIMIT ?;

-- name: ListNotesOfJob :many
-- Those of a job and of its runs, the newest moment first, along i_note_job.
SELECT id, job_group, job_id, run_id, at, made_at, made_by, note FROM punctual_note WHERE job_id = ? AND at >= sqlc.arg(since) ORDER BY at DESC, id DESC LIMIT ?;

-- name: ListNotesOfGroup :many
-- Those about all jobs of a group, the newest moment first, along i_note_group.
SELECT id, job_group, job_id, run_id, at, made_at, made_by, note FROM punctual_note WHERE job_group = ? AND job_id = 0 AND at >= sqlc.arg(since) ORDER BY at DESC, id DESC LIMIT ?;

-- name: ListGoneRunsOfNotes :many
-- Each is one look by the primary key; people do not write so many that a pass over all would be long. A read of its own before the deletion,
-- because a DELETE with a SELECT locks each run that it looks at, for which results would wait.
SELECT DISTINCT run_id FROM punctual_note WHERE run_id > 0 AND NOT EXISTS (SELECT 1 FROM xxl_job_log WHERE xxl_job_log.id = punctual_note.run_id) LIMIT ?;

-- name: DeleteNotesOfRuns :execrows
DELETE FROM punctual_note WHERE run_id IN (sqlc.slice(run_ids));

-- name: DeleteNotesBefore :execrows
-- Of no run: those have gone with it.
DELETE FROM punctual_note WHERE run_id = 0 AND at < ?;

-- name: ListGoneJobsOfNotes :many
-- See ListGoneJobsOfAlarmStates.
SELECT DISTINCT job_id FROM punctual_note WHERE job_id > 0 AND NOT EXISTS (SELECT 1 FROM xxl_job_info WHERE xxl_job_info.id = punctual_note.job_id);

-- name: DeleteNotesOfJob :exec
DELETE FROM punctual_note WHERE job_id = ?;

-- name: ListNotesBetween :many
-- Those of some jobs and of their runs, and with job 0 about all jobs of groups, from one moment to before another, the newest moment first,
-- along i_note_job. group_ids counts unless all_groups is 1.
SELECT id, job_group, job_id, run_id, at, made_at, made_by, note FROM punctual_note
WHERE job_id IN (sqlc.slice(job_ids)) AND at >= sqlc.arg(since) AND at < sqlc.arg(until_ms)
  AND (CAST(sqlc.arg(all_groups) AS SIGNED) = 1 OR job_group IN (sqlc.slice(group_ids)))
ORDER BY at DESC, id DESC LIMIT ?;
