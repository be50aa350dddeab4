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
// do at their ends is read, which somebody may have changed since. So it is with a step of a flow that is kept in memory: its revision, by which
// the decision is guarded, is the one that is known here.

// unread is the row of a run whose result came before it was written that the run was sent, as it was inserted; false where it is to be read.
func (e *Engine) unread(f *finishing) (r db.ListRunsToEndRow, ok bool) {
	if f.sending == nil || f.code != wire.CodeSuccess || f.given != event.Open {
		return r, false
	}
	d := f.sending.d
	if d.owner <= 0 || d.claimed.IsZero() || d.read || d.taken || d.waited || d.waiting || d.recheck || d.trigger == jobspec.TriggerRetry {
		return r, false
	}
	return db.ListRunsToEndRow{
		ID: d.id, JobGroup: d.job.group, JobID: d.job.id, ExecutorAddress: db.Text(d.stored), ExecutorHandler: db.Text(d.job.handler),
		ExecutorParam: db.Text(d.param), ExecutorShardingParam: db.Text(d.shard.text(d.job.route)), ExecutorFailRetryCount: d.retries,
		TriggerTime: nullTime(e.wall(d.planned)), PlannedAt: d.planned.UnixMilli(), PlannedFor: d.plannedFor(), OwnerNode: d.owner,
		TriggerType: d.trigger, OriginLogID: d.origin, FlowStep: d.step,
	}, true
}

// readUnread takes the runs out of ids whose rows need not be read, and gives these, and what is known of their flows.
func (w *ending) readUnread(ctx context.Context, tx *sql.Tx) (rows []db.ListRunsToEndRow, ids []int64, known flowsSeen, err error) {
	jobs := make(map[int64]bool) // theirs, and those that steps after them may run
	for _, id := range w.ids {
		f := w.byID[id]
		r, ok := w.e.unread(f)
		if ok = ok && !w.reread; ok && r.FlowStep != 0 {
			var next []int64
			if next, ok = w.e.flows.kept.ahead(r.FlowStep, id, &known); ok {
				for _, job := range next {
					jobs[job] = true
				}
			}
		}
		if !ok {
			ids = append(ids, id)
			continue
		}
		rows, jobs[r.JobID], f.unread = append(rows, r), true, true
	}
	if len(rows) == 0 {
		return nil, ids, known, nil
	}
	heeded, err := w.heeded(ctx, tx, slices.Sorted(maps.Keys(jobs)), &known)
	if err != nil {
		return nil, nil, known, err
	}
	for i := range rows {
		if slices.Contains(heeded, rows[i].JobID) {
			rows[i].HeededBy = rows[i].JobID
		}
	}
	return rows, ids, known, nil
}

// heeded gives those of some jobs that have something to do at the ends of their runs. Where steps are among these, it reads the jobs, one of which is
// run next.
func (w *ending) heeded(ctx context.Context, tx *sql.Tx, jobs []int64, known *flowsSeen) (heeded []int64, err error) {
	if len(known.runs) == 0 {
		return w.e.queries.ListHeededJobs(ctx, tx, jobs)
	}
	rows, err := w.e.queries.ListJobsToRun(ctx, tx, jobs)
	if err != nil {
		return nil, err
	}
	known.jobs = make(map[int64]*job, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.Heeded != 0 {
			heeded = append(heeded, r.ID)
		}
		known.jobs[r.ID] = jobToRun(r, w.e.cfg.Pool)
	}
	return heeded, nil
}
