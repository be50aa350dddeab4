package db

import (
	"context"

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

// InsertDeliveries inserts events in statements of [rowsAtOnce].
func InsertDeliveries(ctx context.Context, tx DBTX, deliveries []NewDelivery) error {
	return bulkInsert[NewDelivery]{
		what: "insert %d deliveries",
		into: "INSERT INTO punctual_webhook_delivery (webhook_id, type, job_group, job_id, log_id, happened_at, outcome, code, again, facts)",
		row: func(d *NewDelivery) []any {
			return []any{d.WebhookID, d.Type, d.JobGroup, d.JobID, d.Run, d.At, int64(d.Outcome), d.Code, Flag(d.Again), d.Facts}
		},
	}.exec(ctx, tx, deliveries)
}
