-- name: InsertAudit :execlastid
-- Written in the transaction of the change wherever there is one.
INSERT INTO punctual_audit (made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetAudit :one
-- One entry with what it changed.
SELECT id, made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json
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

-- name: DeleteAuditBefore :execrows
-- Forgets entries that nobody has to keep any more, some at a time.
DELETE FROM punctual_audit WHERE made_at < ? LIMIT 1000;
