-- What touches punctual_output and the two tables beside it, see db/migrations/mysql/00275_output.sql. Rows that come and change many
-- at a time are in db/outputs.go.

-- name: GetOutput :one
SELECT log_id, job_group, job_id, state, reason, node, tries, next_at, ended_at, kept_at, object_id, pos, size, text_at, text_size,
       head_size, head_lines, left_lines, tail_lines, faults, pushed
FROM punctual_output WHERE log_id = ?;

-- name: ListDueOutputs :many
-- What one admin is to copy, the longest due first.
SELECT log_id, job_group, job_id, tries, ended_at, object_id FROM punctual_output
WHERE state = 0 AND node = sqlc.arg(node) AND next_at <= sqlc.arg(now) ORDER BY next_at, log_id LIMIT ?;

-- name: CountDueOutputs :one
SELECT COUNT(*) FROM punctual_output WHERE state = 0;

-- name: ListOutputNodes :many
-- Admins that have something to copy.
SELECT DISTINCT node FROM punctual_output WHERE state = 0;

-- name: ListOutputsOfNode :many
SELECT log_id FROM punctual_output WHERE state = 0 AND node = ? LIMIT ?;

-- name: TakeOverOutputs :execrows
-- Guarded, so that two admins cannot both take one.
UPDATE punctual_output SET node = sqlc.arg(new_node), next_at = 0
WHERE state = 0 AND node = sqlc.arg(old_node) AND log_id IN (sqlc.slice(ids));

-- name: InsertEndedOutputs :exec
INSERT INTO punctual_output_ended (node, ended_at, runs, ids) VALUES (?, ?, ?, ?);

-- name: ListEndedOutputs :many
-- What ended in commits, of one admin, in their order.
SELECT id, ended_at, ids FROM punctual_output_ended WHERE node = sqlc.arg(node) AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: ListEndedOutputNodes :many
SELECT DISTINCT node FROM punctual_output_ended;

-- name: TakeOverEndedOutputs :execrows
UPDATE punctual_output_ended SET node = sqlc.arg(new_node) WHERE node = sqlc.arg(old_node) AND id IN (sqlc.slice(ids));

-- name: SumEndedOutputs :one
SELECT CAST(COALESCE(SUM(runs), 0) AS SIGNED) AS runs FROM punctual_output_ended;

-- name: DeleteEndedOutputs :execrows
DELETE FROM punctual_output_ended WHERE id IN (sqlc.slice(ids));

-- name: ListOutputStates :many
SELECT log_id, state, pushed, ended_at FROM punctual_output WHERE log_id IN (sqlc.slice(ids)) ORDER BY log_id;

-- name: EndPushedOutputs :execrows
-- What was pushed of runs that have a result since.
UPDATE punctual_output SET state = 2 WHERE state = 1 AND pushed = 1 AND log_id IN (sqlc.slice(ids));

-- name: ListOutputIDs :many
-- Which of these runs have a row.
SELECT log_id FROM punctual_output WHERE log_id IN (sqlc.slice(ids)) ORDER BY log_id;

-- name: LockOutputs :many
-- The rows of runs, which nobody changes before the transaction ends. Ask for those that are there: others lock gaps.
SELECT log_id, state, node, ended_at, object_id, pushed, head_lines, left_lines, tail_lines FROM punctual_output WHERE log_id IN (sqlc.slice(ids)) ORDER BY log_id FOR UPDATE;

-- name: DeleteOutputs :execrows
DELETE FROM punctual_output WHERE log_id IN (sqlc.slice(ids));

-- name: ListOutputsAfter :many
-- A page in the order of ids, to see which runs are still there.
SELECT log_id FROM punctual_output WHERE log_id > ? ORDER BY log_id LIMIT ?;

-- name: ListRunsThere :many
SELECT id FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListRunsToKeep :many
-- Of which groups and jobs runs are, what became of them, and what their jobs want kept.
SELECT l.id, l.job_group, l.job_id, l.handle_code, l.outcome, COALESCE(j.keep_output, '') AS keep_output
FROM xxl_job_log l LEFT JOIN xxl_job_info j ON j.id = l.job_id WHERE l.id IN (sqlc.slice(ids)) ORDER BY l.id;

-- name: ListLiveOutputsToEnd :many
-- Copies of runs that were going on and have ended since.
SELECT o.log_id, l.job_group, l.job_id, l.outcome, l.handle_code, COALESCE(j.keep_output, '') AS keep_output
FROM punctual_output o JOIN xxl_job_log l ON l.id = o.log_id LEFT JOIN xxl_job_info j ON j.id = l.job_id
WHERE o.state = 1 AND l.handle_code <> 0 AND l.finished_at < sqlc.arg(before_ms) ORDER BY o.log_id LIMIT ?;

-- name: ListLongRuns :many
-- Those of the open runs that were sent a while ago.
SELECT l.id, l.job_group, l.job_id, l.executor_address, l.trigger_time, l.planned_at, l.sent_at, COALESCE(j.keep_output, '') AS keep_output
FROM xxl_job_log l LEFT JOIN xxl_job_info j ON j.id = l.job_id
WHERE l.id IN (sqlc.slice(ids)) AND l.handle_code = 0 AND l.trigger_code = 200 AND l.sent_at > 0 AND l.sent_at <= sqlc.arg(sent_before)
ORDER BY l.id;

-- name: InsertOutputObject :execlastid
INSERT INTO punctual_output_object (store, name, created_at) VALUES (?, ?, ?);

-- name: SetOutputObject :execrows
UPDATE punctual_output_object SET size = sqlc.arg(size), live = sqlc.arg(live), made = sqlc.arg(live) WHERE id = sqlc.arg(id);

-- name: LeaveOutputObject :exec
UPDATE punctual_output_object SET live = CASE WHEN live > sqlc.arg(n) THEN live - sqlc.arg(n) ELSE 0 END WHERE id = sqlc.arg(id);

-- name: GetOutputObject :one
SELECT id, store, name, size, live, made, created_at FROM punctual_output_object WHERE id = ?;

-- name: ListEmptyOutputObjects :many
-- Objects of a store in which nothing is any more, or not yet: who makes one has until before_ms. Those after one of them, by their age.
SELECT id, name, created_at FROM punctual_output_object WHERE live = 0 AND store = sqlc.arg(store) AND created_at < sqlc.arg(before_ms)
  AND (created_at > sqlc.arg(after_ms) OR created_at = sqlc.arg(after_ms) AND id > sqlc.arg(after_id)) ORDER BY created_at, id LIMIT ?;

-- name: ListThinOutputObjects :many
-- Objects of a store most of whose rows are gone, of a page of ids.
SELECT id FROM punctual_output_object WHERE id > sqlc.arg(after_id) AND id <= sqlc.arg(upto_id) AND store = sqlc.arg(store) AND live > 0 AND live * 2 <= made AND created_at < sqlc.arg(before_ms) ORDER BY id LIMIT ?;

-- name: MaxOutputObjectID :one
SELECT CAST(COALESCE(MAX(id), 0) AS SIGNED) AS id FROM punctual_output_object;

-- name: ListOutputsInObject :many
SELECT log_id, job_group, job_id, state, reason, node, tries, next_at, ended_at, kept_at, object_id, pos, size, text_at, text_size,
       head_size, head_lines, left_lines, tail_lines, faults, pushed
FROM punctual_output WHERE object_id = ? ORDER BY log_id LIMIT ?;

-- name: ListKeptOfJob :many
-- Of which runs of a job something is kept, and where, newest first: by the index on both.
SELECT log_id, object_id FROM punctual_output FORCE INDEX (i_output_job) WHERE job_id = sqlc.arg(job_id) AND log_id >= sqlc.arg(from_id) AND log_id < sqlc.arg(before_id) AND object_id > 0
ORDER BY log_id DESC LIMIT ?;

-- name: ListKeptOfGroup :many
-- The same of the jobs of a group.
SELECT log_id, object_id FROM punctual_output FORCE INDEX (i_output_group) WHERE job_group = sqlc.arg(job_group) AND log_id >= sqlc.arg(from_id) AND log_id < sqlc.arg(before_id) AND object_id > 0
ORDER BY log_id DESC LIMIT ?;

-- name: ListKept :many
-- What is kept of some runs, newest first.
SELECT log_id, job_group, job_id, state, reason, node, tries, next_at, ended_at, kept_at, object_id, pos, size, text_at, text_size,
       head_size, head_lines, left_lines, tail_lines, faults, pushed
FROM punctual_output WHERE log_id IN (sqlc.slice(ids)) AND object_id > 0 ORDER BY log_id DESC;

-- name: ListFaults :many
-- How many lines with errors the kept outputs of some runs have.
SELECT log_id, faults FROM punctual_output WHERE log_id IN (sqlc.slice(ids)) AND object_id > 0;

-- name: DeleteOutputObject :execrows
DELETE FROM punctual_output_object WHERE id = ? AND live = 0;

-- name: InsertOutputFilter :exec
INSERT INTO punctual_output_filter (object_id, bits) VALUES (?, ?);

-- name: ListOutputFilters :many
SELECT object_id, bits FROM punctual_output_filter WHERE object_id IN (sqlc.slice(ids));

-- name: DeleteOutputFilter :exec
DELETE FROM punctual_output_filter WHERE object_id = ?;

-- name: InsertOutputBlob :exec
INSERT INTO punctual_output_blob (object_id, part, data) VALUES (?, ?, ?);

-- name: ListOutputBlobs :many
SELECT part, data FROM punctual_output_blob WHERE object_id = sqlc.arg(object_id) AND part >= sqlc.arg(from_part) AND part <= sqlc.arg(upto_part) ORDER BY part;

-- name: DeleteOutputBlobs :execrows
DELETE FROM punctual_output_blob WHERE object_id = ?;

-- name: SumOutputObjects :one
-- How much is kept, and how much of that since a moment.
SELECT COUNT(*) AS objects, CAST(COALESCE(SUM(size), 0) AS SIGNED) AS bytes,
       CAST(COALESCE(SUM(CASE WHEN created_at >= sqlc.arg(since_ms) THEN size ELSE 0 END), 0) AS SIGNED) AS lately
FROM punctual_output_object WHERE live > 0;
