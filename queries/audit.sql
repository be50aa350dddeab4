-- name: InsertAudit :execlastid
-- Written in the transaction of the change wherever there is one.
INSERT INTO punctual_audit (made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetAudit :one
-- One entry with what it changed.
SELECT id, made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json
FROM punctual_audit WHERE id = ?;

-- name: ListAudit :many
-- One page below before_id, newest first. An empty filter counts as any; object_pattern is a LIKE pattern in which ! escapes the
-- wildcards. from_id bounds how far back the log is read ([Queries.FirstAuditIDSince]).
SELECT id, made_at, user_id, user_name, address, action, object_kind, object_id, object_name
FROM punctual_audit
WHERE id < sqlc.arg(before_id) AND id >= sqlc.arg(from_id) AND made_at <= sqlc.arg(until_ms)
  AND (sqlc.arg(user_name) = '' OR user_name = sqlc.arg(user_name))
  AND (sqlc.arg(action) = '' OR action = sqlc.arg(action))
  AND (sqlc.arg(object_kind) = '' OR object_kind = sqlc.arg(object_kind))
  AND (CAST(sqlc.arg(object_id) AS SIGNED) = 0 OR object_id = sqlc.arg(object_id))
  AND object_name LIKE sqlc.arg(object_pattern) ESCAPE '!'
ORDER BY id DESC
LIMIT ?;

-- name: ListAuditIDsFrom :many
-- The ids from an entry on upwards under the filter of ListAudit, to find the page above.
SELECT id FROM punctual_audit
WHERE id >= sqlc.arg(from_id) AND made_at <= sqlc.arg(until_ms)
  AND (sqlc.arg(user_name) = '' OR user_name = sqlc.arg(user_name))
  AND (sqlc.arg(action) = '' OR action = sqlc.arg(action))
  AND (sqlc.arg(object_kind) = '' OR object_kind = sqlc.arg(object_kind))
  AND (CAST(sqlc.arg(object_id) AS SIGNED) = 0 OR object_id = sqlc.arg(object_id))
  AND object_name LIKE sqlc.arg(object_pattern) ESCAPE '!'
ORDER BY id
LIMIT ?;

-- name: FirstAuditIDSince :one
-- The first entry since a moment. Ids grow with the times, except for entries written at the same moment by two admins.
SELECT id FROM punctual_audit WHERE made_at >= ? ORDER BY made_at, id LIMIT 1;

-- name: ListAuditUsers :many
-- Who has changed anything, for the filter; one seek each.
SELECT DISTINCT user_name FROM punctual_audit ORDER BY user_name LIMIT ?;

-- name: DeleteAuditBefore :execrows
-- Forgets entries that nobody has to keep any more, some at a time.
DELETE FROM punctual_audit WHERE made_at < ? LIMIT 1000;
