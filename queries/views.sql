-- What touches punctual_view: filters of lists that people keep under a name.

-- name: ListViews :many
-- What somebody sees on every list: their own and those that are shared, in the order of the menu.
SELECT id, user_id, page, name, params, shared, created_at FROM punctual_view
WHERE user_id = sqlc.arg(user_id) OR shared = 1 ORDER BY page, name, id LIMIT ?;

-- name: GetView :one
SELECT id, user_id, page, name, params, shared, created_at FROM punctual_view WHERE id = ?;

-- name: CountViewsOf :one
-- How many somebody keeps: there is a limit.
SELECT COUNT(*) FROM punctual_view WHERE user_id = ?;

-- name: InsertView :execlastid
INSERT INTO punctual_view (user_id, page, name, params, shared, created_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: UpdateView :execrows
-- Another name, another filter, or shared or not.
UPDATE punctual_view SET name = ?, params = ?, shared = ? WHERE id = ?;

-- name: DeleteView :execrows
DELETE FROM punctual_view WHERE id = ?;

-- name: DeleteOwnViews :execrows
-- Of a user who is deleted. What they shared stays: others use it.
DELETE FROM punctual_view WHERE user_id = ? AND shared = 0;

-- name: DisownSharedViews :execrows
-- Of a user who is deleted: what they shared is nobody's then, under a number that no user has and no other view.
UPDATE punctual_view SET user_id = -id WHERE user_id = ? AND shared = 1;

-- name: OwnView :execrows
-- One that is nobody's.
UPDATE punctual_view SET user_id = ? WHERE id = ? AND user_id < 0;
