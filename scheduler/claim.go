package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// errRowLocked means that somebody else holds the row of one of the jobs.
var errRowLocked = errors.New("the row of a due job is locked")

// claimTries is how often a batch is tried again without the jobs that somebody else moved meanwhile. What is left then waits
// for the next read.
const claimTries = 4

// claim decides a batch of due jobs and commits the decisions: the jobs' next times, guarded by the old ones, and the runs,
// in one transaction. Jobs that somebody else moved (another node, or an operator) or has locked are left out, and the rest
// is claimed all the same. When the database refuses what one of them makes, halves are tried, so that it is alone at last.
func (e *Engine) claim(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) error {
	for try := 1; len(rows) > 0; try++ {
		began := time.Now()
		forgotten, err := e.forgotten(ctx, rows, until)
		if err != nil {
			return err
		}
		err = e.claimBatch(ctx, rows, until, forgotten)
		e.metrics.claimSeconds.Observe(time.Since(began).Seconds())
		switch {
		case err == nil:
			e.claimer.took(time.Since(began))
			return nil
		case errors.Is(err, errRaced):
			before := len(rows)
			if rows, err = e.unmoved(ctx, rows); err != nil {
				return err
			}
			// Whoever moved the others has them; the next read shows the truth.
			e.metrics.claims.WithLabelValues("conflict").Add(float64(max(1, before-len(rows))))
			if try == claimTries {
				return nil
			}
		case errors.Is(err, errPausesChanged):
			if err := e.pauses.look(ctx); err != nil {
				return err
			}
			if try == claimTries {
				return nil
			}
		case errors.Is(err, errRowLocked):
			if rows, err = e.unlocked(ctx, rows, until); err != nil {
				return err
			}
			if try == claimTries {
				e.claimer.leave(rows)
				return nil
			}
		case ctx.Err() != nil, db.IsUnavailable(err), db.IsTransient(err):
			return err
		case len(rows) > 1:
			return e.claimHalves(ctx, rows, until)
		default:
			e.metrics.claims.WithLabelValues("refused").Inc()
			e.log.Error("a due job cannot be claimed", "job_id", rows[0].ID, "error", err)
			return nil
		}
	}
	return nil
}

func (e *Engine) claimHalves(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) error {
	half := len(rows) / 2
	return errors.Join(e.claim(ctx, rows[:half], until), e.claim(ctx, rows[half:], until))
}

// unmoved leaves out the jobs that are no longer as they were read.
func (e *Engine) unmoved(ctx context.Context, rows []db.ListDueJobsRow) ([]db.ListDueJobsRow, error) {
	times, err := e.queries.ListJobTimes(ctx, e.cfg.Pool, jobIDs(rows))
	if err != nil {
		return nil, err
	}
	now := make(map[int64]*db.ListJobTimesRow, len(times))
	for i := range times {
		now[times[i].ID] = &times[i]
	}
	left := make([]db.ListDueJobsRow, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if t := now[r.ID]; t != nil && t.TriggerStatus > e.cfg.Pool.BesideArg() && t.TriggerNextTime == r.TriggerNextTime && t.ClaimedUntil == r.ClaimedUntil {
			left = append(left, *r)
		}
	}
	return left, nil
}

// unlocked leaves out the jobs whose rows somebody has locked, for a while. Where the database cannot say which they are, halves
// are claimed instead, each of which waits for its locked rows again: nothing is left to the caller then.
func (e *Engine) unlocked(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) ([]db.ListDueJobsRow, error) {
	free := make(map[int64]bool, len(rows))
	err := db.ErrUnsupported
	if len(rows) > 1 {
		err = e.findFree(ctx, rows, free)
	}
	switch {
	case len(rows) == 1:
	case errors.Is(err, db.ErrUnsupported):
		return nil, e.claimHalves(ctx, rows, until)
	case err != nil:
		return nil, err
	}
	left := make([]db.ListDueJobsRow, 0, len(rows))
	var locked []db.ListDueJobsRow
	for _, r := range rows {
		if free[r.ID] {
			left = append(left, r)
		} else {
			locked = append(locked, r)
		}
	}
	e.claimer.leave(locked)
	if len(locked) > 0 {
		e.metrics.claims.WithLabelValues("locked").Add(float64(len(locked)))
		e.log.Warn("jobs are left out for a while: somebody has locked their rows", "job_id", locked[0].ID, "jobs", len(locked))
	}
	return left, nil
}

// wrongSchedule is why a schedule cannot be read, as an argument of an event.
func wrongSchedule(err error) string {
	if field, is := jobspec.ScheduleError(err); is {
		return event.CauseOfField(field, err.Error())
	}
	return err.Error()
}

// claimBatch is one try. forgotten is as [Engine.forgotten] has it.
func (e *Engine) claimBatch(ctx context.Context, rows []db.ListDueJobsRow, until time.Time, forgotten map[int64]int64) error {
	now := e.now()
	misfireAfter := e.cfg.Limits().MisfireAfter
	book := e.pauses.current.Load()
	advances := make([]db.Advance, len(rows))
	var runs []*dispatch
	var skipped []db.NewRun
	var causes []AlarmCause // of the skipped rows
	fired, misfired := 0, 0
	for i := range rows {
		r := &rows[i]
		j := e.dueJob(r)
		known := r
		if until := forgotten[r.ID]; until != 0 {
			row := *r
			row.ClaimedUntil, known = until, &row
		}
		advances[i] = db.Advance{ID: r.ID, OldNext: r.TriggerNextTime, OldClaimed: r.ClaimedUntil, Claimed: known.ClaimedUntil, Last: r.TriggerLastTime, Stop: true, Beside: e.beside(), Flow: j.glue == jobspec.GlueFlow}
		schedule, err := e.scheduleOf(r.ScheduleType, string(r.ScheduleConf), r.TimeZone, r.StartAt, r.EndAt, r.Calendar, r.CalendarRule)
		missed(&schedule, r)
		var plan jobspec.Plan
		var again *jobspec.Passed
		if errors.Is(err, db.ErrNoCalendar) { // another admin has made it just now
			if err := e.cfg.Pool.Calendars().Refresh(ctx); err != nil {
				return err
			}
			schedule, err = e.scheduleOf(r.ScheduleType, string(r.ScheduleConf), r.TimeZone, r.StartAt, r.EndAt, r.Calendar, r.CalendarRule)
			missed(&schedule, r)
		}
		if err == nil {
			plan, err = decide(schedule, book.Of(r.ID, r.JobGroup, r.Tags), known, now, until, misfireAfter)
		}
		if err == nil && known != r {
			again, err = withheld(schedule, known)
		}
		if err != nil {
			// One job's unreadable schedule stops that job, visibly, and nothing else (docs/compat.md §8.1 #1).
			advances[i].Unreadable = true
			skipped = append(skipped, e.skippedRow(j, now, event.Stopped, event.New(now, event.JobStopped, wrongSchedule(err))))
			causes = append(causes, AlarmDispatch)
			continue
		}
		if !plan.Last.IsZero() {
			advances[i].Last = plan.Last.UnixMilli()
			advances[i].Claimed = plan.Last.UnixMilli() + 1
		}
		if !plan.Next.IsZero() {
			advances[i].Next, advances[i].Stop = plan.Next.UnixMilli(), false
		}
		if !plan.Hold.IsZero() {
			advances[i].Hold, advances[i].Pauses = plan.Hold.UnixMilli(), book.revision
		}
		for h := range plan.Held {
			made, left := e.heldRuns(j, &plan.Held[h], now)
			runs, skipped = append(runs, made...), append(skipped, left...)
			causes = append(causes, make([]AlarmCause, len(left))...) // nobody is told of what is paused
			misfired += len(made)
		}
		for _, at := range plan.Fires {
			runs = append(runs, e.newRuns(j, cause{trigger: jobspec.TriggerCron, planned: at, param: j.param, retries: j.retries})...)
			fired++
		}
		if m := plan.Misfire; m != nil {
			made := e.newRuns(j, cause{trigger: jobspec.TriggerMisfire, planned: m.At, due: m.Last, param: j.param, retries: j.retries})
			for _, d := range made {
				p := &m.Passed
				d.events = append(d.events, event.New(now, event.StandsFor, p.Count, p.More, p.First, p.Last))
			}
			runs = append(runs, made...)
			misfired++
		}
		for _, due := range plan.MadeUp {
			made := e.newRuns(j, cause{trigger: jobspec.TriggerMisfire, planned: plan.MadeUpAt, due: due, param: j.param, retries: j.retries})
			for _, d := range made {
				d.events = append(d.events, event.New(now, event.StandsFor, 1, false, due, due))
			}
			runs = append(runs, made...)
			misfired++
		}
		if m := again; m != nil {
			skipped = append(skipped, e.skippedRow(j, m.Last, event.Skipped, event.New(now, event.MadeBefore, m.Count, m.More, m.First, m.Last)))
			causes = append(causes, AlarmMisfire)
		}
		if m := plan.Skipped; m != nil {
			skipped = append(skipped, e.skippedRow(j, m.Last, event.Skipped,
				event.New(now, event.SkippedFires, m.Count, m.More, m.First, m.Last, string(schedule.Misfire))))
			causes = append(causes, AlarmMisfire)
		}
	}
	alarmed := e.markSkipped(skipped, causes)
	_, err := e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		if err := e.samePauses(ctx, tx, book); err != nil {
			return nil, err
		}
		n, err := db.AdvanceJobs(ctx, tx, advances)
		if db.IsLocked(err) {
			return nil, errRowLocked // not tried again as it is: it would wait again
		}
		if err != nil {
			return nil, err
		}
		if n != int64(len(advances)) {
			return nil, errRaced
		}
		if err := e.schedules.Stopped(ctx, tx, advances); err != nil {
			return nil, err
		}
		if err := e.tellStopped(ctx, tx, rows, advances); err != nil {
			return nil, err
		}
		for at := 0; at < len(skipped); at += db.MaxBatch {
			part := skipped[at:min(at+db.MaxBatch, len(skipped))]
			ids, err := e.insertRows(ctx, tx, part)
			if err != nil {
				return nil, err
			}
			if err := e.tellSkipped(ctx, tx, part, ids); err != nil {
				return nil, err
			}
			if alarmed {
				if err := e.raiseSkipped(ctx, tx, part, causes[at:], ids); err != nil {
					return nil, err
				}
			}
		}
		return runs, e.insert(ctx, tx, runs)
	})
	if err != nil {
		return err
	}
	e.memory.note(now, advances)
	if len(forgotten) > 0 {
		e.wentBack("jobs", len(forgotten))
	}
	e.upkeep.Count(countDecided(skipped)...)
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

// missed is what becomes of a job's missed fires.
func missed(s *jobspec.Schedule, r *db.ListDueJobsRow) {
	s.Misfire = r.MisfireStrategy.With(r.MisfireMore)
	s.Last, s.Within = int(r.MisfireLast), time.Duration(r.MisfireWithin)*time.Second
}

// decide plans a job from the first of its fires that is not decided yet. That is its next time, or where a pause began to hold it back,
// unless somebody has put that back: then nothing is made again for what was claimed.
func decide(s jobspec.Schedule, pauses jobspec.Pauses, r *db.ListDueJobsRow, now, until time.Time, misfireAfter time.Duration) (jobspec.Plan, error) {
	next := db.Undecided(r.TriggerNextTime, r.PausedAt, r.PausedNext)
	if r.ClaimedUntil > next.UnixMilli() {
		var err error
		if next, err = s.From(next, time.UnixMilli(r.ClaimedUntil)); err != nil || next.IsZero() {
			return jobspec.Plan{}, err
		}
	}
	return jobspec.DecidePaused(s, pauses, next, now, until, misfireAfter)
}

// findFree notes which of the jobs nobody has locked.
func (e *Engine) findFree(ctx context.Context, rows []db.ListDueJobsRow, free map[int64]bool) error {
	tx, err := e.cfg.Pool.BeginTx(ctx, nil)
	if err != nil {
		return db.Error(err)
	}
	defer tx.Rollback()
	ids, err := e.queries.LockFreeJobs(ctx, tx, jobIDs(rows))
	for _, id := range ids {
		free[id] = true
	}
	return db.Error(err)
}

func jobIDs(rows []db.ListDueJobsRow) []int64 {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// skippedRow is the record of fires that nobody runs: a run that is inserted decided. It needs no
// alarm unless markSkipped finds somebody who wants one.
func (e *Engine) skippedRow(j *job, planned time.Time, outcome event.Outcome, why event.Event) db.NewRun {
	events := event.List{event.New(e.now(), event.Claimed, e.cfg.Name, e.node.ID()), why}
	d := dispatch{job: j, planned: planned, trigger: jobspec.TriggerMisfire}
	return db.NewRun{
		JobGroup: j.group, JobID: j.id, Handler: j.handler, Param: j.param, TriggerTime: e.wall(planned), PlannedAt: planned.UnixMilli(),
		Owner: e.node.ID(), Type: jobspec.TriggerMisfire, TriggerCode: wire.CodeFail, AlarmStatus: alarmNone,
		Outcome: outcome, Events: events.Stored(), Message: e.newRunText(&d) + e.recordText("", event.List{why}),
	}
}

func (e *Engine) dueJob(r *db.ListDueJobsRow) *job {
	j := &job{
		id: r.ID, group: r.JobGroup, handler: string(r.ExecutorHandler), param: string(r.ExecutorParam),
		route: r.ExecutorRouteStrategy, misfire: r.MisfireStrategy, block: wire.Block(r.ExecutorBlockStrategy),
		timeoutSeconds: int(r.ExecutorTimeout), retries: r.ExecutorFailRetryCount, glue: r.GlueType, backoff: r.RetryBackoff, again: r.WhenLost == string(jobspec.WhenLostAgain),
		delayed: r.ScheduleType == jobspec.ScheduleFixDelay, limit: int(r.MaxConcurrent), policy: jobspec.Concurrency(r.ConcurrencyPolicy), zone: r.TimeZone, keep: jobspec.Keep(r.KeepOutput),
	}
	j.limit, j.policy = limitOf(j.glue, j.block, j.limit, j.policy)
	if r.GlueUpdateTime.Valid {
		j.glueUpdated = e.cfg.Pool.FromWall(r.GlueUpdateTime.Time).UnixMilli()
	}
	return j
}
