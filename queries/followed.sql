-- What touches punctual_followed: fires of which more than one run may succeed, and whose children have been started. See scheduler/chain.go.

-- name: InsertFollowed :execrows
-- 0 rows: a run of the same fire has succeeded before. Of two at the same time the second waits here for the first.
INSERT IGNORE INTO punctual_followed (log_id, by_log_id, followed_at) VALUES (?, ?, ?);

-- name: DeleteFollowedBefore :execrows
DELETE FROM punctual_followed WHERE followed_at < ?;
