-- What touches punctual_beside; see db/beside.go.

-- name: ListBeside :many
-- The groups that are Punctual's beside XXL-JOB admins. The row of group 0 says that Punctual works beside any; without it the
-- others say nothing.
SELECT group_id, moved_at, moved_by FROM punctual_beside ORDER BY group_id;

-- name: BeginBeside :exec
INSERT IGNORE INTO punctual_beside (group_id, moved_at, moved_by) VALUES (0, ?, ?);

-- name: SetBeside :exec
-- A group is Punctual's from now on.
INSERT IGNORE INTO punctual_beside (group_id, moved_at, moved_by) VALUES (?, ?, ?);

-- name: UnsetBeside :exec
-- A group is XXL-JOB's again.
DELETE FROM punctual_beside WHERE group_id = ? AND group_id <> 0;

-- name: EndBeside :exec
DELETE FROM punctual_beside;

-- name: LockSchedules :one
-- The lock under which XXL-JOB admins read what is due and write when it is due next.
SELECT lock_name FROM xxl_job_lock WHERE lock_name = 'schedule_lock' FOR UPDATE;

-- name: TakeJobs :execrows
-- The started jobs of a group are Punctual's from now on. Their next times stay: they are the first that the old admins have not
-- taken. What was claimed of them at an earlier time holds nothing back.
UPDATE xxl_job_info SET trigger_status = 2, claimed_until = 0 WHERE job_group = ? AND trigger_status = 1;

-- name: GiveJobsBack :execrows
-- The started jobs of a group are the old admins' from now on, all of which must be claimed up to a moment.
UPDATE xxl_job_info SET trigger_status = 1
WHERE job_group = ? AND trigger_status = 2 AND trigger_next_time >= sqlc.arg(from_ms) AND claimed_until <= trigger_next_time;

-- name: CountMovedJobs :one
SELECT COUNT(*) FROM xxl_job_info WHERE job_group = ? AND trigger_status = 2;

-- name: TakeAllJobs :execrows
-- Nobody schedules beside Punctual any more, or nobody but an old admin. Flows are not for one.
UPDATE xxl_job_info SET trigger_status = 1 WHERE trigger_status = 2 AND glue_type <> 'FLOW';

-- name: ListJobsOfGroupByStatus :many
-- The schedules of a group's jobs in one state, for what cannot be moved or given back.
SELECT id, job_desc, schedule_type, schedule_conf, time_zone, start_at, end_at, calendar, executor_route_strategy, glue_type FROM xxl_job_info
WHERE job_group = sqlc.arg(job_group) AND trigger_status = sqlc.arg(trigger_status) ORDER BY id;

-- name: CountJobsOfGroupsByStatus :many
-- It reads all jobs, by an index.
SELECT job_group, trigger_status, COUNT(*) AS jobs FROM xxl_job_info GROUP BY job_group, trigger_status ORDER BY job_group, trigger_status;

-- name: CountOpenRunsOfGroups :many
-- Those of the open runs that are ours, by group.
SELECT job_group, COUNT(*) AS runs FROM xxl_job_log
WHERE id IN (sqlc.slice(ids)) AND handle_code = 0 AND trigger_code IN (0, 200) AND planned_at > 0 GROUP BY job_group ORDER BY job_group;
