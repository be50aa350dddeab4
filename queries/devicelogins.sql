-- What touches punctual_device_login. Its states are manage's.

-- name: InsertDeviceLogin :exec
INSERT INTO punctual_device_login (id, code, program, address, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: CountDeviceLogins :one
-- Those that may still be answered, and how many of them are an address's.
SELECT COUNT(*) AS total, COUNT(CASE WHEN address = sqlc.arg(address) THEN 1 END) AS of_address FROM punctual_device_login WHERE expires_at > sqlc.arg(now_ms);

-- name: GetDeviceLogin :one
-- With the owner of the token to be, once there is one.
SELECT d.id, d.state, d.expires_at, d.user_id, d.address, d.name, d.rights, d.admin, d.group_ids, d.days, COALESCE(u.username, '') AS username, COALESCE(u.disabled, 1) AS disabled
FROM punctual_device_login AS d LEFT JOIN xxl_job_user AS u ON u.id = d.user_id
WHERE d.id = sqlc.arg(id);

-- name: ForgetWhoLetIn :execrows
-- What somebody let in who is deleted is refused when it comes for its token, which would be that of whoever gets their number.
UPDATE punctual_device_login SET user_id = 0 WHERE user_id = ?;

-- name: FindDeviceLogin :one
-- One that waits for an answer.
SELECT id, code, program, address, created_at, expires_at FROM punctual_device_login WHERE code = sqlc.arg(code) AND state = 0 AND expires_at > sqlc.arg(now_ms);

-- name: AnswerDeviceLogin :execrows
UPDATE punctual_device_login SET state = sqlc.arg(state), user_id = sqlc.arg(user_id), name = sqlc.arg(name), rights = sqlc.arg(rights), admin = sqlc.arg(admin), group_ids = sqlc.arg(group_ids), days = sqlc.arg(days)
WHERE code = sqlc.arg(code) AND state = 0 AND expires_at > sqlc.arg(now_ms);

-- name: TakeDeviceLogin :execrows
-- Whoever changes the row has the token: of who was read as its owner, and has not been forgotten since (ForgetWhoLetIn).
UPDATE punctual_device_login SET state = 3 WHERE id = sqlc.arg(id) AND state = 1 AND user_id = sqlc.arg(user_id) AND expires_at > sqlc.arg(now_ms);

-- name: DeleteDeviceLoginsBefore :execrows
DELETE FROM punctual_device_login WHERE expires_at <= ?;
