-- What touches punctual_pause, punctual_pause_mark, and the columns of xxl_job_info that say what a pause holds back.

-- name: GetPauseRevision :one
-- How often pauses have been changed. A claim reads it in its own transaction.
SELECT CAST(COALESCE(MAX(revision), 0) AS SIGNED) AS revision FROM punctual_pause_mark;

-- name: RaisePauseRevision :exec
-- In the transaction of each change of a pause: two of them wait for each other here.
INSERT INTO punctual_pause_mark (id, revision) VALUES (1, 1) ON DUPLICATE KEY UPDATE revision = revision + 1;

-- name: HoldPauses :execrows
-- Changes nothing: nobody else makes a pause before the end of the transaction, nor deletes what one may be about. Before anything is read.
INSERT INTO punctual_pause_mark (id, revision) VALUES (1, 0) ON DUPLICATE KEY UPDATE revision = revision;

-- name: InsertPause :execlastid
INSERT INTO punctual_pause (scope, target, tag, from_at, until_at, strategy, cron, length_s, zone, reason, made_by, made_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetPause :one
SELECT id, scope, target, tag, from_at, until_at, strategy, cron, length_s, zone, reason, made_by, made_at, ended_by, ended_at
FROM punctual_pause WHERE id = ?;

-- name: ListPauses :many
-- The pauses that are not over since a moment, the oldest first.
SELECT id, scope, target, tag, from_at, until_at, strategy, cron, length_s, zone, reason, made_by, made_at, ended_by, ended_at
FROM punctual_pause WHERE until_at = 0 OR until_at > sqlc.arg(since) ORDER BY id LIMIT ?;

-- name: EndPause :execrows
-- Ends a pause early: from then on it holds nothing. One that has ended stays as it is.
UPDATE punctual_pause SET until_at = sqlc.arg(until_at), ended_by = sqlc.arg(ended_by), ended_at = sqlc.arg(ended_at)
WHERE id = sqlc.arg(id) AND ended_at = 0 AND (until_at = 0 OR until_at > sqlc.arg(until_at));

-- name: EndPausesOf :execrows
-- Ends the pauses of a job or a group that is deleted.
UPDATE punctual_pause SET until_at = CASE WHEN from_at > sqlc.arg(now_ms) THEN from_at ELSE sqlc.arg(now_ms) END, ended_by = sqlc.arg(ended_by), ended_at = sqlc.arg(now_ms)
WHERE scope = sqlc.arg(scope) AND target = sqlc.arg(target) AND ended_at = 0 AND (until_at = 0 OR until_at > sqlc.arg(now_ms));

-- name: ListPausedJobs :many
-- Jobs whose end of a pause was reckoned by other pauses than there are now.
SELECT id FROM xxl_job_info WHERE paused_rev > 0 AND paused_rev < sqlc.arg(revision) ORDER BY paused_rev, id LIMIT ?;

-- name: ResumeJobs :execrows
-- Has jobs decided anew from the first fire that was held back. One that somebody has given another next time keeps it.
UPDATE xxl_job_info
SET trigger_next_time = CASE WHEN trigger_next_time = paused_next AND trigger_status > 0 THEN paused_at ELSE trigger_next_time END, paused_rev = 0
WHERE id IN (sqlc.slice(ids)) AND paused_rev > 0 AND paused_rev < sqlc.arg(revision);
