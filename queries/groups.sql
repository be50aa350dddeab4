-- What touches xxl_job_group and xxl_job_registry.

-- name: ListGroups :many
-- Every group in upstream's order (docs/compat.md §2.13).
SELECT id, app_name, title, address_type, address_list, update_time FROM xxl_job_group ORDER BY app_name, title, id;

-- name: GetGroup :one
SELECT id, app_name, title, address_type, address_list, update_time FROM xxl_job_group WHERE id = ?;

-- name: CountGroupsByAppName :one
-- App names are unique for us although old schemas do not enforce it; except_id leaves the edited group out.
SELECT COUNT(*) FROM xxl_job_group WHERE app_name = sqlc.arg(app_name) AND id <> sqlc.arg(except_id);

-- name: InsertGroup :execlastid
INSERT INTO xxl_job_group (app_name, title, address_type, address_list, update_time) VALUES (?, ?, ?, ?, ?);

-- name: UpdateGroup :execrows
UPDATE xxl_job_group SET app_name = ?, title = ?, address_type = ?, address_list = ?, update_time = ? WHERE id = ?;

-- name: SetGroupAddresses :execrows
-- The registry's view of an automatic group. One column and guarded by the type, so that it cannot undo an edit (docs/compat.md §8.2 #26).
UPDATE xxl_job_group SET address_list = sqlc.arg(address_list), update_time = sqlc.arg(update_time)
WHERE id = sqlc.arg(id) AND address_type = 0;

-- name: HoldGroup :execrows
-- Changes nothing and locks the row: neither is the group deleted before the end of the transaction, nor does a job come to one that is being
-- deleted. 0 rows: it is gone.
UPDATE xxl_job_group SET app_name = app_name WHERE id = ?;

-- name: DeleteGroup :execrows
DELETE FROM xxl_job_group WHERE id = ?;

-- name: CountGroups :one
SELECT COUNT(*) FROM xxl_job_group;

-- name: ListRegistry :many
-- Executors' last beats, the dead ones too: who reads decides by the time.
SELECT registry_key, registry_value, update_time, token_shown, takes_env FROM xxl_job_registry
WHERE registry_group = 'EXECUTOR' ORDER BY registry_key, registry_value;

-- name: TouchRegistry :execrows
-- Refreshes a known address; 0 rows: insert it. Updating first keeps the beats from burning ids (docs/compat.md §2.12).
UPDATE xxl_job_registry SET update_time = ?, token_shown = ?, takes_env = ? WHERE registry_group = ? AND registry_key = ? AND registry_value = ?;

-- name: InsertRegistry :exec
INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time, token_shown, takes_env) VALUES (?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE update_time = VALUES(update_time), token_shown = VALUES(token_shown), takes_env = VALUES(takes_env);

-- name: DeleteRegistry :execrows
DELETE FROM xxl_job_registry WHERE registry_group = ? AND registry_key = ? AND registry_value = ?;

-- name: DeleteRegistryOfKey :execrows
DELETE FROM xxl_job_registry WHERE registry_group = 'EXECUTOR' AND registry_key = ?;

-- name: DeleteRegistryBefore :execrows
-- Forgets addresses that have not beaten for a long time.
DELETE FROM xxl_job_registry WHERE registry_group = 'EXECUTOR' AND update_time < ?;

-- name: ListSilentExecutors :many
SELECT id, registry_key, registry_value FROM xxl_job_registry WHERE registry_group = 'EXECUTOR' AND silent = 0 AND update_time < ? ORDER BY id LIMIT ?;

-- name: NoteSilentExecutor :execrows
-- Guarded: whoever notes it tells of it.
UPDATE xxl_job_registry SET silent = 1 WHERE id = sqlc.arg(id) AND silent = 0 AND update_time < sqlc.arg(before);

-- name: NoteExecutorBack :execrows
UPDATE xxl_job_registry SET silent = 0 WHERE registry_group = 'EXECUTOR' AND registry_key = ? AND registry_value = ? AND silent = 1;
