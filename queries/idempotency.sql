-- What touches punctual_idempotency: requests of API v1 that are made once, however often they are sent, and what else must not be done twice.

-- name: InsertIdempotency :exec
INSERT INTO punctual_idempotency (id, request, answer, made_at) VALUES (?, ?, '', ?);

-- name: GetIdempotency :one
SELECT id, request, answer, made_at FROM punctual_idempotency WHERE id = ?;

-- name: AnswerIdempotency :execrows
UPDATE punctual_idempotency SET answer = ? WHERE id = ?;

-- name: DeleteIdempotency :execrows
DELETE FROM punctual_idempotency WHERE id = ?;

-- name: TakeBackIdempotency :execrows
DELETE FROM punctual_idempotency WHERE id = ? AND made_at = ?;

-- name: CleanIdempotency :execrows
DELETE FROM punctual_idempotency WHERE made_at < ? LIMIT 1000;
