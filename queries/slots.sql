-- What touches punctual_slot and punctual_gate; the protocol is in scheduler/gate.go. Inserts are in db/bulk.go.

-- name: TouchGates :execrows
-- The first statement of every transaction that gives slots of jobs: it makes those that run at once wait or conflict.
UPDATE punctual_gate SET turn = turn + 1 WHERE job_id IN (sqlc.slice(job_ids));

-- name: TouchGroupGates :execrows
-- The same for groups with a limit, after the gates of the jobs.
UPDATE punctual_group_gate SET turn = turn + 1 WHERE group_id IN (sqlc.slice(group_ids));

-- name: DeleteGroupGate :exec
DELETE FROM punctual_group_gate WHERE group_id = ?;

-- name: ListGatesWithoutJob :many
-- Jobs that are deleted, whose rows are of no use any more. A plain read, because a deletion by this condition would lock the jobs that it looks at.
SELECT g.job_id FROM punctual_gate AS g LEFT JOIN xxl_job_info AS j ON j.id = g.job_id WHERE j.id IS NULL ORDER BY g.job_id LIMIT 1000;

-- name: DeleteGates :execrows
DELETE FROM punctual_gate WHERE job_id IN (sqlc.slice(job_ids));

-- name: CountGroupSlots :many
-- How many runs of some groups have a slot. A group of which none does has no row.
SELECT group_id, COUNT(*) AS running FROM punctual_slot WHERE group_id IN (sqlc.slice(group_ids)) AND running = 1 GROUP BY group_id;

-- name: CountWaitingOfGroup :one
SELECT COUNT(*) FROM punctual_slot WHERE group_id = sqlc.arg(group_id) AND running = 0 AND planned_at <= sqlc.arg(now_ms);

-- name: MoveSlots :exec
-- What waits goes with its job to another group (0: of a flow, which is on no executor), or another line; what runs counts where it began.
UPDATE punctual_slot SET group_id = sqlc.arg(group_id), line = sqlc.arg(line) WHERE job_id = sqlc.arg(job_id) AND running = 0;

-- name: PutInLine :exec
-- The same for what the sweep found elsewhere, and that is still there: somebody may have changed the job since, and has moved its slots then.
UPDATE punctual_slot SET group_id = sqlc.arg(group_id), line = sqlc.arg(line)
WHERE job_id = sqlc.arg(job_id) AND running = 0 AND group_id = sqlc.arg(from_group) AND line = sqlc.arg(from_line);

-- name: ListSlotsElsewhere :many
-- Jobs of which a run waits in another group or line than it would now: an admin that does not know of these has made it, or has changed the job. The
-- lines are those of jobspec.Priority. A plain read, because an update by this condition would lock the jobs.
SELECT s.job_id, s.group_id AS from_group, s.line AS from_line,
       CAST(CASE WHEN j.glue_type = 'FLOW' THEN 0 ELSE j.job_group END AS SIGNED) AS group_id,
       CAST(CASE j.priority WHEN 'HIGHEST' THEN -2 WHEN 'HIGH' THEN -1 WHEN 'LOW' THEN 1 WHEN 'LOWEST' THEN 2 ELSE 0 END AS SIGNED) AS line
FROM punctual_slot AS s JOIN xxl_job_info AS j ON j.id = s.job_id
WHERE s.running = 0 AND (s.group_id <> CASE WHEN j.glue_type = 'FLOW' THEN 0 ELSE j.job_group END
  OR s.line <> CASE j.priority WHEN 'HIGHEST' THEN -2 WHEN 'HIGH' THEN -1 WHEN 'LOW' THEN 1 WHEN 'LOWEST' THEN 2 ELSE 0 END)
GROUP BY s.job_id, s.group_id, s.line, j.glue_type, j.job_group, j.priority LIMIT 1000;

-- name: TakeSlots :execrows
-- Gives waiting runs their slots. Guarded, so that one run gets one.
UPDATE punctual_slot SET running = 1 WHERE log_id IN (sqlc.slice(log_ids)) AND running = 0;

-- name: SetSlotGroup :exec
-- For which group's limit slots count.
UPDATE punctual_slot SET group_id = sqlc.arg(group_id) WHERE log_id IN (sqlc.slice(log_ids));

-- name: FreeSlots :execrows
-- Gives the slots of runs back, but of none that goes on: who wanted to end it may have come too late for that.
DELETE FROM punctual_slot WHERE log_id IN (sqlc.slice(log_ids))
  AND NOT EXISTS (SELECT 1 FROM xxl_job_log AS l WHERE l.id = punctual_slot.log_id AND l.handle_code = 0 AND l.trigger_code IN (0, 200));

-- name: ListSlotGroups :many
-- Which of these runs have a slot or wait for one, and for which group's limit each counts.
SELECT log_id, group_id, running FROM punctual_slot WHERE log_id IN (sqlc.slice(log_ids));

-- name: FirstSlotRun :one
-- The lowest run with a slot, or far above all when there is none: below it no admin can have been given one.
SELECT CAST(COALESCE(MIN(log_id), 9223372036854775807) AS SIGNED) AS log_id FROM punctual_slot;

-- name: ListWaitingRuns :many
-- The next runs of a job that wait for a slot, in the order in which they stand in the line of its group: of two orders, each could have others
-- before the first of the other. None that is over: its slot is given back by the sweep.
SELECT s.log_id FROM punctual_slot AS s LEFT JOIN xxl_job_log AS l ON l.id = s.log_id
WHERE COALESCE(l.trigger_code, -1) = 0 AND COALESCE(l.handle_code, -1) = 0 AND s.job_id = sqlc.arg(job_id) AND s.running = 0 AND s.planned_at <= sqlc.arg(now_ms)
ORDER BY s.line, s.planned_at, s.log_id LIMIT ?;

-- name: ListWaitingRunsOfGroup :many
-- The next runs of a group that wait for a slot, by their lines and then their planned times, after one of them. Each with how many runs its job may have
-- at a time (0: as many as come) and has; those of jobs that are full among them, so that no more are read than are asked for. None that is over: its slot
-- is given back by the sweep; asked so that no database begins with the runs. In Galera a count that is ended gives no number before the error comes.
SELECT s.log_id, s.job_id, s.line, s.planned_at, CAST(COALESCE(j.max_concurrent, 0) AS SIGNED) AS most,
       CAST(COALESCE(CASE WHEN j.max_concurrent > 0 THEN (SELECT COUNT(*) FROM punctual_slot AS o WHERE o.job_id = s.job_id AND o.running = 1) END, 0) AS SIGNED) AS running
FROM punctual_slot AS s LEFT JOIN xxl_job_log AS l ON l.id = s.log_id LEFT JOIN xxl_job_info AS j ON j.id = s.job_id
WHERE COALESCE(l.trigger_code, -1) = 0 AND COALESCE(l.handle_code, -1) = 0
  AND s.group_id = sqlc.arg(group_id) AND s.running = 0 AND s.planned_at <= sqlc.arg(now_ms)
  AND (s.line > sqlc.arg(after_line) OR s.line = sqlc.arg(after_line) AND (s.planned_at > sqlc.arg(after_ms) OR s.planned_at = sqlc.arg(after_ms) AND s.log_id > sqlc.arg(after_id)))
ORDER BY s.line, s.planned_at, s.log_id LIMIT ?;

-- name: ListWaitingJobsOfGroup :many
-- Jobs of which runs wait in the line of a group, and which may have more at a time than they have, each with the time of the first: read from one to the next
-- in i_group_job, however many runs wait, since all its columns are grouped by.
SELECT s.line, s.job_id, CAST(MIN(s.planned_at) AS SIGNED) AS planned_at,
       CAST(COALESCE((SELECT j.max_concurrent FROM xxl_job_info AS j WHERE j.id = s.job_id), 0) AS SIGNED) AS most,
       CAST(COALESCE((SELECT COUNT(*) FROM punctual_slot AS o WHERE o.job_id = s.job_id AND o.running = 1), 0) AS SIGNED) AS taken
FROM punctual_slot AS s WHERE s.group_id = sqlc.arg(group_id) AND s.running = 0
GROUP BY s.group_id, s.running, s.line, s.job_id HAVING most = 0 OR taken < most;

-- name: ListWaitingRunsOfJob :many
-- The next runs of a job in the line of a group, as [Queries.ListWaitingRunsOfGroup] has them, from one on.
SELECT s.log_id, s.planned_at FROM punctual_slot AS s LEFT JOIN xxl_job_log AS l ON l.id = s.log_id
WHERE COALESCE(l.trigger_code, -1) = 0 AND COALESCE(l.handle_code, -1) = 0
  AND s.group_id = sqlc.arg(group_id) AND s.running = 0 AND s.line = sqlc.arg(line) AND s.job_id = sqlc.arg(job_id)
  AND s.planned_at >= sqlc.arg(after_ms) AND s.planned_at <= sqlc.arg(now_ms) AND (s.planned_at > sqlc.arg(after_ms) OR s.log_id > sqlc.arg(after_id))
ORDER BY s.planned_at, s.log_id LIMIT ?;

-- name: ListJobsWithWaitingRun :many
-- Which of these jobs have a run that waits for a slot and whose time has come.
SELECT DISTINCT job_id FROM punctual_slot WHERE job_id IN (sqlc.slice(job_ids)) AND running = 0 AND planned_at <= sqlc.arg(now_ms);

-- name: NewestWaitingRun :one
-- The newest run of a job that waits for a slot and whose time has come. Runs are made ahead of their times, so it need not be the last that was made.
SELECT log_id, planned_at FROM punctual_slot
WHERE job_id = sqlc.arg(job_id) AND running = 0 AND planned_at <= sqlc.arg(now_ms)
ORDER BY planned_at DESC, log_id DESC LIMIT 1;

-- name: ListGroupsWithWaiting :many
-- Groups with a run that has been waiting for a while, for the sweep; 0: of none.
SELECT DISTINCT group_id FROM punctual_slot WHERE running = 0 AND planned_at <= sqlc.arg(before_ms);

-- name: ListStaleSlots :many
-- Slots whose run has ended or is gone: nothing gives them back any more.
SELECT s.log_id, s.job_id FROM punctual_slot AS s LEFT JOIN xxl_job_log AS l ON l.id = s.log_id
WHERE l.id IS NULL OR l.handle_code <> 0 OR l.trigger_code NOT IN (0, 200)
LIMIT 1000;
