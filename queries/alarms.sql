-- What touches the punctual_alarm_ tables; see scheduler/alarm/doc.go for how they work together. New events
-- and deliveries are inserted by the builders in db/alarms.go.

-- name: InsertAlarmEventOnce :execrows
-- An event that every admin notices by itself; the key lets the first of them write it.
INSERT IGNORE INTO punctual_alarm_event (job_id, job_group, log_id, cause, planned_at, raised_at, detail, events, once_key)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: ListNewAlarmEvents :many
-- Oldest first, so that a failure is looked at before the success that follows it.
SELECT id, job_id, job_group, log_id, cause, planned_at, raised_at, detail, events
FROM punctual_alarm_event WHERE state = 0 ORDER BY id LIMIT ?;

-- name: SettleAlarmEvents :execrows
-- Takes new events, guarded: fewer rows than ids means that another admin was faster, and the caller rolls back.
UPDATE punctual_alarm_event SET state = sqlc.arg(state), notice_id = sqlc.arg(notice_id)
WHERE state = 0 AND id IN (sqlc.slice(ids));

-- name: MoveAlarmEvents :exec
-- Events that were being gathered become part of another notice.
UPDATE punctual_alarm_event SET notice_id = sqlc.arg(to_notice) WHERE notice_id = sqlc.arg(from_notice) AND state = 1;

-- name: ListRunsOfAlarmNotice :many
-- The runs that a notice tells of as failed. That a run takes long, may be late or waits for a person, says nothing yet about how it ends, which is to be told then.
SELECT id, log_id FROM punctual_alarm_event
WHERE notice_id = sqlc.arg(notice_id) AND id > sqlc.arg(after_id) AND log_id > 0 AND cause NOT IN ('recovered', 'deadline', 'slow', 'approval')
ORDER BY id LIMIT ?;

-- name: DeleteAlarmEventsBefore :execrows
DELETE FROM punctual_alarm_event WHERE state <> 0 AND raised_at < ? LIMIT ?;

-- name: ListPlannedFor :many
-- Of runs that are for another time than the one at which they were planned.
SELECT id, planned_for FROM xxl_job_log WHERE id IN (sqlc.slice(ids)) AND planned_for > 0;

-- name: ListAlarmStates :many
SELECT job_id, cause, opened_at, event_count, last_log_id, last_planned, window_until, notice_id, revision, acked_at, acked_by, ack_remark
FROM punctual_alarm_state WHERE job_id IN (sqlc.slice(job_ids)) ORDER BY job_id, cause;

-- name: ListOpenAlarms :many
-- Behind that of a job and cause; all of them are behind job 0. What each admin keeps in memory, so that a success of a job without open alarms
-- costs nothing.
SELECT job_id, cause, opened_at, event_count, last_log_id, last_planned
FROM punctual_alarm_state
WHERE opened_at > 0 AND (job_id > sqlc.arg(after_job) OR (job_id = sqlc.arg(after_job) AND cause > sqlc.arg(after_cause)))
ORDER BY job_id, cause LIMIT ?;

-- name: ListOpenAlarmsWithJobs :many
-- What people see of open alarms, below a job's id: the causes of a job stand together.
SELECT s.job_id, s.cause, s.opened_at, s.event_count, s.last_log_id, s.acked_at, s.acked_by, s.ack_remark, j.job_group, j.job_desc
FROM punctual_alarm_state AS s JOIN xxl_job_info AS j ON j.id = s.job_id
WHERE s.opened_at > 0 AND s.job_id < sqlc.arg(below_job) ORDER BY s.job_id DESC, s.cause LIMIT ?;

-- name: GetAlarmOfDelivery :one
-- What the link of a message is about.
SELECT d.id, d.channel_id, d.recipient, d.created_at, d.link_used_at, n.job_id, n.cause, n.first_at, n.last_at, n.event_count, n.log_id
FROM punctual_alarm_delivery AS d JOIN punctual_alarm_notice AS n ON n.id = d.notice_id WHERE d.id = ?;

-- name: UseAlarmLink :execrows
-- Guarded: a link is used once.
UPDATE punctual_alarm_delivery SET link_used_at = sqlc.arg(at_ms) WHERE id = sqlc.arg(id) AND link_used_at = 0;

-- name: InsertAlarmState :exec
INSERT INTO punctual_alarm_state (job_id, cause, opened_at, event_count, last_log_id, last_planned, window_until, notice_id, acked_at, acked_by, ack_remark, revision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1);

-- name: UpdateAlarmState :execrows
-- Guarded by the revision that was read: 0 rows means that another admin changed it, and the caller rolls back.
UPDATE punctual_alarm_state
SET opened_at = sqlc.arg(opened_at), event_count = sqlc.arg(event_count), last_log_id = sqlc.arg(last_log_id),
    last_planned = sqlc.arg(last_planned), window_until = sqlc.arg(window_until), notice_id = sqlc.arg(notice_id),
    acked_at = sqlc.arg(acked_at), acked_by = sqlc.arg(acked_by), ack_remark = sqlc.arg(ack_remark),
    revision = sqlc.arg(new_revision)
WHERE job_id = sqlc.arg(job_id) AND cause = sqlc.arg(cause) AND revision = sqlc.arg(old_revision);

-- name: DeleteIdleAlarmStates :execrows
-- Closed, and nothing gathered: the row says nothing any more.
DELETE FROM punctual_alarm_state WHERE opened_at = 0 AND notice_id = 0 AND window_until < ?;

-- name: ListGoneJobsOfAlarmStates :many
-- A read of its own before the deletion, because a DELETE with a SELECT locks each job that it looks at, for which claims would wait.
SELECT DISTINCT job_id FROM punctual_alarm_state WHERE NOT EXISTS (SELECT 1 FROM xxl_job_info WHERE xxl_job_info.id = punctual_alarm_state.job_id);

-- name: DeleteAlarmStatesOfJob :exec
DELETE FROM punctual_alarm_state WHERE job_id = ?;

-- name: InsertAlarmNotice :execlastid
INSERT INTO punctual_alarm_notice (job_id, job_group, cause, follow_up, event_count, log_id, first_at, last_at, detail, events, due_at, state, revision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 1);

-- name: GetAlarmNotice :one
SELECT id, job_id, job_group, cause, follow_up, event_count, log_id, first_at, last_at, detail, due_at, state, revision, events
FROM punctual_alarm_notice WHERE id = ?;

-- name: ExtendAlarmNotice :execrows
-- Adds events to a notice that is still gathering.
UPDATE punctual_alarm_notice
SET event_count = sqlc.arg(event_count), log_id = sqlc.arg(log_id), last_at = sqlc.arg(last_at), detail = sqlc.arg(detail),
    events = sqlc.arg(events), revision = sqlc.arg(new_revision)
WHERE id = sqlc.arg(id) AND state = 0 AND revision = sqlc.arg(old_revision);

-- name: HastenAlarmNotices :exec
-- Those that are still gathering are told no later than a moment.
UPDATE punctual_alarm_notice SET due_at = sqlc.arg(due_at) WHERE id IN (sqlc.slice(ids)) AND state = 0 AND due_at > sqlc.arg(due_at);

-- name: ListDueAlarmNotices :many
SELECT id, job_id, job_group, cause, follow_up, event_count, log_id, first_at, last_at, detail, due_at, state, revision, events
FROM punctual_alarm_notice WHERE state = 0 AND due_at <= sqlc.arg(now_ms) ORDER BY due_at, id LIMIT ?;

-- name: ListAlarmNotices :many
SELECT id, job_id, job_group, cause, follow_up, event_count, log_id, first_at, last_at, detail, due_at, state, revision, events
FROM punctual_alarm_notice WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: TakeAlarmNotice :execrows
UPDATE punctual_alarm_notice SET state = sqlc.arg(state)
WHERE id = sqlc.arg(id) AND state = 0 AND revision = sqlc.arg(revision);

-- name: SettleAlarmNotice :execrows
UPDATE punctual_alarm_notice SET state = 2 WHERE id = ? AND state = 1;

-- name: ListUnsettledAlarmNotices :many
-- Handed to channels before a moment and not settled: mostly waiting for tries, but a crash may have come between.
SELECT id FROM punctual_alarm_notice
WHERE state = 1 AND due_at < sqlc.arg(before_ms) AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: DeleteGatheringAlarmNotice :execrows
DELETE FROM punctual_alarm_notice WHERE id = sqlc.arg(id) AND state = 0 AND revision = sqlc.arg(revision);

-- name: DeleteAlarmNoticesBefore :execrows
-- Those that no message is about, and none will be: a second channel may be told long after the first one.
DELETE FROM punctual_alarm_notice WHERE state = 2 AND last_at < ?
  AND NOT EXISTS (SELECT 1 FROM punctual_alarm_delivery AS d WHERE d.notice_id = punctual_alarm_notice.id)
  AND NOT EXISTS (SELECT 1 FROM punctual_alarm_escalation AS e
    WHERE e.job_id = punctual_alarm_notice.job_id AND e.cause = punctual_alarm_notice.cause AND e.notice_id = punctual_alarm_notice.id)
LIMIT ?;

-- name: ListAlarmChannels :many
SELECT id, name, kind, config, lang, enabled, for_jobs, quiet_from, quiet_to, quiet_mode, last_ok_at, last_error_at, last_error, updated_at, group_id
FROM punctual_alarm_channel ORDER BY name, id;

-- name: GetAlarmChannel :one
SELECT id, name, kind, config, lang, enabled, for_jobs, quiet_from, quiet_to, quiet_mode, last_ok_at, last_error_at, last_error, updated_at, group_id
FROM punctual_alarm_channel WHERE id = ?;

-- name: InsertAlarmChannel :execlastid
INSERT INTO punctual_alarm_channel (name, kind, config, lang, enabled, for_jobs, quiet_from, quiet_to, quiet_mode, updated_at, group_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: UpdateAlarmChannel :execrows
-- The kind never changes: the settings of one mean nothing to another. Nor does the group, whose editors know the secrets.
UPDATE punctual_alarm_channel
SET name = sqlc.arg(name), config = sqlc.arg(config), lang = sqlc.arg(lang), enabled = sqlc.arg(enabled),
    for_jobs = sqlc.arg(for_jobs), quiet_from = sqlc.arg(quiet_from), quiet_to = sqlc.arg(quiet_to),
    quiet_mode = sqlc.arg(quiet_mode), updated_at = sqlc.arg(updated_at)
WHERE id = sqlc.arg(id) AND updated_at = sqlc.arg(version);

-- name: ResealAlarmChannel :execrows
-- Puts the same settings under another key, unless somebody has changed them since they were read.
UPDATE punctual_alarm_channel SET config = sqlc.arg(new_config) WHERE id = sqlc.arg(id) AND config = sqlc.arg(old_config);

-- name: ClearAlarmChannelForJobs :exec
-- Only one channel carries the mails of the jobs' own addresses.
UPDATE punctual_alarm_channel SET for_jobs = 0, updated_at = updated_at + 1 WHERE for_jobs = 1 AND id <> ?;

-- name: DeleteAlarmChannel :execrows
DELETE FROM punctual_alarm_channel WHERE id = ?;

-- name: DeleteAlarmRoutesOfGroupChannels :exec
DELETE FROM punctual_alarm_route WHERE channel_id IN (SELECT c.id FROM punctual_alarm_channel AS c WHERE c.group_id = ?);

-- name: DeleteAlarmChannelsOfGroup :exec
-- A later group may get the id. What waits for them is given up when it is due.
DELETE FROM punctual_alarm_channel WHERE group_id = ?;

-- name: NoteAlarmChannelOK :exec
UPDATE punctual_alarm_channel SET last_ok_at = sqlc.arg(at_ms), last_error = '' WHERE id = sqlc.arg(id);

-- name: NoteAlarmChannelError :exec
UPDATE punctual_alarm_channel SET last_error_at = sqlc.arg(at_ms), last_error = sqlc.arg(last_error) WHERE id = sqlc.arg(id);

-- name: ListAlarmRoutes :many
SELECT id, channel_id, scope, scope_id, causes, escalate_after, escalate_to FROM punctual_alarm_route ORDER BY channel_id, scope, scope_id;

-- name: InsertAlarmRoute :execlastid
INSERT INTO punctual_alarm_route (channel_id, scope, scope_id, causes, escalate_after, escalate_to) VALUES (?, ?, ?, ?, ?, ?);

-- name: UpdateAlarmRoute :execrows
-- Only one that is still what it was when it was read.
UPDATE punctual_alarm_route SET scope = sqlc.arg(scope), scope_id = sqlc.arg(scope_id), causes = sqlc.arg(causes),
    escalate_after = sqlc.arg(escalate_after), escalate_to = sqlc.arg(escalate_to)
WHERE id = sqlc.arg(id) AND scope = sqlc.arg(was_scope) AND scope_id = sqlc.arg(was_scope_id) AND causes = sqlc.arg(was_causes)
  AND escalate_after = sqlc.arg(was_escalate_after) AND escalate_to = sqlc.arg(was_escalate_to);

-- name: DeleteAlarmRoute :execrows
DELETE FROM punctual_alarm_route WHERE id = ?;

-- name: DeleteAlarmRoutesOfChannel :exec
DELETE FROM punctual_alarm_route WHERE channel_id = ?;

-- name: ForgetEscalationsTo :exec
-- Of routes to other channels, when the second one is deleted.
UPDATE punctual_alarm_route SET escalate_after = 0, escalate_to = 0 WHERE escalate_to = ?;

-- name: InsertAlarmEscalation :exec
-- Together with the first messages of an alarm; further ones change nothing.
INSERT IGNORE INTO punctual_alarm_escalation (job_id, cause, opened_at, channel_id, notice_id, due_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: ListDueAlarmEscalations :many
SELECT id, job_id, cause, opened_at, channel_id, notice_id, due_at, state
FROM punctual_alarm_escalation WHERE state = 0 AND due_at <= sqlc.arg(now_ms) ORDER BY due_at, id LIMIT ?;

-- name: TakeAlarmEscalation :execrows
-- Guarded: each is one admin's, who comes second rolls back.
UPDATE punctual_alarm_escalation SET state = sqlc.arg(state) WHERE id = sqlc.arg(id) AND state = 0;

-- name: RearmAlarmEscalations :exec
-- Nobody looks after a job's alarms any more.
UPDATE punctual_alarm_escalation SET state = 0 WHERE job_id = sqlc.arg(job_id) AND state = 2;

-- name: DeleteAlarmEscalationsBefore :execrows
DELETE FROM punctual_alarm_escalation WHERE state <> 0 AND due_at < ? LIMIT ?;

-- name: DeleteAlarmEscalationsOfJob :exec
DELETE FROM punctual_alarm_escalation WHERE job_id = ?;

-- name: DeleteAlarmRoutesOfScope :exec
DELETE FROM punctual_alarm_route WHERE scope = ? AND scope_id = ?;

-- name: ListAlarmJobs :many
-- What a message says of a job, and whom the job itself wants told.
SELECT id, job_group, job_desc, author, alarm_email, runbook FROM xxl_job_info WHERE id IN (sqlc.slice(ids)) ORDER BY id;

-- name: ListDueAlarmDeliveries :many
-- Waiting ones that are due, and ones whose sender died; without the channels that are at work or resting, so that their
-- backlog hides nobody else's. The list of channels must not be empty.
SELECT id, notice_id, channel_id, recipient, counted, escalated, tries, next_at
FROM punctual_alarm_delivery
WHERE ((state = 0 AND next_at <= sqlc.arg(now_ms)) OR (state = 1 AND lease_until < sqlc.arg(now_ms)))
  AND channel_id NOT IN (sqlc.slice(except_channels))
ORDER BY id LIMIT ?;

-- name: ClaimAlarmDeliveries :execrows
-- Guarded, so that each message is one admin's; which of them became ours shows in the holder.
UPDATE punctual_alarm_delivery SET state = 1, holder = sqlc.arg(holder), lease_until = sqlc.arg(new_lease),
    tried_at = CASE WHEN tried_at = 0 THEN sqlc.arg(now_ms) ELSE tried_at END
WHERE id IN (sqlc.slice(ids)) AND ((state = 0 AND next_at <= sqlc.arg(now_ms)) OR (state = 1 AND lease_until < sqlc.arg(now_ms)));

-- name: FreeAlarmDeliveries :execrows
-- What an admin that is gone was sending is anybody's. pattern is what it begins its names as a holder with, as LIKE has it.
UPDATE punctual_alarm_delivery SET lease_until = 0 WHERE state = 1 AND lease_until > 0 AND holder LIKE sqlc.arg(pattern);

-- name: ListAlarmDeliveriesOfHolder :many
SELECT id, notice_id, channel_id, recipient, counted, tries, escalated, created_at, acked, tried_at
FROM punctual_alarm_delivery WHERE id IN (sqlc.slice(ids)) AND state = 1 AND holder = sqlc.arg(holder) ORDER BY id;

-- name: GetLatestAlarmDelivery :one
-- The newest message of a channel, for a look at its words.
SELECT id, notice_id, created_at FROM punctual_alarm_delivery WHERE channel_id = ? ORDER BY id DESC LIMIT 1;

-- name: GetLatestAlarmNoticeOfChannel :one
-- What a channel was told last of the alarms of a job since a moment.
SELECT d.notice_id FROM punctual_alarm_delivery AS d JOIN punctual_alarm_notice AS n ON n.id = d.notice_id
WHERE d.channel_id = sqlc.arg(channel_id) AND d.created_at >= sqlc.arg(since_ms) AND n.job_id = sqlc.arg(job_id)
ORDER BY d.id DESC LIMIT 1;

-- name: DelayAlarmDeliveries :execrows
-- Quiet hours: later, with no try used, and none of the time in which it is tried. Guarded, so that of two admins one moves that on.
UPDATE punctual_alarm_delivery SET next_at = sqlc.arg(next_at), counted = sqlc.arg(counted),
    tried_at = CASE WHEN tried_at = 0 THEN 0 ELSE tried_at + sqlc.arg(next_at) - sqlc.arg(now_ms) END
WHERE id IN (sqlc.slice(ids)) AND next_at <= sqlc.arg(now_ms) AND (state = 0 OR (state = 1 AND lease_until < sqlc.arg(now_ms)));

-- name: EndAlarmDeliveries :execrows
-- The outcome of a message, written by whoever held it.
UPDATE punctual_alarm_delivery
SET state = sqlc.arg(state), tries = sqlc.arg(tries), next_at = sqlc.arg(next_at), error = sqlc.arg(error), holder = '',
    done_at = sqlc.arg(done_at)
WHERE id IN (sqlc.slice(ids)) AND state = 1 AND holder = sqlc.arg(holder);

-- name: CountAlarmDeliveriesOfNotice :many
-- Without those that say that somebody looks after it: they tell nobody of the alarm.
SELECT state, COUNT(*) AS total FROM punctual_alarm_delivery WHERE notice_id = ? AND acked = 0 GROUP BY state;

-- name: RequeueAlarmDelivery :execrows
-- By hand: a message that was given up, or that waits for its next try, is tried at once.
UPDATE punctual_alarm_delivery SET state = 0, tries = 0, tried_at = 0, next_at = sqlc.arg(next_at), done_at = 0
WHERE id = sqlc.arg(id) AND state IN (0, 3);

-- name: RetryAlarmDeliveriesNow :exec
-- After a channel was repaired, or has taken a message again, its waiting messages go at once.
UPDATE punctual_alarm_delivery SET next_at = sqlc.arg(now_ms) WHERE channel_id = sqlc.arg(channel_id) AND state = 0 AND tries > 0;

-- name: GiveUpAlarmDeliveriesOfChannel :exec
-- What waits, and what somebody was sending who died; what is being sent is its sender's.
UPDATE punctual_alarm_delivery SET state = 3, error = sqlc.arg(error), done_at = sqlc.arg(done_at)
WHERE channel_id = sqlc.arg(channel_id) AND (state = 0 OR (state = 1 AND lease_until < sqlc.arg(done_at)));

-- name: ListAlarmDeliveries :many
-- One page of what was sent or is to be, newest first; 0, -1 stand for any channel and state.
SELECT d.id, d.notice_id, d.channel_id, d.recipient, d.counted, d.state, d.tries, d.next_at, d.error, d.created_at, d.done_at, d.acked, d.escalated,
       n.job_id, n.job_group, n.cause, n.follow_up, n.event_count, n.log_id, n.first_at, n.last_at
FROM punctual_alarm_delivery AS d JOIN punctual_alarm_notice AS n ON n.id = d.notice_id
WHERE (CAST(sqlc.arg(before_id) AS SIGNED) = 0 OR d.id < sqlc.arg(before_id))
  AND (CAST(sqlc.arg(channel_id) AS SIGNED) = 0 OR d.channel_id = sqlc.arg(channel_id))
  AND (CAST(sqlc.arg(state) AS SIGNED) = -1 OR d.state = sqlc.arg(state))
ORDER BY d.id DESC LIMIT ?;

-- name: ListAlarmDeliveriesOfChannels :many
-- The same of some channels only; the list must not be empty.
SELECT d.id, d.notice_id, d.channel_id, d.recipient, d.counted, d.state, d.tries, d.next_at, d.error, d.created_at, d.done_at, d.acked, d.escalated,
       n.job_id, n.job_group, n.cause, n.follow_up, n.event_count, n.log_id, n.first_at, n.last_at
FROM punctual_alarm_delivery AS d JOIN punctual_alarm_notice AS n ON n.id = d.notice_id
WHERE (CAST(sqlc.arg(before_id) AS SIGNED) = 0 OR d.id < sqlc.arg(before_id))
  AND d.channel_id IN (sqlc.slice(channel_ids))
  AND (CAST(sqlc.arg(state) AS SIGNED) = -1 OR d.state = sqlc.arg(state))
ORDER BY d.id DESC LIMIT ?;

-- name: GetChannelOfAlarmDelivery :one
SELECT channel_id FROM punctual_alarm_delivery WHERE id = ?;

-- name: DeleteAlarmDeliveriesBefore :execrows
DELETE FROM punctual_alarm_delivery WHERE state IN (2, 3) AND created_at < ? LIMIT ?;

-- name: SetRunAlarmStatus :execrows
-- What old tools read (docs/compat.md §3.8).
UPDATE xxl_job_log SET alarm_status = sqlc.arg(alarm_status) WHERE id IN (sqlc.slice(ids));

-- name: ListSlowRuns :many
-- Those of the open runs whose jobs want it to be told, longer under way than the job allows.
SELECT r.id, r.job_id, r.job_group, r.planned_at, r.sent_at, r.executor_address, j.warn_after_seconds
FROM xxl_job_log AS r JOIN xxl_job_info AS j ON j.id = r.job_id
WHERE r.id IN (sqlc.slice(ids)) AND r.handle_code = 0 AND r.trigger_code = 200 AND r.sent_at > 0 AND j.warn_after_seconds > 0 AND r.trigger_type <> 'TRIAL'
  AND r.sent_at + j.warn_after_seconds * CAST(1000 AS SIGNED) <= CAST(sqlc.arg(now_ms) AS SIGNED)
ORDER BY r.id;

-- name: ListExpectedJobs :many
-- Started jobs of which a success is expected every so often.
SELECT id, job_group, tags, expect_every_seconds, update_time, schedule_type, schedule_conf, time_zone, start_at, end_at, calendar, calendar_rule
FROM xxl_job_info
WHERE expect_every_seconds > 0 AND trigger_status > CAST(sqlc.arg(beside) AS SIGNED) AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: ListDeadlineJobs :many
-- Started jobs that have to be done by a time of day, and those whose schedule may have ended since its last run began.
SELECT id, job_group, tags, schedule_type, schedule_conf, time_zone, start_at, end_at, calendar, calendar_rule, trigger_status,
       trigger_next_time, update_time, paused_at, paused_next, done_by
FROM xxl_job_info
WHERE done_by > '' AND id > sqlc.arg(after_id)
  AND (trigger_status > CAST(sqlc.arg(beside) AS SIGNED)
    OR (trigger_status = 0 AND (schedule_type = 'ONCE' OR end_at > CAST(sqlc.arg(since_ms) AS SIGNED))))
ORDER BY id LIMIT ?;

-- name: ListRunsForDeadline :many
-- A job's runs below an id, newest first, without their texts: what became of its last planned fire. Those that are for an earlier time, as a
-- backfill makes thousands, are left out; of what is for the time at which it was planned the caller sees where to end.
SELECT id, trigger_time, trigger_code, handle_time, handle_code, planned_at, planned_for, sent_at, finished_at, outcome,
       executor_sharding_param
FROM xxl_job_log FORCE INDEX (i_job_outcome)
WHERE job_id = sqlc.arg(job_id) AND id < sqlc.arg(below_id) AND trigger_type <> 'TRIAL'
  AND (planned_for = 0 OR planned_for >= sqlc.arg(fire)) ORDER BY id DESC LIMIT ?;

-- name: ListRecentRunsOfJob :many
-- A job's runs, newest first, by the index on job_id: the search for its last success.
SELECT id, job_group, trigger_code, handle_code, planned_at, planned_for, finished_at, handle_time, outcome FROM xxl_job_log FORCE INDEX (i_job_outcome)
WHERE job_id = sqlc.arg(job_id) AND id > sqlc.arg(above_id) AND id < sqlc.arg(below_id) AND trigger_type <> 'TRIAL' ORDER BY id DESC LIMIT ?;
