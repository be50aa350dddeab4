-- name: InsertAudit :execlastid
-- Written in the transaction of the change wherever there is one.
INSERT INTO punctual_audit (made_at, user_id, user_name, address, action, object_kind, object_id, object_name, group_id, before_json, after_json)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetAudit :one
-- One entry with what it changed.
SELECT id, made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json, group_id, seq, hash
FROM punctual_audit WHERE id = ?;

-- name: AuditIDs :one
-- The ends of the log; both 0 while it is empty. Asked for both at once, SQLite would read it all.
SELECT CAST(COALESCE((SELECT MIN(id) FROM punctual_audit), 0) AS SIGNED) AS first_id,
       CAST(COALESCE((SELECT MAX(id) FROM punctual_audit), 0) AS SIGNED) AS last_id;

-- name: AuditTimeFrom :one
-- When the entry with an id, or the next one, was made: how far back a search has come.
SELECT made_at FROM punctual_audit WHERE id >= ? ORDER BY id LIMIT 1;

-- name: FirstAuditIDSince :one
-- The first entry since a moment. Ids grow with the times, except for entries written at the same moment by two admins.
SELECT id FROM punctual_audit WHERE made_at >= ? ORDER BY made_at, id LIMIT 1;

-- name: ListUnchainedAudit :many
-- Entries that have no place in the chain yet, in the order in which they get one.
SELECT id, made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json, group_id, seq, hash
FROM punctual_audit WHERE seq = 0 ORDER BY id LIMIT ?;

-- name: ChainAudit :execrows
-- Gives an entry its place, once.
UPDATE punctual_audit SET seq = ?, hash = ? WHERE id = ? AND seq = 0;

-- name: ListChainedAudit :many
-- The chain after a place, in its order.
SELECT id, made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json, group_id, seq, hash
FROM punctual_audit WHERE seq > sqlc.arg(after_seq) ORDER BY seq, id LIMIT ?;

-- name: CountUnchainedAudit :one
SELECT COUNT(*) FROM punctual_audit WHERE seq = 0;

-- name: DeleteChainedAudit :execrows
-- Takes the beginning of the chain away, some at a time. Its last place is kept as a mark in the same transaction.
DELETE FROM punctual_audit WHERE seq > sqlc.arg(after_seq) AND seq <= sqlc.arg(to_seq);

-- name: InsertAuditMarkIfAbsent :exec
INSERT IGNORE INTO punctual_audit_mark (name, seq, hash) VALUES (?, ?, ?);

-- name: GetAuditMark :one
SELECT name, seq, hash, owner, until_ms FROM punctual_audit_mark WHERE name = ?;

-- name: ListAuditMarks :many
SELECT name, seq, hash, owner, until_ms FROM punctual_audit_mark ORDER BY name LIMIT ?;

-- name: MoveAuditMark :execrows
-- Moves a mark on from where it was; of several admins that try at once one does.
UPDATE punctual_audit_mark SET seq = sqlc.arg(new_seq), hash = sqlc.arg(new_hash) WHERE name = sqlc.arg(name) AND seq = sqlc.arg(old_seq);

-- name: HoldAuditMark :execrows
-- Makes an admin the owner of a target for a while, if nobody else is.
UPDATE punctual_audit_mark SET owner = sqlc.arg(owner), until_ms = sqlc.arg(until_ms)
WHERE name = sqlc.arg(name) AND (owner = sqlc.arg(owner) OR until_ms < sqlc.arg(now_ms));

-- name: ListAuditOfObject :many
-- The newest entries about one thing, with as much of what they changed as the names of the fields take: a script may be long.
SELECT id, made_at, user_name, action, SUBSTRING(COALESCE(before_json, ''), 1, 4000) AS before_part, SUBSTRING(COALESCE(after_json, ''), 1, 4000) AS after_part
FROM punctual_audit
WHERE object_kind = sqlc.arg(object_kind) AND object_id = sqlc.arg(object_id) AND made_at > sqlc.arg(after_ms) AND made_at <= sqlc.arg(until_ms)
ORDER BY id DESC LIMIT ?;
