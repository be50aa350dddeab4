package db

import (
	"context"
	"fmt"
	"strings"
)

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

// InsertAlarmEvents inserts events in one statement for every [MaxBatch] of them.
func InsertAlarmEvents(ctx context.Context, tx DBTX, events []NewAlarmEvent) error {
	for len(events) > 0 {
		part := events[:min(len(events), MaxBatch)]
		events = events[len(part):]
		var q strings.Builder
		q.WriteString("INSERT INTO punctual_alarm_event (job_id, job_group, log_id, cause, planned_at, raised_at, detail, events) VALUES ")
		args := make([]any, 0, 8*len(part))
		for i := range part {
			if i > 0 {
				q.WriteByte(',')
			}
			q.WriteString("(?,?,?,?,?,?,?,?)")
			e := &part[i]
			args = append(args, e.JobID, e.JobGroup, e.LogID, e.Cause, e.PlannedAt, e.RaisedAt, e.Detail, null(e.Events))
		}
		if _, err := tx.ExecContext(ctx, q.String(), args...); err != nil {
			return fmt.Errorf("insert %d alarm events: %w", len(part), err)
		}
	}
	return nil
}

// NewAlarmDelivery is a message that waits to be sent to somebody.
type NewAlarmDelivery struct {
	NoticeID, ChannelID int64
	Recipient           string
	At                  int64 // when it was made, and is due
	Escalated           bool  // it tells a second channel of an alarm that nobody looked after
	Acked               bool  // it tells a service that somebody looks after the alarm
}

// InsertAlarmDeliveries inserts messages in one statement for every [MaxBatch] of them.
func InsertAlarmDeliveries(ctx context.Context, tx DBTX, deliveries []NewAlarmDelivery) error {
	for len(deliveries) > 0 {
		part := deliveries[:min(len(deliveries), MaxBatch)]
		deliveries = deliveries[len(part):]
		args := make([]any, 0, 7*len(part))
		for i := range part {
			d := &part[i]
			args = append(args, d.NoticeID, d.ChannelID, d.Recipient, d.At, d.At, d.Escalated, d.Acked)
		}
		q := "INSERT INTO punctual_alarm_delivery (notice_id, channel_id, recipient, next_at, created_at, escalated, acked) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?),", len(part)), ",")
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf("insert %d alarm deliveries: %w", len(part), err)
		}
	}
	return nil
}
