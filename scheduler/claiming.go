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

// claiming is one try to claim a batch of due jobs: what is decided of them, and what is written of that in one transaction.
type claiming struct {
	e         *Engine
	rows      []db.ListDueJobsRow
	forgotten map[int64]int64 // as [Engine.forgotten] has it
	now       time.Time
	until     time.Time
	book      *pauseBook

	advances []db.Advance // of each row
	runs     []*dispatch
	skipped  []db.NewRun
	causes   []AlarmCause // of the skipped rows
	alarmed  bool         // somebody is told of one of these
	fired    int          // fires
	misfired int          // fires that are made up for
}

// claimBatch is one try. forgotten is as [Engine.forgotten] has it.
func (e *Engine) claimBatch(ctx context.Context, rows []db.ListDueJobsRow, until time.Time, forgotten map[int64]int64) error {
	c := &claiming{e: e, rows: rows, forgotten: forgotten, now: e.now(), until: until, book: e.pauses.current.Load(), advances: make([]db.Advance, len(rows))}
	for i := range rows {
		if err := c.decideJob(ctx, i); err != nil {
			return err
		}
	}
	c.alarmed = e.markSkipped(c.skipped, c.causes)
	if _, err := e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) { return c.runs, c.write(ctx, tx) }); err != nil {
		return err
	}
	e.claimer.made(len(c.runs))
	c.written()
	return nil
}

// decideJob decides about one job. A schedule that cannot be read stops that job, visibly, and nothing else (docs/compat.md §8.1 #1).
func (c *claiming) decideJob(ctx context.Context, i int) error {
	e, r, a := c.e, &c.rows[i], &c.advances[i]
	known := r
	if until := c.forgotten[r.ID]; until != 0 {
		row := *r
		row.ClaimedUntil, known = until, &row
	}
	j := e.dueJob(r)
	*a = db.Advance{
		ID: r.ID, OldNext: r.TriggerNextTime, OldClaimed: r.ClaimedUntil, Claimed: known.ClaimedUntil, Last: r.TriggerLastTime, Stop: true,
		Beside: e.beside(), Flow: j.glue == jobspec.GlueFlow,
	}
	schedule, wrong := e.dueSchedule(r)
	if errors.Is(wrong, db.ErrNoCalendar) { // another admin has made it just now
		if err := e.cfg.Pool.Calendars().Refresh(ctx); err != nil {
			return err
		}
		schedule, wrong = e.dueSchedule(r)
	}
	var plan jobspec.Plan
	if wrong == nil {
		plan, wrong = decide(schedule, c.book.Of(r.ID, r.JobGroup, r.Tags), known, c.now, c.until, e.cfg.Limits().MisfireAfter)
	}
	var again *jobspec.Passed
	if wrong == nil && known != r {
		again, wrong = withheld(schedule, known)
	}
	if wrong != nil {
		a.Unreadable = true
		c.skip(e.skippedRow(j, c.now, event.Stopped, event.New(c.now, event.JobStopped, wrongSchedule(wrong))), AlarmDispatch)
		return nil
	}
	c.advance(a, &plan)
	c.makeRuns(j, &plan)
	if m := again; m != nil {
		c.skip(e.skippedRow(j, m.Last, event.Skipped, event.New(c.now, event.MadeBefore, m.Count, m.More, m.First, m.Last)), AlarmMisfire)
	}
	if m := plan.Skipped; m != nil {
		why := event.New(c.now, event.SkippedFires, m.Count, m.More, m.First, m.Last, string(schedule.Misfire))
		c.skip(e.skippedRow(j, m.Last, event.Skipped, why), AlarmMisfire)
	}
	return nil
}

// dueSchedule is when a due job is due, and what becomes of its missed fires.
func (e *Engine) dueSchedule(r *db.ListDueJobsRow) (jobspec.Schedule, error) {
	s, err := e.scheduleOf(r.ScheduleType, string(r.ScheduleConf), r.TimeZone, r.StartAt, r.EndAt, r.Calendar, r.CalendarRule)
	s.Misfire = r.MisfireStrategy.With(r.MisfireMore)
	s.Last, s.Within = int(r.MisfireLast), time.Duration(r.MisfireWithin)*time.Second
	return s, err
}

// decide plans a job from the first of its fires that is not decided yet. That is its next time, or where a pause began to hold it back,
// unless somebody has put that back: then nothing is made again for what was claimed. Whoever starts a job in the table may leave its time at the 0
// of a stopped one: then nothing was due before, and it starts now.
func decide(s jobspec.Schedule, pauses jobspec.Pauses, r *db.ListDueJobsRow, now, until time.Time, misfireAfter time.Duration) (jobspec.Plan, error) {
	if r.TriggerNextTime <= 0 {
		next, err := s.Next(time.UnixMilli(max(now.UnixMilli(), r.ClaimedUntil-1)))
		return jobspec.Plan{Next: next}, err
	}
	next := db.Undecided(r.TriggerNextTime, r.PausedAt, r.PausedNext)
	if r.ClaimedUntil > next.UnixMilli() {
		var err error
		if next, err = s.From(next, time.UnixMilli(r.ClaimedUntil)); err != nil || next.IsZero() {
			return jobspec.Plan{}, err
		}
	}
	return jobspec.DecidePaused(s, pauses, next, now, until, misfireAfter)
}

// advance sets the next times of a job. One that has none stops.
func (c *claiming) advance(a *db.Advance, plan *jobspec.Plan) {
	if !plan.Last.IsZero() {
		a.Last = plan.Last.UnixMilli()
		a.Claimed = plan.Last.UnixMilli() + 1
	}
	if !plan.Next.IsZero() {
		a.Next, a.Stop = plan.Next.UnixMilli(), false
	}
	if !plan.Hold.IsZero() {
		a.Hold, a.Pauses = plan.Hold.UnixMilli(), c.book.revision
	}
}

// makeRuns makes the runs of a plan, in the order of their times, and what is left out by pauses that are over: nobody is told of that.
func (c *claiming) makeRuns(j *job, plan *jobspec.Plan) {
	for h := range plan.Held {
		made, left := c.e.heldRuns(j, &plan.Held[h], c.now)
		c.runs = append(c.runs, made...)
		for i := range left {
			c.skip(left[i], "")
		}
		c.misfired += len(made)
	}
	for _, at := range plan.Fires {
		c.runs = append(c.runs, c.e.newRuns(j, cause{trigger: jobspec.TriggerCron, planned: at, param: j.param, retries: j.retries})...)
		c.fired++
	}
	if m := plan.Misfire; m != nil {
		c.makeUp(j, m.At, m.Last, m.Passed)
	}
	for _, due := range plan.MadeUp {
		c.makeUp(j, plan.MadeUpAt, due, jobspec.Passed{First: due, Last: due, Count: 1})
	}
}

// makeUp makes the run that stands for missed fires.
func (c *claiming) makeUp(j *job, at, due time.Time, p jobspec.Passed) {
	made := c.e.newRuns(j, cause{trigger: jobspec.TriggerMisfire, planned: at, due: due, param: j.param, retries: j.retries})
	for _, d := range made {
		d.events = append(d.events, event.New(c.now, event.StandsFor, p.Count, p.More, p.First, p.Last))
	}
	c.runs = append(c.runs, made...)
	c.misfired++
}

func (c *claiming) skip(row db.NewRun, cause AlarmCause) {
	c.skipped = append(c.skipped, row)
	c.causes = append(c.causes, cause)
}

// write writes what was decided, guarded by nobody else having decided it.
func (c *claiming) write(ctx context.Context, tx *sql.Tx) error {
	e := c.e
	if err := e.samePauses(ctx, tx, c.book); err != nil {
		return err
	}
	n, err := db.AdvanceJobs(ctx, tx, c.advances)
	if db.IsLocked(err) {
		return errRowLocked // not tried again as it is: it would wait again
	}
	if err != nil {
		return err
	}
	if n != int64(len(c.advances)) {
		return errRaced
	}
	if err := e.schedules.Stopped(ctx, tx, c.advances); err != nil {
		return err
	}
	if err := e.tellStopped(ctx, tx, c.rows, c.advances); err != nil {
		return err
	}
	for at := 0; at < len(c.skipped); at += db.MaxBatch {
		part := c.skipped[at:min(at+db.MaxBatch, len(c.skipped))]
		ids, err := e.insertRows(ctx, tx, part)
		if err != nil {
			return err
		}
		if err := e.tellSkipped(ctx, tx, part, ids); err != nil {
			return err
		}
		if c.alarmed {
			if err := e.raiseSkipped(ctx, tx, part, c.causes[at:], ids); err != nil {
				return err
			}
		}
	}
	return e.insert(ctx, tx, c.runs)
}

// written does what is left when the transaction is committed.
func (c *claiming) written() {
	e := c.e
	e.memory.note(c.now, c.advances)
	if len(c.forgotten) > 0 {
		e.wentBack("jobs", len(c.forgotten))
	}
	e.upkeep.Count(countDecided(c.skipped)...)
	if c.alarmed {
		e.cfg.Alarms.Wake()
	}
	e.rates.claimed.Add(int64(c.fired + c.misfired))
	e.metrics.claims.WithLabelValues("fired").Add(float64(c.fired))
	e.metrics.claims.WithLabelValues("misfired").Add(float64(c.misfired))
	e.metrics.claims.WithLabelValues("skipped").Add(float64(len(c.skipped)))
	if len(c.runs) > 0 || len(c.skipped) > 0 {
		e.hub.changed()
	}
}

// wrongSchedule is why a schedule cannot be read, as an argument of an event.
func wrongSchedule(err error) string {
	if field, is := jobspec.ScheduleError(err); is {
		return event.CauseOfField(field, err.Error())
	}
	return err.Error()
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
		timeoutSeconds: int(r.ExecutorTimeout), retries: r.ExecutorFailRetryCount, glue: r.GlueType, backoff: r.RetryBackoff, again: r.WhenLost == string(jobspec.WhenLostAgain), line: jobspec.Priority(r.Priority).Line(),
		delayed: r.ScheduleType == jobspec.ScheduleFixDelay, parent: r.ChildJobIDs != "", limit: int(r.MaxConcurrent), policy: jobspec.Concurrency(r.ConcurrencyPolicy), zone: r.TimeZone, keep: jobspec.Keep(r.KeepOutput),
	}
	j.limit, j.policy = limitOf(j.glue, j.block, j.limit, j.policy)
	if r.GlueUpdateTime.Valid {
		j.glueUpdated = e.cfg.Pool.FromWall(r.GlueUpdateTime.Time).UnixMilli()
	}
	return j
}
