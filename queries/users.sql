-- What touches xxl_job_user, sessions and settings.

-- name: GetUser :one
SELECT id, username, password, role, permission FROM xxl_job_user WHERE id = ?;

-- name: GetUserByName :one
SELECT id, username, password, role, permission FROM xxl_job_user WHERE username = ?;

-- name: CountUsers :one
SELECT COUNT(*) FROM xxl_job_user;

-- name: InsertUser :execlastid
INSERT INTO xxl_job_user (username, password, role, permission) VALUES (?, ?, ?, ?);

-- name: SetUserPassword :execrows
-- Guarded by the old hash, so that the upgrade of an old hash at login cannot undo a change made meanwhile.
UPDATE xxl_job_user SET password = sqlc.arg(new_password) WHERE id = sqlc.arg(id) AND password = sqlc.arg(old_password);

-- name: InsertSession :exec
INSERT INTO punctual_session (id, user_id, created_at, seen_at, expires_at, address, agent) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: GetSession :one
-- A session with its user, in one read per request.
SELECT s.id, s.user_id, s.created_at, s.seen_at, s.expires_at, u.username, u.role, u.permission
FROM punctual_session AS s JOIN xxl_job_user AS u ON u.id = s.user_id
WHERE s.id = sqlc.arg(id) AND s.expires_at > sqlc.arg(now_ms);

-- name: TouchSession :exec
UPDATE punctual_session SET seen_at = ?, expires_at = ? WHERE id = ?;

-- name: DeleteSession :exec
DELETE FROM punctual_session WHERE id = ?;

-- name: DeleteSessionsOfUser :execrows
DELETE FROM punctual_session WHERE user_id = ?;

-- name: DeleteSessionsBefore :execrows
DELETE FROM punctual_session WHERE expires_at < ? LIMIT 1000;

-- name: GetSetting :one
SELECT name, value, updated_at FROM punctual_setting WHERE name = ?;

-- name: InsertSettingIfAbsent :execrows
-- The first of several admins that start together decides the value; all of them read it back.
INSERT IGNORE INTO punctual_setting (name, value, updated_at) VALUES (?, ?, ?);

-- name: SetSetting :exec
INSERT INTO punctual_setting (name, value, updated_at) VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE value = VALUES(value), updated_at = VALUES(updated_at);
