package scheduler

import (
	"context"
	"database/sql"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// What programs are told of runs and executors (package webhook), in the transactions that make it true. Events about a run are written
// after the update of its row, whose lock keeps them in order.

// tellFinished tells of results, and before of the sendings that they took along.
func (e *Engine) tellFinished(ctx context.Context, tx db.DBTX, rows []db.ListRunsToEndRow, byID map[int64]*finishing, follow *following) error {
	events := e.sentAlong(rows, byID)
	if !e.cfg.Webhooks.Wants(webhook.RunFinished) {
		return e.cfg.Webhooks.Write(ctx, tx, events...)
	}
	now := e.now()
	for i := range rows {
		if r, f := &rows[i], byID[rows[i].ID]; !leaves(e.cfg.Pool, r) {
			events = append(events, webhook.Event{
				Type: webhook.RunFinished, Group: r.JobGroup, Job: r.JobID, Run: r.ID, At: now, Outcome: f.ends, Code: int64(f.code), Again: follow.retried[r.ID],
			})
		}
	}
	return e.cfg.Webhooks.Write(ctx, tx, events...)
}

// tellSent tells of runs that their executors took. Of one whose result came before that is recorded, the result has told it.
func (e *Engine) tellSent(ctx context.Context, tx db.DBTX, batch []*outcome) error {
	if !e.cfg.Webhooks.Wants(webhook.RunSent) {
		return nil
	}
	byRow, ids := make(map[ownedRun]*outcome, len(batch)), make([]int64, 0, len(batch))
	for _, o := range batch {
		if o.sent.Outcome == event.Open {
			byRow[ownedRun{o.d.id, o.d.owner}], ids = o, append(ids, o.d.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := e.queries.ListRunStatesByID(ctx, tx, ids)
	if err != nil {
		return err
	}
	var events []webhook.Event
	for _, r := range rows {
		if o := byRow[ownedRun{r.ID, r.OwnerNode}]; o != nil && r.HandleCode == 0 && r.Outcome == event.Open {
			events = append(events, webhook.Event{Type: webhook.RunSent, Group: o.d.job.group, Job: o.d.job.id, Run: o.d.id, At: time.UnixMilli(o.sent.At)})
		}
	}
	return e.cfg.Webhooks.Write(ctx, tx, events...)
}

// tellSkipped tells of rows that are inserted decided.
func (e *Engine) tellSkipped(ctx context.Context, tx db.DBTX, rows []db.NewRun, ids []int64) error {
	if !e.cfg.Webhooks.Wants(webhook.RunFinished) {
		return nil
	}
	events := make([]webhook.Event, len(rows))
	for i := range rows {
		r := &rows[i]
		events[i] = webhook.Event{Type: webhook.RunFinished, Group: r.JobGroup, Job: r.JobID, Run: ids[i], At: e.now(), Outcome: r.Outcome}
	}
	return e.cfg.Webhooks.Write(ctx, tx, events...)
}

// tellStopped tells of jobs that have come to the end of their schedules, or whose schedules cannot be read.
func (e *Engine) tellStopped(ctx context.Context, tx db.DBTX, rows []db.ListDueJobsRow, advances []db.Advance) error {
	if !e.cfg.Webhooks.Wants(webhook.JobStopped) {
		return nil
	}
	var events []webhook.Event
	for i := range rows {
		if advances[i].Stop {
			events = append(events, webhook.Event{Type: webhook.JobStopped, Group: rows[i].JobGroup, Job: rows[i].ID, At: e.now()})
		}
	}
	return e.cfg.Webhooks.Write(ctx, tx, events...)
}

// tellExecutor tells of an executor, for each group of its name.
func (e *Engine) tellExecutor(ctx context.Context, tx db.DBTX, what webhook.Type, appName, address string) error {
	if !e.cfg.Webhooks.Wants(what) {
		return nil
	}
	groups := e.directory.idsOf(appName)
	if len(groups) == 0 {
		groups = []int64{0} // nobody has made a group of its name yet
	}
	events := make([]webhook.Event, len(groups))
	for i, id := range groups {
		events[i] = webhook.Event{Type: what, Group: id, At: e.now(), Facts: webhook.Facts{Address: event.Clip(address), App: event.Clip(appName)}}
	}
	return e.cfg.Webhooks.Write(ctx, tx, events...)
}

// maxSilent is how many executors a sweep tells of.
const maxSilent = 100

// tellSilent tells of executors whose beats have stopped. Whichever admin notes it in the row does.
func (e *Engine) tellSilent(ctx context.Context, now time.Time) error {
	if !e.cfg.Webhooks.Wants(webhook.ExecutorSilent) {
		return nil
	}
	before := nullTime(e.wall(now.Add(-e.cfg.DeadAfter)))
	rows, err := e.queries.ListSilentExecutors(ctx, e.cfg.Pool, db.ListSilentExecutorsParams{UpdateTime: before, Limit: maxSilent})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			n, err := e.queries.NoteSilentExecutor(ctx, tx, db.NoteSilentExecutorParams{ID: r.ID, Before: before})
			if err != nil || n == 0 {
				return err
			}
			return e.tellExecutor(ctx, tx, webhook.ExecutorSilent, r.RegistryKey, r.RegistryValue)
		}); err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		e.cfg.Webhooks.Wake()
	}
	return nil
}

// tellBack tells of an executor that was silent and beats again.
func (e *Engine) tellBack(ctx context.Context, appName, address string) error {
	return e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := e.queries.NoteExecutorBack(ctx, tx, db.NoteExecutorBackParams{RegistryKey: appName, RegistryValue: address})
		if err != nil || n == 0 {
			return err
		}
		return e.tellExecutor(ctx, tx, webhook.ExecutorRegistered, appName, address)
	})
}
