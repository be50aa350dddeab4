-- What touches the punctual_webhook tables; scheduler/webhook says how they work together. New deliveries are inserted by
-- db/webhooks.go.

-- name: ListWebhooks :many
SELECT * FROM punctual_webhook ORDER BY name, id;

-- name: GetWebhook :one
SELECT * FROM punctual_webhook WHERE id = ?;

-- name: InsertWebhook :execlastid
INSERT INTO punctual_webhook (name, config, types, group_ids, tags, state, made_by, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: UpdateWebhook :execrows
-- Guarded by the version that was read. Whoever changes it wants it tried at once.
UPDATE punctual_webhook
SET name = sqlc.arg(name), config = sqlc.arg(config), types = sqlc.arg(types), group_ids = sqlc.arg(group_ids), tags = sqlc.arg(tags),
    state = sqlc.arg(state), failures = 0, failing_since = 0, rest_until = 0, updated_at = sqlc.arg(updated_at)
WHERE id = sqlc.arg(id) AND updated_at = sqlc.arg(version);

-- name: ResealWebhook :execrows
UPDATE punctual_webhook SET config = sqlc.arg(new_config) WHERE id = sqlc.arg(id) AND config = sqlc.arg(old_config);

-- name: DeleteWebhook :execrows
DELETE FROM punctual_webhook WHERE id = ?;

-- name: SetWebhookState :execrows
UPDATE punctual_webhook SET state = sqlc.arg(state), name = sqlc.arg(name), updated_at = sqlc.arg(updated_at) WHERE id = sqlc.arg(id) AND updated_at = sqlc.arg(version);

-- name: HoldWebhook :execrows
-- One admin sends to a webhook at a time. A lease is over when its time is, or when the admin that has it, a node, is gone from the cluster.
UPDATE punctual_webhook SET holder = sqlc.arg(holder), lease_until = sqlc.arg(lease_until)
WHERE punctual_webhook.id = sqlc.arg(id) AND (holder = sqlc.arg(holder) OR lease_until < sqlc.arg(now_ms) OR holder = sqlc.arg(holder_seen)
    AND NOT EXISTS (SELECT 1 FROM punctual_node AS n WHERE n.id = sqlc.arg(node_seen) AND n.state = 1));

-- name: NoteWebhookOK :exec
UPDATE punctual_webhook SET last_ok_at = sqlc.arg(at_ms), failures = 0, failing_since = 0, rest_until = 0, last_reason = '', last_status = sqlc.arg(status)
WHERE id = sqlc.arg(id);

-- name: NoteWebhookTrouble :exec
-- Guarded by the version that was tried: of one that somebody has changed meanwhile it says nothing.
UPDATE punctual_webhook SET failures = sqlc.arg(failures), failing_since = sqlc.arg(failing_since), rest_until = sqlc.arg(rest_until),
    last_reason = sqlc.arg(last_reason), last_status = sqlc.arg(last_status)
WHERE id = sqlc.arg(id) AND updated_at = sqlc.arg(version);

-- name: NoteWebhookDropped :exec
-- untold are those that no event tells of yet, among them such of which one did that was dropped itself. untold_since goes by untold as it
-- was, so it is set first.
UPDATE punctual_webhook
SET untold_since = CASE WHEN untold = 0 OR untold_since > sqlc.arg(since) THEN sqlc.arg(since) ELSE untold_since END,
    untold = untold + sqlc.arg(untold), dropped = dropped + sqlc.arg(n)
WHERE id = sqlc.arg(id);

-- name: TakeWebhookUntold :execrows
-- Guarded, so that they are told by one event.
UPDATE punctual_webhook SET untold = 0 WHERE id = sqlc.arg(id) AND untold = sqlc.arg(untold) AND untold_since = sqlc.arg(since);

-- name: ListFreshDeliveries :many
SELECT * FROM punctual_webhook_delivery FORCE INDEX (i_webhook_delivery)
WHERE webhook_id = sqlc.arg(webhook_id) AND state = 0 AND next_at = 0 AND id > sqlc.arg(after_id) ORDER BY id LIMIT ?;

-- name: ListRefusedDeliveries :many
-- Those that were refused and are tried again; what follows about the same thing waits behind them.
SELECT * FROM punctual_webhook_delivery WHERE webhook_id = ? AND state = 0 AND next_at > 0 ORDER BY next_at, id LIMIT ?;

-- name: SpanOfFreshDeliveries :one
-- Two reads of the index's ends: a single one of both would read all between on SQLite.
SELECT CAST(COALESCE((SELECT MIN(a.id) FROM punctual_webhook_delivery AS a WHERE a.webhook_id = sqlc.arg(webhook_id) AND a.state = 0 AND a.next_at = 0), 0) AS SIGNED) AS first_id,
    CAST(COALESCE((SELECT MAX(b.id) FROM punctual_webhook_delivery AS b WHERE b.webhook_id = sqlc.arg(webhook_id) AND b.state = 0 AND b.next_at = 0), 0) AS SIGNED) AS last_id;

-- name: DeleteDeliveries :execrows
-- About jobs without the tags that the webhook asks for, or of which another tells.
DELETE FROM punctual_webhook_delivery WHERE id IN (sqlc.slice(ids));

-- name: CountDeliveries :one
-- No further than somebody wants to know: a queue may be millions long.
SELECT COUNT(*) FROM (SELECT d.id FROM punctual_webhook_delivery AS d WHERE d.webhook_id = sqlc.arg(webhook_id) AND d.state = sqlc.arg(state) LIMIT ?) AS counted;

-- name: EndDeliveries :exec
-- Those that were taken at their first try, or that are given up together.
UPDATE punctual_webhook_delivery
SET state = sqlc.arg(state), tries = tries + 1, next_at = 0, tried_at = sqlc.arg(tried_at), status = sqlc.arg(status), reason = sqlc.arg(reason), answer = sqlc.arg(answer)
WHERE id IN (sqlc.slice(ids));

-- name: DelayDelivery :exec
UPDATE punctual_webhook_delivery
SET tries = tries + 1, refusals = refusals + sqlc.arg(refused), next_at = sqlc.arg(next_at), tried_at = sqlc.arg(tried_at), status = sqlc.arg(status), reason = sqlc.arg(reason), answer = sqlc.arg(answer)
WHERE id = sqlc.arg(id) AND state = 0;

-- name: SendDeliveryAgain :execrows
UPDATE punctual_webhook_delivery SET state = 0, tries = 0, refusals = 0, next_at = 0
WHERE id = sqlc.arg(id) AND webhook_id = sqlc.arg(webhook_id) AND state <> 0;

-- name: SendGivenUpAgain :execrows
-- There are never many: DeleteDeliveriesUpTo sees to it.
UPDATE punctual_webhook_delivery SET state = 0, tries = 0, refusals = 0, next_at = 0
WHERE webhook_id = ? AND state = 2;

-- name: GetDelivery :one
SELECT * FROM punctual_webhook_delivery WHERE id = sqlc.arg(id) AND webhook_id = sqlc.arg(webhook_id);

-- name: ListDeliveries :many
-- Those of a state that are not being tried again, the newest first.
SELECT * FROM punctual_webhook_delivery FORCE INDEX (i_webhook_delivery)
WHERE webhook_id = sqlc.arg(webhook_id) AND state = sqlc.arg(state) AND next_at = 0 AND id < sqlc.arg(below) ORDER BY id DESC LIMIT ?;

-- name: NthDelivery :many
-- The id of the n-th newest of a state.
SELECT id FROM punctual_webhook_delivery WHERE webhook_id = ? AND state = ? AND next_at = 0 ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: NthFreshDelivery :many
-- The n-th newest of those that wait and were there when top was the newest. It reads them all.
SELECT id FROM punctual_webhook_delivery WHERE webhook_id = sqlc.arg(webhook_id) AND state = 0 AND next_at = 0 AND id <= sqlc.arg(top) ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: CountFreshDeliveries :one
-- What has come since one was the newest.
SELECT COUNT(*) FROM punctual_webhook_delivery WHERE webhook_id = sqlc.arg(webhook_id) AND state = 0 AND next_at = 0 AND id > sqlc.arg(above) AND id <= sqlc.arg(top);

-- name: NthFreshDeliveryAbove :many
SELECT id FROM punctual_webhook_delivery WHERE webhook_id = sqlc.arg(webhook_id) AND state = 0 AND next_at = 0 AND id > sqlc.arg(above) ORDER BY id LIMIT 1 OFFSET ?;

-- name: DeleteDeliveriesUpTo :execrows
DELETE FROM punctual_webhook_delivery WHERE webhook_id = ? AND state = ? AND next_at = 0 AND id <= ? LIMIT ?;

-- name: DeleteDeliveriesOfWebhook :execrows
DELETE FROM punctual_webhook_delivery WHERE webhook_id = ? LIMIT ?;

-- name: ListRunsToTell :many
-- What an event about a run says of it.
SELECT l.id, l.job_id, l.job_group, COALESCE(l.executor_address, '') AS address, l.trigger_type, l.trigger_time, l.trigger_code, l.handle_time, l.handle_code,
    l.planned_at, l.planned_for, l.sent_at, l.finished_at, l.origin_log_id, l.executor_fail_retry_count
FROM xxl_job_log AS l WHERE l.id IN (sqlc.slice(ids));

-- name: ListJobsToTell :many
SELECT id, job_desc, job_group, tags FROM xxl_job_info WHERE id IN (sqlc.slice(ids));

-- name: ListGroupsToTell :many
SELECT id, app_name, title FROM xxl_job_group WHERE id IN (sqlc.slice(ids));
