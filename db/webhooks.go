package db

import (
	"context"
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/scheduler/event"
)

// NewDelivery is an event that waits to be sent to a webhook.
type NewDelivery struct {
	WebhookID            int64
	Type                 string
	JobGroup, JobID, Run int64
	At                   int64 // epoch ms
	Outcome              event.Outcome
	Code                 int64
	Again                bool   // of a run, another attempt follows
	Facts                string // JSON
}

// InsertDeliveries inserts events in one statement for every [MaxBatch] of them.
func InsertDeliveries(ctx context.Context, tx DBTX, deliveries []NewDelivery) error {
	for len(deliveries) > 0 {
		part := deliveries[:min(len(deliveries), MaxBatch)]
		deliveries = deliveries[len(part):]
		args := make([]any, 0, 10*len(part))
		for i := range part {
			d := &part[i]
			args = append(args, d.WebhookID, d.Type, d.JobGroup, d.JobID, d.Run, d.At, int64(d.Outcome), d.Code, Flag(d.Again), d.Facts)
		}
		q := "INSERT INTO punctual_webhook_delivery (webhook_id, type, job_group, job_id, log_id, happened_at, outcome, code, again, facts) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?,?,?,?),", len(part)), ",")
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf("insert %d deliveries: %w", len(part), err)
		}
	}
	return nil
}
