-- What touches punctual_backfill and punctual_backfill_run. Rows of the second are inserted many at a time, in db/bulk.go.

-- name: InsertBackfill :execlastid
INSERT INTO punctual_backfill (job_id, kind, from_at, until_at, newest, at_once, state, total, made_at, made_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetBackfill :one
SELECT * FROM punctual_backfill WHERE id = ?;

-- name: ListBackfillsOfJob :many
-- Newest first.
SELECT * FROM punctual_backfill WHERE job_id = ? ORDER BY id DESC LIMIT ?;

-- name: ListOpenBackfills :many
-- What there is to look after: a read of the index that finds nothing where there is none.
SELECT * FROM punctual_backfill WHERE ended_at = 0 AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: SetBackfillState :execrows
-- Guarded by the state that it was in, so that of two who ask at once one is told that it was late.
UPDATE punctual_backfill SET state = sqlc.arg(new_state) WHERE id = sqlc.arg(id) AND state = sqlc.arg(old_state) AND ended_at = 0;

-- name: MoveBackfill :execrows
-- Takes the next planned time, in the transaction that inserts its run. Guarded by the cursor, so that two admins cannot both take it.
UPDATE punctual_backfill SET sent = sent + 1 WHERE id = sqlc.arg(id) AND sent = sqlc.arg(no) AND state = sqlc.arg(state) AND ended_at = 0;

-- name: CountBackfilled :execrows
UPDATE punctual_backfill SET succeeded = succeeded + sqlc.arg(succeeded), failed = failed + sqlc.arg(failed) WHERE id = sqlc.arg(id);

-- name: EndBackfill :execrows
UPDATE punctual_backfill SET state = sqlc.arg(new_state), ended_at = sqlc.arg(ended_at)
WHERE id = sqlc.arg(id) AND state = sqlc.arg(old_state) AND ended_at = 0;

-- name: GetBackfillRun :one
SELECT * FROM punctual_backfill_run WHERE backfill_id = ? AND no = ?;

-- name: ListBackfillRuns :many
-- Those in a state, in their order.
SELECT * FROM punctual_backfill_run WHERE backfill_id = ? AND state = ? ORDER BY no LIMIT ?;

-- name: SendBackfillRun :execrows
UPDATE punctual_backfill_run SET state = 1, log_ids = sqlc.arg(log_ids) WHERE backfill_id = sqlc.arg(backfill_id) AND no = sqlc.arg(no) AND state = 0;

-- name: FollowBackfillRun :execrows
-- Notes the attempts that came in the place of others.
UPDATE punctual_backfill_run SET log_ids = sqlc.arg(log_ids) WHERE backfill_id = sqlc.arg(backfill_id) AND no = sqlc.arg(no) AND state = 1;

-- name: SettleBackfillRun :execrows
-- Guarded, so that each is counted once.
UPDATE punctual_backfill_run SET state = sqlc.arg(state) WHERE backfill_id = sqlc.arg(backfill_id) AND no = sqlc.arg(no) AND state = 1;

-- name: FirstBackfillEndedBefore :one
SELECT CAST(COALESCE(MIN(id), 0) AS SIGNED) AS id FROM punctual_backfill WHERE ended_at > 0 AND ended_at < sqlc.arg(before_ms);

-- name: DeleteBackfillRuns :execrows
DELETE FROM punctual_backfill_run WHERE backfill_id = ?;

-- name: DeleteBackfill :execrows
DELETE FROM punctual_backfill WHERE id = ?;
