package scheduler

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// The row of a run is read before its result is written, for what follows from it. Of one that this admin has made, and sent only now, it knows
// the row: nobody else writes to it but to take the run over or to have it ended, and the write makes sure that nobody did
// (db.Finish.Unread). Under load these are nearly all, and reading them was a tenth of what the database did. Only what their jobs have to
// do at their ends is read, which somebody may have changed since.

// unread is the row of a run whose result came before it was written that the run was sent, as it was inserted; false where it is to be read.
func (e *Engine) unread(f *finishing) (r db.ListRunsToEndRow, ok bool) {
	if f.sending == nil || f.code != wire.CodeSuccess || f.given != event.Open {
		return r, false
	}
	d := f.sending.d
	if d.owner <= 0 || d.claimed.IsZero() || d.read || d.taken || d.waited || d.waiting || d.recheck || d.step != 0 || d.trigger == jobspec.TriggerRetry {
		return r, false
	}
	return db.ListRunsToEndRow{
		ID: d.id, JobGroup: d.job.group, JobID: d.job.id, ExecutorAddress: db.Text(d.stored), ExecutorHandler: db.Text(d.job.handler),
		ExecutorParam: db.Text(d.param), ExecutorShardingParam: db.Text(d.shard.text(d.job.route)), ExecutorFailRetryCount: d.retries,
		TriggerTime: nullTime(e.wall(d.planned)), PlannedAt: d.planned.UnixMilli(), PlannedFor: d.plannedFor(), OwnerNode: d.owner,
		TriggerType: d.trigger, OriginLogID: d.origin,
	}, true
}

// readUnread takes the runs out of ids whose rows need not be read, and gives these.
func (w *ending) readUnread(ctx context.Context, tx *sql.Tx) (rows []db.ListRunsToEndRow, ids []int64, err error) {
	heeds := make(map[int64]bool) // by job, once it is known
	for _, id := range w.ids {
		f := w.byID[id]
		if r, ok := w.e.unread(f); ok && !w.reread {
			rows, heeds[r.JobID], f.unread = append(rows, r), false, true
		} else {
			ids = append(ids, id)
		}
	}
	if len(rows) == 0 {
		return nil, ids, nil
	}
	heeded, err := w.e.queries.ListHeededJobs(ctx, tx, slices.Sorted(maps.Keys(heeds)))
	if err != nil {
		return nil, nil, err
	}
	for _, id := range heeded {
		heeds[id] = true
	}
	for i := range rows {
		if heeds[rows[i].JobID] {
			rows[i].HeededBy = rows[i].JobID
		}
	}
	return rows, ids, nil
}
