-- What touches punctual_pull and punctual_pull_answer, see scheduler/pull. Rows are inserted many at a time, in db/pulls.go.

-- name: ListPulls :many
-- What may be handed over. The table holds the calls of a few seconds, and of a cluster only.
SELECT id, app_name, address, size, taken_by FROM punctual_pull WHERE expires_at > sqlc.arg(now) ORDER BY id LIMIT 2000;

-- name: TakePulls :execrows
-- Hands calls over to a pull: those that nobody has, and those of pulls of which the executor says that it had no answer. Guarded, so
-- that of two admins one takes a call.
UPDATE punctual_pull SET taken_by = sqlc.arg(pull)
WHERE id IN (sqlc.slice(ids)) AND expires_at > sqlc.arg(now) AND (taken_by = '' OR taken_by IN (sqlc.slice(lost)));

-- name: ListTakenPulls :many
-- What a pull was given in fact.
SELECT id, path, trace_parent, body, expires_at FROM punctual_pull WHERE id IN (sqlc.slice(ids)) AND taken_by = sqlc.arg(pull) ORDER BY id;

-- name: WithdrawPull :execrows
-- The caller waits no longer. Guarded: no row means that somebody may have it.
DELETE FROM punctual_pull WHERE id = ? AND taken_by = '';

-- name: DeletePulls :execrows
DELETE FROM punctual_pull WHERE id IN (sqlc.slice(ids));

-- name: DeletePullsBefore :execrows
-- What an admin that was killed has left.
DELETE FROM punctual_pull WHERE expires_at < ?;

-- name: ListPullAnswers :many
SELECT id, app_name, address, body FROM punctual_pull_answer WHERE asker = ? ORDER BY id LIMIT 200;

-- name: CountPullAnswers :one
-- How many answers of an executor wait for the admins that asked, and their bytes.
SELECT COUNT(*) AS answers, CAST(COALESCE(SUM(size), 0) AS SIGNED) AS bytes FROM punctual_pull_answer WHERE address = sqlc.arg(address) AND app_name = sqlc.arg(app_name);

-- name: CountAllPullAnswers :one
SELECT COUNT(*) AS answers, CAST(COALESCE(SUM(size), 0) AS SIGNED) AS bytes FROM punctual_pull_answer;

-- name: DeletePullAnswers :execrows
DELETE FROM punctual_pull_answer WHERE id IN (sqlc.slice(ids));

-- name: DeletePullAnswersBefore :execrows
DELETE FROM punctual_pull_answer WHERE expires_at < ?;

-- name: GetPullSeen :one
-- When an executor asked for calls last, at any admin that has written it down.
SELECT seen_at, wait_ms FROM punctual_pull_seen WHERE app_name = ? AND address = ?;

-- name: DeletePullSeenBefore :execrows
DELETE FROM punctual_pull_seen WHERE seen_at < ?;
