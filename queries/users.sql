-- What touches xxl_job_user, sessions and settings.

-- name: GetUser :one
SELECT id, username, password, role, permission, disabled, login_at, provider, break_glass, service FROM xxl_job_user WHERE id = ?;

-- name: GetUserByName :one
SELECT id, username, password, role, permission, disabled, provider, break_glass FROM xxl_job_user WHERE username = ?;

-- name: CountPeople :one
-- An installation is new until there is somebody who can log in: a program may have had its token made before.
SELECT COUNT(*) FROM xxl_job_user WHERE service = 0;

-- name: ListUsers :many
-- Everybody behind a name and an id, by name. Passwords stay where they are.
SELECT id, username, role, permission, disabled, login_at, provider, break_glass, service FROM xxl_job_user
WHERE username > sqlc.arg(after_name) OR (username = sqlc.arg(after_name) AND id > sqlc.arg(after_id)) ORDER BY username, id LIMIT ?;

-- name: CountAdministrators :one
-- Those who can log in whatever becomes of a directory; one has to stay. Nobody signs in as a service account.
SELECT COUNT(*) FROM xxl_job_user WHERE role = 1 AND disabled = 0 AND provider = '' AND service = 0;

-- name: CountBreakGlass :one
-- Administrators who may use a password when others may not. A service account has none.
SELECT COUNT(*) FROM xxl_job_user WHERE role = 1 AND disabled = 0 AND provider = '' AND break_glass = 1 AND service = 0;

-- name: UpdateUser :execrows
-- What an administrator changes of a user; names stay, passwords have their own way.
UPDATE xxl_job_user SET role = ?, permission = ?, disabled = ?, break_glass = ? WHERE id = ?;

-- name: SetUserDisabled :execrows
-- What an administrator changes of somebody for whom a provider vouches.
UPDATE xxl_job_user SET disabled = ? WHERE id = ?;

-- name: ResetUserPassword :execrows
-- A new password without knowing the old one.
UPDATE xxl_job_user SET password = sqlc.arg(new_password) WHERE id = sqlc.arg(id);

-- name: SetUserLogin :exec
-- Notes when somebody logged in last.
UPDATE xxl_job_user SET login_at = ? WHERE id = ?;

-- name: SetUserLang :exec
-- The language somebody chose for themselves.
UPDATE xxl_job_user SET lang = ? WHERE id = ?;

-- name: SetUserTheme :exec
-- The theme somebody chose for themselves.
UPDATE xxl_job_user SET theme = ? WHERE id = ?;

-- name: SetUserZone :exec
-- The time zone in which somebody sees times; empty: the installation's.
UPDATE xxl_job_user SET time_zone = ? WHERE id = ?;

-- name: SetUserPreferences :exec
-- How somebody wants the console; see auth.Preferences.
UPDATE xxl_job_user SET preferences = ? WHERE id = ?;

-- name: DeleteUser :execrows
-- The caller ends the sessions and drops the permissions too.
DELETE FROM xxl_job_user WHERE id = ?;

-- name: ListPermissionsOf :many
-- A normal user's rights in the groups where they are fewer than all.
SELECT user_id, group_id, rights FROM punctual_permission WHERE user_id = ? ORDER BY group_id;

-- name: ListPermissions :many
-- The finer rights of everybody, for the list of users.
SELECT user_id, group_id, rights FROM punctual_permission ORDER BY user_id, group_id;

-- name: InsertPermission :exec
-- One group's rights of a user whose old ones were dropped just before.
INSERT INTO punctual_permission (user_id, group_id, rights) VALUES (?, ?, ?);

-- name: DeletePermissionsOf :execrows
-- All finer rights of a user.
DELETE FROM punctual_permission WHERE user_id = ?;

-- name: ListUsersPermitted :many
-- Those in whose list of groups one is: the pattern is its id between commas.
SELECT id, permission FROM xxl_job_user
WHERE CONCAT(',', REPLACE(permission, ' ', ''), ',') LIKE sqlc.arg(pattern) ORDER BY id;

-- name: SetUserPermission :exec
UPDATE xxl_job_user SET permission = ? WHERE id = ?;

-- name: DeletePermissionsOfGroup :execrows
-- All finer rights in a group that is deleted.
DELETE FROM punctual_permission WHERE group_id = ?;

-- name: InsertUser :execlastid
INSERT INTO xxl_job_user (username, password, role, permission, provider, identity_key, directory_id) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: GetUserByIdentity :one
-- Who a provider or a directory vouches for; never asked with an empty key, which all others have.
SELECT id, username, role, permission, disabled FROM xxl_job_user WHERE identity_key = ? ORDER BY id LIMIT 1;

-- name: UpdateProviderUser :execrows
-- What a provider says of a user, at a login or when it is asked again.
UPDATE xxl_job_user SET username = ?, role = ?, permission = ?, provider = ?, directory_id = ?, disabled = ? WHERE id = ?;

-- name: HoldUser :execrows
-- Changes nothing and locks the row: what is read behind it holds until the end of the transaction.
UPDATE xxl_job_user SET disabled = disabled WHERE id = ?;

-- name: ListDirectoryUsers :many
-- Those whom a directory vouched for and whom no administrator has shut out: what to ask it again about.
SELECT id, username, identity_key, directory_id, disabled, login_at FROM xxl_job_user
WHERE provider = ? AND disabled <> 1 AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: UseSignIn :execrows
-- Marks a sign-in as used; no row if it was already.
INSERT IGNORE INTO punctual_used_sign_in (id, used_at) VALUES (?, ?);

-- name: DeleteUsedSignInsBefore :execrows
DELETE FROM punctual_used_sign_in WHERE used_at < ? LIMIT 1000;

-- name: SetUserPassword :execrows
-- Guarded by the old hash, so that the upgrade of an old hash at login cannot undo a change made meanwhile.
UPDATE xxl_job_user SET password = sqlc.arg(new_password) WHERE id = sqlc.arg(id) AND password = sqlc.arg(old_password);

-- name: InsertSession :exec
INSERT INTO punctual_session (id, user_id, created_at, seen_at, expires_at, remembered, address, agent, strong) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetSession :one
-- A session with its user, in one read per request.
SELECT s.id, s.user_id, s.created_at, s.seen_at, s.expires_at, s.remembered, s.strong, u.username, u.role, u.permission, u.lang, u.theme, u.time_zone, u.preferences, u.provider,
       CAST(COALESCE((SELECT MIN(f.created_at) FROM punctual_factor AS f WHERE f.user_id = s.user_id), 9223372036854775807) AS SIGNED) AS factor_since
FROM punctual_session AS s JOIN xxl_job_user AS u ON u.id = s.user_id
WHERE s.id = sqlc.arg(id) AND s.expires_at > sqlc.arg(now_ms) AND u.disabled = 0;

-- name: ListSessionsOfUser :many
-- The sessions of a user that still count, the one used last first.
SELECT id, user_id, created_at, seen_at, expires_at, address, agent, remembered, strong FROM punctual_session
WHERE user_id = sqlc.arg(user_id) AND expires_at > sqlc.arg(now_ms) ORDER BY seen_at DESC, id LIMIT ?;

-- name: ListSessionTimes :many
-- The sessions of everybody, for counting those that still count.
SELECT s.id, s.user_id, s.created_at, s.seen_at, s.expires_at, s.remembered, s.strong, u.role, u.provider,
       CAST(COALESCE((SELECT MIN(f.created_at) FROM punctual_factor AS f WHERE f.user_id = s.user_id), 9223372036854775807) AS SIGNED) AS factor_since
FROM punctual_session AS s JOIN xxl_job_user AS u ON u.id = s.user_id
WHERE s.expires_at > sqlc.arg(now_ms) AND u.disabled = 0 LIMIT ?;

-- name: RenewSession :exec
-- Its user has shown anew who they are.
UPDATE punctual_session SET created_at = sqlc.arg(now_ms) WHERE id = sqlc.arg(id);

-- name: HoldSession :execrows
-- Whether a session still counts; if so it does until the transaction ends, since what ends it waits for the row.
UPDATE punctual_session SET user_id = sqlc.arg(user_id) WHERE id = sqlc.arg(id) AND user_id = sqlc.arg(user_id) AND expires_at > sqlc.arg(now_ms);

-- name: DeleteSessionOfUser :execrows
-- One session, if it is that user's.
DELETE FROM punctual_session WHERE id = ? AND user_id = ?;

-- name: DeleteOtherSessions :execrows
-- Every session of a user but the one in use.
DELETE FROM punctual_session WHERE user_id = sqlc.arg(user_id) AND id <> sqlc.arg(keep_id);

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

-- name: ListSettings :many
-- All of them: there are a few dozen.
SELECT name, value, updated_at FROM punctual_setting ORDER BY name LIMIT ?;

-- name: DeleteSetting :execrows
-- Goes back to what the program does by itself.
DELETE FROM punctual_setting WHERE name = ?;

-- name: SetSetting :exec
INSERT INTO punctual_setting (name, value, updated_at) VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE value = VALUES(value), updated_at = VALUES(updated_at);

-- name: ReplaceSetting :execrows
-- Changes a setting that is still what it was when it was read: of several admins that start together one does.
UPDATE punctual_setting SET value = sqlc.arg(new_value), updated_at = sqlc.arg(updated_at)
WHERE name = sqlc.arg(name) AND value = sqlc.arg(old_value);
