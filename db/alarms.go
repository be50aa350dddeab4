package db

import "context"

// NewAlarmEvent is something that happened to a job and that somebody may want to hear of.
type NewAlarmEvent struct {
	JobID, JobGroup int64
	LogID           int64 // 0: not about a run
	Cause           string
	PlannedAt       int64 // of the run, epoch ms
	RaisedAt        int64 // epoch ms
	Detail          string
	Events          string // encoded, see package event
}

// InsertAlarmEvents inserts events in statements of [rowsAtOnce].
func InsertAlarmEvents(ctx context.Context, tx DBTX, events []NewAlarmEvent) error {
	return bulkInsert[NewAlarmEvent]{
		what: "insert %d alarm events",
		into: "INSERT INTO punctual_alarm_event (job_id, job_group, log_id, cause, planned_at, raised_at, detail, events)",
		row: func(e *NewAlarmEvent) []any {
			return []any{e.JobID, e.JobGroup, e.LogID, e.Cause, e.PlannedAt, e.RaisedAt, e.Detail, null(e.Events)}
		},
	}.exec(ctx, tx, events)
}

// NewAlarmDelivery is a message that waits to be sent to somebody.
type NewAlarmDelivery struct {
	NoticeID, ChannelID int64
	Recipient           string
	At                  int64 // when it was made, and is due
	Escalated           bool  // it tells a second channel of an alarm that nobody looked after
	Acked               bool  // it tells a service that somebody looks after the alarm
}

// InsertAlarmDeliveries inserts messages in statements of [rowsAtOnce].
func InsertAlarmDeliveries(ctx context.Context, tx DBTX, deliveries []NewAlarmDelivery) error {
	return bulkInsert[NewAlarmDelivery]{
		what: "insert %d alarm deliveries",
		into: "INSERT INTO punctual_alarm_delivery (notice_id, channel_id, recipient, next_at, created_at, escalated, acked)",
		row: func(d *NewAlarmDelivery) []any {
			return []any{d.NoticeID, d.ChannelID, d.Recipient, d.At, d.At, d.Escalated, d.Acked}
		},
	}.exec(ctx, tx, deliveries)
}
