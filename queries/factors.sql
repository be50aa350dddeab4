-- What touches second factors and recovery codes.

-- name: ListFactors :many
-- A user's, the oldest first: a handful.
SELECT id, user_id, kind, name, secret, last_step, created_at, used_at FROM punctual_factor WHERE user_id = ? ORDER BY id LIMIT 50;

-- name: CountFactors :one
SELECT COUNT(*) FROM punctual_factor WHERE user_id = ?;

-- name: CountFactorsByUser :many
-- How many everybody has who has any.
SELECT user_id, COUNT(*) AS factors FROM punctual_factor GROUP BY user_id;

-- name: InsertFactor :execlastid
INSERT INTO punctual_factor (user_id, kind, name, secret, last_step, created_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: UseCode :execrows
-- Takes the code of a step of time; no row if that step or a later one was taken.
UPDATE punctual_factor SET last_step = sqlc.arg(step), used_at = sqlc.arg(used_at) WHERE id = sqlc.arg(id) AND last_step < sqlc.arg(step);

-- name: UsePasskey :execrows
UPDATE punctual_factor SET secret = ?, used_at = ? WHERE id = ?;

-- name: DeleteFactor :execrows
DELETE FROM punctual_factor WHERE id = ? AND user_id = ?;

-- name: DeleteFactorsOfUser :execrows
DELETE FROM punctual_factor WHERE user_id = ?;

-- name: InsertRecoveryCode :exec
INSERT INTO punctual_recovery_code (user_id, hash) VALUES (?, ?);

-- name: CountRecoveryCodes :one
SELECT COUNT(*) FROM punctual_recovery_code WHERE user_id = ?;

-- name: UseRecoveryCode :execrows
-- Of two requests with the same code, one gets the row.
DELETE FROM punctual_recovery_code WHERE user_id = ? AND hash = ?;

-- name: DeleteRecoveryCodes :execrows
DELETE FROM punctual_recovery_code WHERE user_id = ?;

-- name: TakeSignInChallenge :execrows
-- What a step asked can be answered once.
UPDATE punctual_sign_in SET challenge = NULL WHERE id = ? AND challenge IS NOT NULL;
