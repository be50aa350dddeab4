-- What touches failed logins and the places where somebody has logged in before.

-- name: ListFullAttempts :many
-- Those of some limits that were touched lately, in one read: most attempts of an attack end here, without a write.
SELECT id, full_at FROM punctual_login_attempt WHERE id IN (sqlc.slice(ids));

-- name: TakeAttempt :execrows
-- Takes one attempt if there is one left: no row, if there is none or nobody ever tried ([InsertAttempt] tells). Two admins
-- that take the last one at the same time do not both get it.
UPDATE punctual_login_attempt
SET full_at = CASE WHEN full_at > sqlc.arg(now_ms) THEN full_at ELSE CAST(sqlc.arg(now_ms) AS SIGNED) END + CAST(sqlc.arg(pause_ms) AS SIGNED)
WHERE id = sqlc.arg(id) AND full_at <= sqlc.arg(most_ms);

-- name: InsertAttempt :execrows
-- The first attempt of a limit; no row if it is there.
INSERT IGNORE INTO punctual_login_attempt (id, name, full_at) VALUES (?, ?, ?);

-- name: GiveAttemptBack :exec
-- For an attempt that turned out not to have been one.
UPDATE punctual_login_attempt SET full_at = full_at - CAST(sqlc.arg(pause_ms) AS SIGNED) WHERE id = sqlc.arg(id);

-- name: DeleteAttempt :exec
-- Gives a limit all its attempts back.
DELETE FROM punctual_login_attempt WHERE id = ?;

-- name: DeleteAttemptsOnName :execrows
-- Gives a name all its attempts back, wherever they were made.
DELETE FROM punctual_login_attempt WHERE name = ?;

-- name: DeleteAttemptsBefore :execrows
-- What is worth nothing any more. The caller asks again until a batch comes back short.
DELETE FROM punctual_login_attempt WHERE full_at < ? LIMIT 1000;

-- name: ListPlaces :many
-- Which of some places a user is known at.
SELECT place FROM punctual_login_place WHERE user_id = sqlc.arg(user_id) AND place IN (sqlc.slice(places));

-- name: KeepPlace :exec
INSERT INTO punctual_login_place (user_id, place, seen_at) VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE seen_at = VALUES(seen_at);

-- name: NthPlace :one
-- When the oldest place worth keeping was seen.
SELECT seen_at FROM punctual_login_place WHERE user_id = ? ORDER BY seen_at DESC LIMIT 1 OFFSET ?;

-- name: DeletePlacesOfUserBefore :execrows
DELETE FROM punctual_login_place WHERE user_id = ? AND seen_at <= ?;

-- name: DeletePlacesOfUser :execrows
DELETE FROM punctual_login_place WHERE user_id = ?;

-- name: DeletePlacesBefore :execrows
DELETE FROM punctual_login_place WHERE seen_at < ? LIMIT 1000;

-- name: InsertSignIn :exec
INSERT INTO punctual_sign_in (id, user_id, way, provider, remember, strong, address, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetSignIn :one
-- A sign-in that is under way, with its user. Whoever was disabled meanwhile has none.
SELECT i.id, i.user_id, i.way, i.provider, i.remember, i.strong, i.address, i.challenge, u.username, u.role, u.permission, u.lang, u.theme
FROM punctual_sign_in AS i JOIN xxl_job_user AS u ON u.id = i.user_id
WHERE i.id = sqlc.arg(id) AND i.expires_at > sqlc.arg(now_ms) AND u.disabled = 0;

-- name: SetSignInStrong :exec
-- A second factor was shown: which one of auth.Second, by its number.
UPDATE punctual_sign_in SET strong = ?, challenge = NULL WHERE id = ?;

-- name: SetSignInChallenge :exec
UPDATE punctual_sign_in SET challenge = ? WHERE id = ?;

-- name: EndSignIn :execrows
-- The session is there. For a moment more the sign-in opens it anew to a form that is sent twice.
UPDATE punctual_sign_in SET expires_at = sqlc.arg(until_ms) WHERE id = sqlc.arg(id) AND expires_at > sqlc.arg(until_ms);

-- name: DeleteSignInsOfUser :execrows
-- After a change of what they show.
DELETE FROM punctual_sign_in WHERE user_id = ?;

-- name: DeleteOtherSignIns :execrows
-- After a change of the password they began with, but for the one in which it was changed.
DELETE FROM punctual_sign_in WHERE user_id = sqlc.arg(user_id) AND id <> sqlc.arg(keep_id);

-- name: DeleteSignInsBefore :execrows
DELETE FROM punctual_sign_in WHERE expires_at < ? LIMIT 1000;

-- name: GetUserDue :one
-- What a user still has to do before they have a session, and since when they have a second factor here.
SELECT u.role, u.password_due, u.provider,
       CAST(COALESCE((SELECT MIN(f.created_at) FROM punctual_factor AS f WHERE f.user_id = u.id), 9223372036854775807) AS SIGNED) AS factor_since
FROM xxl_job_user AS u WHERE u.id = ?;

-- name: SetPasswordDue :exec
UPDATE xxl_job_user SET password_due = ? WHERE id = ?;
