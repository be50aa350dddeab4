-- What touches punctual_executor, punctual_code_handler and punctual_token.

-- name: ListExecutors :many
-- What is known of executor addresses: all of it, it is one row for each that speaks another dialect, is switched off or was typed.
SELECT app_name, address, dialect, disabled, updated_at, asked_at, silent_since, fault FROM punctual_executor;

-- name: SetExecutorAsked :exec
-- What became of the question whether an address that somebody typed is there.
INSERT INTO punctual_executor (app_name, address, asked_at, silent_since, fault) VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE asked_at = VALUES(asked_at), silent_since = VALUES(silent_since), fault = VALUES(fault);

-- name: SetExecutorDialect :exec
INSERT INTO punctual_executor (app_name, address, dialect, updated_at) VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE dialect = VALUES(dialect), updated_at = VALUES(updated_at);

-- name: SetExecutorDisabled :exec
INSERT INTO punctual_executor (app_name, address, disabled, updated_at) VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE disabled = VALUES(disabled), updated_at = VALUES(updated_at);

-- name: ListCodeHandlers :many
-- All of it: a few rows, of groups whose executors declare such handlers.
SELECT group_id, handler FROM punctual_code_handler;

-- name: InsertCodeHandler :exec
INSERT IGNORE INTO punctual_code_handler (group_id, handler) VALUES (?, ?);

-- name: DeleteCodeHandlersOf :exec
DELETE FROM punctual_code_handler WHERE group_id = ?;

-- name: ListGroupOptions :many
-- What is decided for groups: a row for each of which something is.
SELECT app_name, idle_is_lost, updated_at, token_manages, script_review, keep_output, max_running FROM punctual_group;

-- name: SetGroupOptions :exec
INSERT INTO punctual_group (app_name, idle_is_lost, token_manages, script_review, keep_output, max_running, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE idle_is_lost = VALUES(idle_is_lost), token_manages = VALUES(token_manages), script_review = VALUES(script_review), keep_output = VALUES(keep_output), max_running = VALUES(max_running), updated_at = VALUES(updated_at);

-- name: DeleteGroupOptions :execrows
DELETE FROM punctual_group WHERE app_name = ?;

-- name: ListTokens :many
SELECT app_name, previous_until, updated_at, handover, token, previous FROM punctual_token;

-- name: SetToken :exec
INSERT INTO punctual_token (app_name, token, previous, previous_until, updated_at, handover) VALUES (?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE token = VALUES(token), previous = VALUES(previous), previous_until = VALUES(previous_until), updated_at = VALUES(updated_at), handover = VALUES(handover);

-- name: SealToken :execrows
-- The same tokens in another spelling, unless somebody has rotated them meanwhile.
UPDATE punctual_token SET token = sqlc.arg(token), previous = sqlc.arg(previous)
WHERE app_name = sqlc.arg(app_name) AND token = sqlc.arg(old_token) AND previous = sqlc.arg(old_previous);

-- name: DeleteToken :execrows
DELETE FROM punctual_token WHERE app_name = ?;

-- name: InsertTokenIfAbsent :execrows
-- The common token, made at the first start of all; of several admins that start together one decides.
INSERT IGNORE INTO punctual_token (app_name, token, updated_at) VALUES ('', ?, ?);
