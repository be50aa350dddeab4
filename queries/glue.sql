-- What reads the history of scripts (xxl_job_logglue). Versions are written with the job they belong to (jobs.sql).

-- name: ListGlueVersions :many
-- The versions of a job's script, newest first, without their texts; there are never many (ListGlueVersionIDs).
SELECT id, glue_type, glue_remark, add_time FROM xxl_job_logglue WHERE job_id = ? ORDER BY id DESC LIMIT ?;

-- name: GetGlueVersion :one
-- One version of a job's script. Asked for with its job, so that nobody reads another job's by its number.
SELECT id, job_id, glue_type, glue_source, glue_remark, add_time, update_time FROM xxl_job_logglue WHERE id = ? AND job_id = ?;

-- name: SaveJobSource :execrows
-- A new version of a script from its editor. 0 rows when somebody changed the job since it was read.
UPDATE xxl_job_info
SET glue_source = sqlc.arg(glue_source), glue_remark = sqlc.arg(glue_remark), glue_updatetime = sqlc.arg(glue_updatetime),
    update_time = sqlc.arg(update_time), revision = revision + 1
WHERE id = sqlc.arg(id) AND revision = sqlc.arg(old_revision);

-- name: GetScriptChange :one
-- The change of a job's script that waits for a second person.
SELECT job_id, author_id, author, base, source, remark, made_at FROM punctual_script_change WHERE job_id = ?;

-- name: ListScriptChanges :many
-- The jobs whose script has a change that waits, and by whom, without the texts.
SELECT c.job_id, c.author_id, c.author, j.job_group, j.glue_type
FROM punctual_script_change AS c JOIN xxl_job_info AS j ON j.id = c.job_id ORDER BY c.job_id;

-- name: InsertScriptChange :exec
-- The first who proposes one; a duplicate is somebody else at the same moment.
INSERT INTO punctual_script_change (job_id, author_id, author, base, source, remark, made_at) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: ReplaceScriptChange :execrows
-- Another text in the place of one that waits; 0 rows when that was decided about, or replaced, meanwhile.
UPDATE punctual_script_change
SET author_id = sqlc.arg(author_id), author = sqlc.arg(author), base = sqlc.arg(base), source = sqlc.arg(source), remark = sqlc.arg(remark), made_at = sqlc.arg(made_at)
WHERE job_id = sqlc.arg(job_id) AND made_at = sqlc.arg(old_made_at);

-- name: TakeScriptChange :execrows
-- Forgets the one that was decided about; 0 rows when another is there by now, or none.
DELETE FROM punctual_script_change WHERE job_id = ? AND made_at = ?;

-- name: DeleteScriptChange :execrows
DELETE FROM punctual_script_change WHERE job_id = ?;

-- name: ForgetScriptAuthor :execrows
-- Of a user who is deleted: what waits is still told by its author's name.
UPDATE punctual_script_change SET author_id = 0 WHERE author_id = ?;
