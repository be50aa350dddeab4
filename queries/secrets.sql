-- What touches punctual_secret.

-- name: ListSecrets :many
-- Without the values, which are for the sending alone.
SELECT name, created_at, updated_at, updated_by FROM punctual_secret WHERE group_id = ? ORDER BY name;

-- name: ListSecretValues :many
-- Sealed. A group has tens.
SELECT name, value FROM punctual_secret WHERE group_id = ?;

-- name: SetSecret :exec
INSERT INTO punctual_secret (group_id, name, value, created_at, updated_at, updated_by) VALUES (?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE value = VALUES(value), updated_at = VALUES(updated_at), updated_by = VALUES(updated_by);

-- name: DeleteSecret :execrows
DELETE FROM punctual_secret WHERE group_id = ? AND name = ?;

-- name: DeleteSecretsOf :execrows
DELETE FROM punctual_secret WHERE group_id = ?;
