-- What touches punctual_api_token and service accounts.

-- name: InsertAPIToken :execlastid
INSERT INTO punctual_api_token (user_id, name, hash, hint, rights, admin, group_ids, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: FindAPIToken :one
-- A token with its owner, in one read per request.
SELECT t.id, t.user_id, t.name, t.rights, t.admin, t.group_ids, t.expires_at, t.used_at, t.revoked_at, u.username, u.role, u.permission, u.disabled, u.service
FROM punctual_api_token AS t JOIN xxl_job_user AS u ON u.id = t.user_id
WHERE t.hash = sqlc.arg(hash);

-- name: ListAPITokens :many
-- Of one owner, or with user 0 everybody's; an owner has a few dozen.
SELECT t.id, t.user_id, t.name, t.hint, t.rights, t.admin, t.group_ids, t.created_at, t.expires_at, t.used_at, t.used_from, t.revoked_at, u.username, u.service, u.disabled
FROM punctual_api_token AS t JOIN xxl_job_user AS u ON u.id = t.user_id
WHERE t.user_id = sqlc.arg(user_id) OR 0 = sqlc.arg(user_id)
ORDER BY t.id DESC LIMIT ?;

-- name: GetAPIToken :one
SELECT t.id, t.user_id, t.name, t.hint, t.rights, t.admin, t.group_ids, t.created_at, t.expires_at, t.used_at, t.used_from, t.revoked_at, u.username, u.service, u.disabled
FROM punctual_api_token AS t JOIN xxl_job_user AS u ON u.id = t.user_id
WHERE t.id = ?;

-- name: CountAPITokens :one
-- Those of an owner that somebody may still use.
SELECT COUNT(*) FROM punctual_api_token WHERE user_id = sqlc.arg(user_id) AND revoked_at = 0 AND (expires_at = 0 OR expires_at > sqlc.arg(now_ms));

-- name: TouchAPIToken :exec
UPDATE punctual_api_token SET used_at = ?, used_from = ? WHERE id = ?;

-- name: RevokeAPIToken :execrows
UPDATE punctual_api_token SET revoked_at = sqlc.arg(revoked_at) WHERE id = sqlc.arg(id) AND revoked_at = 0;

-- name: ListAPITokensFor :many
-- Those that somebody may still use in certain groups only, one of which is this: the pattern is its id between commas.
SELECT id, user_id, name, group_ids FROM punctual_api_token
WHERE revoked_at = 0 AND CONCAT(',', group_ids, ',') LIKE sqlc.arg(pattern) ORDER BY id;

-- name: SetAPITokenGroups :exec
UPDATE punctual_api_token SET group_ids = ? WHERE id = ?;

-- name: DeleteAPITokensOf :execrows
DELETE FROM punctual_api_token WHERE user_id = ?;

-- name: ListServiceAccounts :many
SELECT id, username, role, disabled FROM xxl_job_user WHERE service = 1 ORDER BY username LIMIT ?;

-- name: IsServiceAccount :one
SELECT COUNT(*) FROM xxl_job_user WHERE id = ? AND service = 1;

-- name: SetServiceAccount :execrows
-- No password fits from now on.
UPDATE xxl_job_user SET service = 1, password = '!' WHERE id = ?;
