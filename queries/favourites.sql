-- What touches punctual_favourite: the jobs that people have marked with the star.

-- name: InsertFavourite :exec
-- One that is marked already stays so.
INSERT IGNORE INTO punctual_favourite (user_id, job_id, made_at) VALUES (?, ?, ?);

-- name: DeleteFavourite :execrows
DELETE FROM punctual_favourite WHERE user_id = ? AND job_id = ?;

-- name: ListFavourites :many
-- By the primary key; the use case bounds how many somebody has.
SELECT job_id FROM punctual_favourite WHERE user_id = ? ORDER BY job_id;

-- name: ListFavouritesAmong :many
SELECT job_id FROM punctual_favourite WHERE user_id = ? AND job_id IN (sqlc.slice(ids));

-- name: DeleteFavouritesOfUser :execrows
DELETE FROM punctual_favourite WHERE user_id = ?;

-- name: ListFavouritesWithoutJob :many
-- Of jobs that were deleted: each is one look by the primary key. See ListGoneJobsOfAlarmStates.
SELECT job_id FROM punctual_favourite WHERE user_id = ? AND NOT EXISTS (SELECT 1 FROM xxl_job_info WHERE xxl_job_info.id = punctual_favourite.job_id);

-- name: DeleteFavourites :execrows
DELETE FROM punctual_favourite WHERE user_id = ? AND job_id IN (sqlc.slice(ids));

-- name: ListJobsOfAuthor :many
-- The newest first. One pass over the jobs.
SELECT id FROM xxl_job_info WHERE author = ? ORDER BY id DESC LIMIT ?;
