-- What deletes runs, and what has been asked to be deleted (punctual_clearing). Runs are read in pages by id and deleted by
-- the ids that were chosen: nothing locks a row it does not delete, nor the gap where new rows go.

-- name: LastRunIDBefore :one
-- The id of the newest run planned before a moment: one step in the index on trigger_time, in which ids follow. Nothing is ordered by
-- the id too, for which a log in partitions would be sorted. Ids rise with the planned time but for stragglers (misfires, far retries), so
-- it bounds what is worth reading; the time of each row decides.
SELECT id FROM xxl_job_log WHERE trigger_time < sqlc.arg(before_time) ORDER BY trigger_time DESC LIMIT 1;

-- name: FirstRunID :one
SELECT CAST(COALESCE(MIN(id), 0) AS SIGNED) AS id FROM xxl_job_log;

-- name: ListRunStates :many
-- A page of runs in the order of ids.
SELECT id, job_group, job_id, trigger_time, trigger_code, handle_code, outcome, trigger_type FROM xxl_job_log
WHERE id > sqlc.arg(after_id) AND id <= sqlc.arg(upto_id) ORDER BY id LIMIT ?;

-- name: ListRunStatesOfGroup :many
SELECT id, job_group, job_id, trigger_time, trigger_code, handle_code, outcome, trigger_type FROM xxl_job_log FORCE INDEX (I_jobgroup)
WHERE job_group = sqlc.arg(job_group) AND id > sqlc.arg(after_id) AND id <= sqlc.arg(upto_id) ORDER BY id LIMIT ?;

-- name: ListRunStatesOfJob :many
SELECT id, job_group, job_id, trigger_time, trigger_code, handle_code, outcome, trigger_type FROM xxl_job_log FORCE INDEX (i_job_outcome)
WHERE job_id = sqlc.arg(job_id) AND id > sqlc.arg(after_id) AND id <= sqlc.arg(upto_id) ORDER BY id LIMIT ?;

-- name: ListRunStatesByID :many
-- What a batch of runs counts as before it changes.
SELECT id, trigger_code, handle_code, outcome, owner_node FROM xxl_job_log WHERE id IN (sqlc.slice(ids));

-- name: DeleteRuns :execrows
DELETE FROM xxl_job_log WHERE id IN (sqlc.slice(ids));

-- name: DeleteOpenRuns :execrows
-- DeleteRuns for those that are still open; fewer rows than ids: some have ended meanwhile.
DELETE FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) AND outcome = 0 AND handle_code = 0 AND trigger_code IN (0, 200);

-- name: ListJobRetention :many
-- Jobs that do not follow the installation's retention.
SELECT id, retention_days FROM xxl_job_info WHERE retention_days <> 0 ORDER BY id;

-- name: NthRunIDUpTo :one
-- The id of the run after the newest N of those up to an id; OFFSET is N. Not found: there are no more than N.
SELECT id FROM xxl_job_log WHERE id <= sqlc.arg(upto) ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: CountRunsBetween :one
SELECT COUNT(*) FROM xxl_job_log WHERE id > sqlc.arg(after) AND id <= sqlc.arg(upto);

-- name: NthNewestRunIDOfGroup :one
SELECT id FROM xxl_job_log WHERE job_group = ? ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: NthNewestRunIDOfJob :one
SELECT id FROM xxl_job_log WHERE job_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: InsertClearing :execlastid
INSERT INTO punctual_clearing (user_name, job_group, job_id, before_time, first_id, upto_id, at_id, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetClearing :one
SELECT id, user_name, job_group, job_id, before_time, first_id, upto_id, at_id, deleted, kept, state, created_at, updated_at
FROM punctual_clearing WHERE id = ?;

-- name: NextClearing :one
-- The oldest that is open.
SELECT id, user_name, job_group, job_id, before_time, first_id, upto_id, at_id, deleted, kept, state, created_at, updated_at
FROM punctual_clearing WHERE state = 0 ORDER BY id LIMIT 1;

-- name: ListClearings :many
-- The newest, for the console.
SELECT id, user_name, job_group, job_id, before_time, first_id, upto_id, at_id, deleted, kept, state, created_at, updated_at
FROM punctual_clearing ORDER BY id DESC LIMIT ?;

-- name: AdvanceClearing :execrows
-- Notes how far a clearing has come. Guarded by where it was: 0 rows means that it was stopped, or that another admin is at it.
UPDATE punctual_clearing
SET at_id = sqlc.arg(at_id), deleted = sqlc.arg(deleted), kept = sqlc.arg(kept), state = sqlc.arg(state), updated_at = sqlc.arg(updated_at)
WHERE id = sqlc.arg(id) AND at_id = sqlc.arg(old_at_id) AND state = 0;

-- name: StopClearing :execrows
UPDATE punctual_clearing SET state = 2, updated_at = sqlc.arg(updated_at) WHERE id = sqlc.arg(id) AND state = 0;

-- name: DeleteClearingsBefore :execrows
-- Forgets what was finished long ago.
DELETE FROM punctual_clearing WHERE state <> 0 AND updated_at < ?;
