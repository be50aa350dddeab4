package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/note"
)

const (
	// duePage is how many due jobs one read brings.
	duePage = 2000
	// anybodys is how long a job may be overdue before any node takes it, its own share or not.
	anybodys = 3 * time.Second
)

// claimLoop reads due jobs a horizon ahead and turns their fires into runs.
func (e *Engine) claimLoop(ctx context.Context) {
	tick := time.NewTicker(e.cfg.ClaimEvery)
	defer tick.Stop()
	for {
		if e.draining.Load() {
			return
		}
		switch {
		case !e.node.mayAct():
		case e.pending.len() >= e.cfg.MaxQueued:
			// What cannot be sent is not claimed either: it stays due, for another node or for the misfire strategy.
			e.metrics.claims.WithLabelValues("held back").Inc()
		default:
			if err := e.claimDue(ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("claim due jobs", "error", err)
				e.setErr(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-e.claimNow:
		}
	}
}

// claimDue claims everything of this node's share that is due within the horizon.
func (e *Engine) claimDue(ctx context.Context) error {
	until := e.now().Add(e.cfg.Horizon)
	mine := e.node.mine()
	overdue := e.now().Add(-anybodys).UnixMilli()
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(e.cfg.ClaimWorkers)
	var afterMs, afterID int64
	for {
		rows, err := e.queries.ListDueJobs(ctx, e.cfg.Pool, db.ListDueJobsParams{
			UntilMs: until.UnixMilli(), AfterMs: afterMs, AfterID: afterID, Limit: duePage,
		})
		if err != nil {
			return errors.Join(err, work.Wait())
		}
		if len(rows) == 0 {
			break
		}
		full := len(rows) == duePage
		afterMs, afterID = rows[len(rows)-1].TriggerNextTime, rows[len(rows)-1].ID
		own := rows[:0]
		for _, r := range rows {
			if mine(r.ID) || r.TriggerNextTime < overdue {
				own = append(own, r)
			}
		}
		for len(own) > 0 {
			part := own[:min(len(own), db.MaxBatch)]
			own = own[len(part):]
			work.Go(func() error { return e.claim(ctx, part, until) })
		}
		if !full {
			break
		}
	}
	return work.Wait()
}

// claim decides a batch of due jobs and commits the decisions: the jobs' next times, guarded by the old ones, and the runs,
// in one transaction. When somebody else moved one of the jobs (another node, or an operator), or the database refuses what
// one of them makes, nothing is written and the jobs are tried one by one, so that one cannot hold up the others.
func (e *Engine) claim(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) error {
	began := time.Now()
	err := e.claimBatch(ctx, rows, until)
	e.metrics.claimSeconds.Observe(time.Since(began).Seconds())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, db.IsUnavailable(err), db.IsTransient(err):
		return err
	case len(rows) > 1:
		for i := range rows {
			if err := e.claim(ctx, rows[i:i+1], until); err != nil {
				return err
			}
		}
	case errors.Is(err, errRaced):
		e.metrics.claims.WithLabelValues("conflict").Inc() // whoever moved it has it; the next read shows the truth
	default:
		e.metrics.claims.WithLabelValues("refused").Inc()
		e.log.Error("a due job cannot be claimed", "job_id", rows[0].ID, "error", err)
	}
	return nil
}

func (e *Engine) claimBatch(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) error {
	now := e.now()
	advances := make([]db.Advance, len(rows))
	var runs []*dispatch
	var skipped []db.NewRun
	var causes []AlarmCause // of the skipped rows
	fired, misfired := 0, 0
	for i := range rows {
		r := &rows[i]
		j := e.dueJob(r)
		advances[i] = db.Advance{ID: r.ID, OldNext: r.TriggerNextTime, Last: r.TriggerLastTime, Stop: true}
		schedule, err := e.scheduleOf(r.ScheduleType, string(r.ScheduleConf), r.TimeZone, r.StartAt, r.EndAt)
		schedule.Misfire = r.MisfireStrategy
		var plan jobspec.Plan
		if err == nil {
			plan, err = jobspec.Decide(schedule, time.UnixMilli(r.TriggerNextTime), now, until, e.cfg.Limits().MisfireAfter)
		}
		if err != nil {
			// One job's unreadable schedule stops that job, visibly, and nothing else (spec §8.1 #1).
			advances[i].Unreadable = true
			skipped = append(skipped, e.skippedRow(j, now, note.Stopped.With(err)))
			causes = append(causes, AlarmDispatch)
			continue
		}
		if !plan.Last.IsZero() {
			advances[i].Last = plan.Last.UnixMilli()
		}
		if !plan.Next.IsZero() {
			advances[i].Next, advances[i].Stop = plan.Next.UnixMilli(), false
		}
		for _, at := range plan.Fires {
			runs = append(runs, e.conceive(j, cause{trigger: jobspec.TriggerCron, planned: at, param: j.param, retries: j.retries})...)
			fired++
		}
		if m := plan.Misfire; m != nil {
			made := e.conceive(j, cause{trigger: jobspec.TriggerMisfire, planned: m.At, param: j.param, retries: j.retries})
			for _, d := range made {
				d.late = note.StandsFor.With(e.missed(&m.Passed))
			}
			runs = append(runs, made...)
			misfired++
		}
		if m := plan.Skipped; m != nil {
			skipped = append(skipped, e.skippedRow(j, m.Last, note.Skipped.With(e.missed(m), r.MisfireStrategy)))
			causes = append(causes, AlarmMisfire)
		}
	}
	alarmed := e.markSkipped(skipped, causes)
	_, err := e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		n, err := db.AdvanceJobs(ctx, tx, advances)
		if err != nil {
			return nil, err
		}
		if n != int64(len(advances)) {
			return nil, errRaced
		}
		if err := e.schedules.Stopped(ctx, tx, advances); err != nil {
			return nil, err
		}
		for at := 0; at < len(skipped); at += db.MaxBatch {
			part := skipped[at:min(at+db.MaxBatch, len(skipped))]
			first, err := db.InsertRuns(ctx, tx, part)
			if err != nil {
				return nil, err
			}
			if alarmed {
				if err := e.raiseSkipped(ctx, tx, part, causes[at:], first); err != nil {
					return nil, err
				}
			}
		}
		return runs, e.insert(ctx, tx, runs)
	})
	if err != nil {
		return err
	}
	e.counts.add(bornDecided(skipped)...)
	if alarmed {
		e.cfg.Alarms.Wake()
	}
	e.rates.claimed.Add(int64(fired + misfired))
	e.metrics.claims.WithLabelValues("fired").Add(float64(fired))
	e.metrics.claims.WithLabelValues("misfired").Add(float64(misfired))
	e.metrics.claims.WithLabelValues("skipped").Add(float64(len(skipped)))
	if len(runs) > 0 || len(skipped) > 0 {
		e.hub.changed()
	}
	return nil
}

// missed says how many planned fires passed unseen, and when.
func (e *Engine) missed(m *jobspec.Passed) string {
	const layout = "2006-01-02 15:04:05 -0700"
	first, last := m.First.In(e.cfg.JobZone).Format(layout), m.Last.In(e.cfg.JobZone).Format(layout)
	if m.Count == 1 && !m.More {
		return note.Fire.With(first)
	}
	return note.Fires.With(m.Total(), first, last)
}

// skippedRow is the record of fires that nobody runs: a run that is decided at its birth. It needs no
// alarm unless markSkipped finds somebody who wants one.
func (e *Engine) skippedRow(j *job, planned time.Time, reason string) db.NewRun {
	return db.NewRun{
		JobGroup: j.group, JobID: j.id, Handler: j.handler, Param: j.param, TriggerTime: e.wall(planned), PlannedAt: planned.UnixMilli(),
		Owner: e.node.id.Load(), Type: jobspec.TriggerMisfire, TriggerCode: wire.CodeFail, AlarmStatus: 1,
		Message: "trigger type: MISFIRE\nadmin: " + e.cfg.Name + "\nplanned: " +
			planned.In(e.cfg.JobZone).Format("2006-01-02 15:04:05.000 -0700") + "\nresult: " + clip(reason, 4000),
	}
}

func (e *Engine) dueJob(r *db.ListDueJobsRow) *job {
	j := &job{
		id: r.ID, group: r.JobGroup, handler: string(r.ExecutorHandler), param: string(r.ExecutorParam),
		route: r.ExecutorRouteStrategy, misfire: r.MisfireStrategy, block: wire.Block(r.ExecutorBlockStrategy),
		timeoutSeconds: int(r.ExecutorTimeout), retries: r.ExecutorFailRetryCount, glue: r.GlueType, backoff: r.RetryBackoff,
		delayed: r.ScheduleType == jobspec.ScheduleFixDelay, limit: int(r.MaxConcurrent), policy: jobspec.Concurrency(r.ConcurrencyPolicy),
	}
	if r.GlueUpdateTime.Valid {
		j.glueUpdated = e.cfg.Pool.FromWall(r.GlueUpdateTime.Time).UnixMilli()
	}
	return j
}
