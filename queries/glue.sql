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

-- name: SetScriptChange :exec
INSERT INTO punctual_script_change (job_id, author_id, author, base, source, remark, made_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE author_id = VALUES(author_id), author = VALUES(author), base = VALUES(base), source = VALUES(source), remark = VALUES(remark), made_at = VALUES(made_at);

-- name: DeleteScriptChange :execrows
DELETE FROM punctual_script_change WHERE job_id = ?;
