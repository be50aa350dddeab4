-- What touches punctual_flow_text, punctual_flow_run and punctual_flow_step; the protocol is in scheduler/flows.go. Rows are inserted and
-- changed many at a time, in db/flows.go.

-- name: GetFlowRun :one
SELECT * FROM punctual_flow_run WHERE log_id = ?;

-- name: ListFlowRuns :many
SELECT * FROM punctual_flow_run WHERE log_id IN (sqlc.slice(log_ids)) ORDER BY log_id;

-- name: LockFlowRuns :many
-- Waits for whoever is deciding about these runs. In the order of ids, so that two who want several do not wait for each other.
SELECT log_id FROM punctual_flow_run WHERE log_id IN (sqlc.slice(log_ids)) ORDER BY log_id FOR UPDATE;

-- name: ListFlowRevisions :many
-- Whether runs of flows are as an admin remembers them: each decision raises the revision.
SELECT log_id, revision, state FROM punctual_flow_run WHERE log_id IN (sqlc.slice(log_ids));

-- name: ListFlowRunsDeciding :many
-- Runs of flows with what decisions read of their rows in xxl_job_log.
SELECT sqlc.embed(f), l.executor_param, COALESCE(l.planned_at, 0) AS planned_at, COALESCE(l.planned_for, 0) AS planned_for
FROM punctual_flow_run AS f LEFT JOIN xxl_job_log AS l ON l.id = f.log_id WHERE f.log_id IN (sqlc.slice(log_ids)) ORDER BY f.log_id;

-- name: ListFlowRunsOfSteps :many
-- The same of the runs that some steps and items belong to.
SELECT sqlc.embed(f), l.executor_param, COALESCE(l.planned_at, 0) AS planned_at, COALESCE(l.planned_for, 0) AS planned_for
FROM punctual_flow_run AS f LEFT JOIN xxl_job_log AS l ON l.id = f.log_id
WHERE f.log_id IN (SELECT flow_log_id FROM punctual_flow_step WHERE punctual_flow_step.id IN (sqlc.slice(step_ids))) ORDER BY f.log_id;

-- name: ListFlowSteps :many
-- The steps of some runs of flows, without the long texts that few decisions need. Without the index named
-- MariaDB walks through the whole table for some hundred runs, in the order of ids.
SELECT id, flow_log_id, step, item, state, job_id, run_id, going, succeeded, failed, cancelled, total, attempt, ending, by_hand, code, due_at, began_at, ended_at, decided_by, remark, next_item
FROM punctual_flow_step FORCE INDEX (i_flow_step) WHERE flow_log_id IN (sqlc.slice(log_ids)) AND item = -1 ORDER BY id;

-- name: ListWholeFlowSteps :many
SELECT * FROM punctual_flow_step WHERE flow_log_id IN (sqlc.slice(log_ids)) AND item = -1 ORDER BY id;

-- name: ListFlowItems :many
-- A page of the items of a step, in their order.
SELECT * FROM punctual_flow_step
WHERE flow_log_id = sqlc.arg(flow_log_id) AND item > sqlc.arg(after_item) AND step = sqlc.arg(step) ORDER BY item LIMIT ?;

-- name: ListFlowItemNumbers :many
-- Which items of a step have begun, or have succeeded before, from one on.
SELECT item FROM punctual_flow_step WHERE flow_log_id = sqlc.arg(flow_log_id) AND step = sqlc.arg(step) AND item >= sqlc.arg(from_item) ORDER BY item LIMIT ?;

-- name: ListFlowResults :many
-- What some steps gave, for the expressions that read it.
SELECT step, message, output FROM punctual_flow_step WHERE flow_log_id = sqlc.arg(flow_log_id) AND item = -1 AND step IN (sqlc.slice(steps));

-- name: ListFlowItemResults :many
-- A page of what the items of a step gave, in their order.
SELECT id, item, state, code, message, output FROM punctual_flow_step
WHERE flow_log_id = sqlc.arg(flow_log_id) AND item > sqlc.arg(after_item) AND step = sqlc.arg(step) ORDER BY item LIMIT ?;

-- name: GetFlowItems :one
-- The list of a foreach.
SELECT items FROM punctual_flow_step WHERE id = ?;

-- name: CopyFlowItems :exec
-- Gives a run the items of another one's step: a part of those in some states.
INSERT INTO punctual_flow_step (flow_log_id, step, item, state, job_id, run_id, going, failed, total, succeeded, cancelled, attempt, ending, code, by_hand, due_at, began_at, ended_at,
 decided_by, remark, message, param, items, output)
SELECT sqlc.arg(to_log_id), step, item, state, job_id, run_id, going, failed, total, succeeded, cancelled, attempt, ending, code, by_hand, due_at, began_at, ended_at,
 decided_by, remark, message, param, items, output
FROM punctual_flow_step AS theirs
WHERE theirs.flow_log_id = sqlc.arg(from_log_id) AND theirs.item >= sqlc.arg(from_item) AND theirs.item < sqlc.arg(to_item) AND theirs.step = sqlc.arg(step)
 AND theirs.state IN (sqlc.slice(states));

-- name: ListFlowStepsByID :many
SELECT * FROM punctual_flow_step WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListUnsettledFlowSteps :many
-- Steps and items that go on (state 1) although the run that stands in their row has ended, or is gone, from an id on: what the sweep
-- looks at. Their end is written in the transaction of the run's, so that there are none but broadcasts, and what others have ended.
SELECT s.id, s.flow_log_id, s.job_id, s.run_id
FROM punctual_flow_step s JOIN punctual_flow_run f ON f.log_id = s.flow_log_id LEFT JOIN xxl_job_log l ON l.id = s.run_id
WHERE s.state = 1 AND s.run_id > 0 AND s.id > sqlc.arg(after_id) AND f.state = 0 AND (l.id IS NULL OR l.handle_code <> 0 OR l.trigger_code NOT IN (0, 200))
ORDER BY s.id LIMIT ?;

-- name: ListEndedFlowRuns :many
-- Runs of flows that go on and whose row has ended, or is gone.
SELECT f.log_id FROM punctual_flow_run f LEFT JOIN xxl_job_log l ON l.id = f.log_id
WHERE f.state = 0 AND f.asked = 0 AND (l.id IS NULL OR l.handle_code <> 0 OR l.trigger_code NOT IN (0, 200)) ORDER BY f.log_id LIMIT ?;

-- name: ListGoingFlowRuns :many
-- The runs of the steps and items of a flow that go on.
SELECT id, step, item, job_id, run_id, going FROM punctual_flow_step
WHERE flow_log_id = sqlc.arg(flow_log_id) AND state = 1 AND run_id > 0 AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: ListOpenRunsOfStep :many
-- The runs of a broadcast that is a step, which go on: a walk along the index of its job from its first on.
SELECT id FROM xxl_job_log
WHERE job_id = sqlc.arg(job_id) AND id >= sqlc.arg(from_id) AND flow_step = sqlc.arg(flow_step) AND handle_code = 0 AND trigger_code IN (0, 200) ORDER BY id;

-- name: ListRunsOfStep :many
-- All attempts and shards of a step or an item: a walk along the index of its job from its first on.
SELECT id, executor_sharding_param, trigger_code, handle_code, outcome, origin_log_id, trigger_type FROM xxl_job_log
WHERE job_id = sqlc.arg(job_id) AND id >= sqlc.arg(from_id) AND flow_step = sqlc.arg(flow_step) ORDER BY id LIMIT 10000;

-- name: SetFlowRunTimes :exec
-- Of a run that begins with steps that were given.
UPDATE punctual_flow_run SET began_at = sqlc.arg(began_at), deadline = sqlc.arg(deadline), zone = sqlc.arg(zone) WHERE log_id = sqlc.arg(log_id);

-- name: ListFlowRunsToWake :many
-- What is to be decided although nothing has ended, behind a time and a run: some stay as they are, as those whose definition cannot be read.
SELECT log_id, wake_at FROM punctual_flow_run
WHERE state = 0 AND wake_at > 0 AND wake_at <= sqlc.arg(now_ms) AND wake_at >= sqlc.arg(after_at)
  AND (wake_at > sqlc.arg(after_at) OR log_id > sqlc.arg(after_id))
ORDER BY wake_at, log_id LIMIT ?;

-- name: ListFlowRunsInState :many
SELECT log_id, text_id, job_id, ends, failed_step, stopped_by FROM punctual_flow_run WHERE state = sqlc.arg(state) AND log_id > sqlc.arg(after_id) ORDER BY log_id LIMIT ?;

-- name: ListFlowRunsGoing :many
-- The runs of a flow that go on and have not been asked to end, the oldest first.
SELECT log_id FROM punctual_flow_run WHERE job_id = sqlc.arg(job_id) AND state = 0 AND asked = 0 ORDER BY log_id LIMIT ?;

-- name: EndFlowRuns :execrows
-- Notes that the end of these is in xxl_job_log.
UPDATE punctual_flow_run SET state = 2, wake_at = 0, ended_at = sqlc.arg(ended_at) WHERE log_id IN (sqlc.slice(log_ids)) AND state <> 2;

-- name: FindFlowTexts :many
-- What jobs have on record: few, as the definitions that no run goes by are deleted.
SELECT id, job_id, digest, made_at FROM punctual_flow_text FORCE INDEX (i_flow_text_digest) WHERE job_id IN (sqlc.slice(job_ids));

-- name: TouchFlowText :execrows
-- Keeps one that a run begins with from being deleted as unused; 0 rows: it has been.
UPDATE punctual_flow_text SET made_at = sqlc.arg(made_at) WHERE id = sqlc.arg(id);

-- name: GetFlowText :one
SELECT * FROM punctual_flow_text WHERE id = ?;

-- name: ListFlowRunsWithoutRun :many
-- Runs of flows whose row in xxl_job_log has been deleted, from an id on: each is one look by the primary key.
SELECT f.log_id, f.state, CASE WHEN l.id IS NULL THEN 1 ELSE 0 END AS gone
FROM punctual_flow_run f LEFT JOIN xxl_job_log l ON l.id = f.log_id
WHERE f.log_id > sqlc.arg(after_id) ORDER BY f.log_id LIMIT ?;

-- name: DeleteFlowSteps :execrows
-- A part of them: the caller goes on until fewer than the limit were deleted.
DELETE FROM punctual_flow_step WHERE flow_log_id = ? LIMIT 1000;

-- name: DeleteFlowRuns :execrows
DELETE FROM punctual_flow_run WHERE log_id IN (sqlc.slice(log_ids));

-- name: ListFlowTextsUnused :many
-- One pass over the runs of flows, and a read of its own before the deletion: a DELETE with a SELECT goes through them for each text, and locks
-- them all.
SELECT id FROM punctual_flow_text WHERE made_at < sqlc.arg(made_before) AND id NOT IN (SELECT text_id FROM punctual_flow_run) LIMIT ?;

-- name: DeleteFlowTexts :execrows
-- But for those that runs have begun with since: see TouchFlowText.
DELETE FROM punctual_flow_text WHERE id IN (sqlc.slice(ids)) AND made_at < sqlc.arg(made_before);

-- name: GetFlowStep :one
SELECT * FROM punctual_flow_step WHERE flow_log_id = ? AND step = ? AND item = -1;
