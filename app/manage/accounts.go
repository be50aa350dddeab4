package manage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/account"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// Accounts say what became of every fire that was planned for a time. They read only.
type Accounts struct {
	cfg       Config
	queries   *db.Queries
	schedules *db.Schedules
}

// AccountRequest says of what.
type AccountRequest struct {
	From, To time.Time // To is not included, nor is anything after now
	Job      int64     // 0: all that the principal may see
	Limit    int       // stretches listed of each class; 0: 200
}

const (
	accountJobs   = 200     // jobs whose definitions are read at once
	accountFires  = 100_000 // fires of one job that are looked at at once; more are done in parts
	accountPage   = 2_000   // runs of one read
	accountBehind = 256     // runs looked at behind a time for those that stand for fires in it
)

// Account makes the account. It goes through one job after the other, so that what it holds at a time is bounded.
func (s *Accounts) Account(ctx context.Context, p auth.Principal, r AccountRequest) (*account.Report, error) {
	now := s.cfg.Now()
	if r.To.After(now) {
		r.To = now
	}
	if !r.From.Before(r.To) {
		return nil, problem.New(problem.Malformed, "problem.account.period")
	}
	if r.Limit <= 0 {
		r.Limit = 200
	}
	a := &accounting{
		s: s, p: p, from: r.From.UnixMilli(), to: r.To.UnixMilli(), now: now.UnixMilli(),
		report: account.NewReport(r.From.UnixMilli(), r.To.UnixMilli(), r.Limit),
	}
	if err := a.prepare(ctx); err != nil {
		return nil, fmt.Errorf("account for fires: %w", db.Error(err))
	}
	ids := []int64{r.Job}
	for after := int64(0); ; after = ids[len(ids)-1] {
		var err error
		if r.Job == 0 {
			ids, err = s.queries.ListScheduledJobs(ctx, s.cfg.Pool, db.ListScheduledJobsParams{AfterID: after, FromMs: a.from, UntilMs: a.to, Limit: accountJobs})
		}
		if err == nil && len(ids) > 0 {
			err = a.jobs(ctx, ids)
		}
		if err != nil {
			return nil, fmt.Errorf("account for fires: %w", db.Error(err))
		}
		if r.Job != 0 || len(ids) < accountJobs {
			break
		}
	}
	if r.Job != 0 && a.seen == 0 {
		return nil, jobGone()
	}
	a.report.Close()
	return a.report, nil
}

// accounting is an account in the making. Times are epoch ms.
type accounting struct {
	s             *Accounts
	p             auth.Principal
	from, to, now int64
	report        *account.Report

	looked    int64 // when the last whole look for changes of somebody else began
	deletions []db.Deletion
	own       map[int64]bool // jobs with a retention of their own
	slack     time.Duration  // by how much the log's wall-clock times may differ from what this process makes of an instant
	seen      int            // jobs that the principal may see
}

func (a *accounting) prepare(ctx context.Context) (err error) {
	q, pool := a.s.queries, a.s.cfg.Pool
	if a.looked, err = upkeep.SchedulesSeen(ctx, q, pool); err != nil {
		return err
	}
	if a.deletions, err = q.ListDeletions(ctx, pool); err != nil {
		return err
	}
	own, err := q.ListJobRetention(ctx, pool)
	if err != nil {
		return err
	}
	a.own = make(map[int64]bool, len(own))
	for _, j := range own {
		a.own[j.ID] = true
	}
	// An hour for a change of the clock; a day where the log was written in another zone than this process has.
	a.slack = time.Hour + time.Second
	last, err := q.MaxRunID(ctx, pool)
	if err != nil || last == 0 {
		return err
	}
	run, err := q.GetRun(ctx, pool, last)
	if err != nil {
		return nil // it was deleted just now
	}
	if run.PlannedAt > 0 && run.TriggerTime.Valid && !pool.Wall(time.UnixMilli(run.PlannedAt)).Equal(run.TriggerTime.Time) {
		a.slack = 27 * time.Hour
	}
	return nil
}

// jobs accounts for some jobs. Their definitions are read together with how they are now, from one state of the database.
func (a *accounting) jobs(ctx context.Context, ids []int64) error {
	var live []db.ListJobSchedulesRow
	var history []db.JobSchedule
	err := func() error {
		tx, err := a.s.cfg.Pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if live, err = a.s.queries.ListJobSchedules(ctx, tx, ids); err != nil {
			return err
		}
		history, err = a.s.queries.ListSchedules(ctx, tx, db.ListSchedulesParams{JobIds: ids, FromMs: a.from})
		return err
	}()
	if err != nil {
		return err
	}
	now := make(map[int64]*db.ListJobSchedulesRow, len(live))
	for i := range live {
		now[live[i].ID] = &live[i]
	}
	for len(history) > 0 {
		n := 1
		for n < len(history) && history[n].JobID == history[0].JobID {
			n++
		}
		if err := a.job(ctx, history[:n], now[history[0].JobID]); err != nil {
			return err
		}
		history = history[n:]
	}
	return nil
}

// past is a job with what it said in the time.
type past struct {
	account.Job
	rows        []db.JobSchedule
	definitions []account.Definition
	deletedAt   int64
}

func (a *accounting) job(ctx context.Context, rows []db.JobSchedule, live *db.ListJobSchedulesRow) error {
	last := rows[len(rows)-1]
	j := past{Job: account.Job{ID: last.JobID, Group: last.JobGroup, Name: last.JobDesc}, rows: rows}
	if live != nil {
		j.Group, j.Name = live.JobGroup, live.JobDesc
	}
	if !a.p.CanUseGroup(j.Group) {
		return nil
	}
	a.seen++
	a.define(&j, live)
	a.note(&j)
	if err := a.stuck(ctx, &j, live); err != nil {
		return err
	}
	for _, d := range j.definitions {
		if d.Started && d.Since < a.to {
			a.report.Jobs++
			return a.stretch(ctx, &j, a.from, a.to)
		}
	}
	return nil
}

// define makes the definitions out of the rows and of how the job is now.
func (a *accounting) define(j *past, live *db.ListJobSchedulesRow) {
	last := j.rows[len(j.rows)-1]
	if last.UntilAt == 0 { // what nobody has noticed yet
		var h db.JobSchedule
		changed := live == nil
		if live != nil {
			h, changed = a.s.schedules.Now(live, last)
		}
		if changed {
			h.Cause, h.SinceAt, h.MadeAt, h.UntilAt = db.ScheduleNoticed, min(a.looked, a.now), a.now, 0
			j.rows[len(j.rows)-1].UntilAt = a.now
			j.rows = append(j.rows, h)
		}
	}
	for i, h := range j.rows {
		d := account.Definition{Started: h.Started != 0, First: h.NextAt, Since: h.SinceAt, Made: h.MadeAt, Until: h.UntilAt, Claimed: h.ClaimedTo}
		if kept, ok := a.s.cfg.Pool.Calendars().Get(h.Calendar); ok {
			d.Recast = kept.UpdatedAt
		}
		schedule, err := a.scheduleOf(&h)
		d.Schedule = schedule
		if err == nil && d.Started && h.ScheduleType.Schedules() && h.ScheduleType != jobspec.ScheduleFixDelay {
			_, err = schedule.Next(time.UnixMilli(h.NextAt))
		}
		if err != nil && d.Started {
			d.Started = false
			if h.SinceAt < a.to {
				a.report.Note(account.Note{Job: j.Job, Kind: account.Unreadable, At: h.MadeAt})
			}
		}
		switch {
		case h.UntilAt == 0 && live != nil:
			d.Claimed = live.Claimed()
		case h.UntilAt == 0:
		case i+1 < len(j.rows):
			d.Ended = endings[j.rows[i+1].Cause]
		default: // retention has forgotten what followed
			d.Ended = account.Edited
		}
		if h.Cause == db.ScheduleDeleted {
			j.deletedAt = h.MadeAt
		}
		j.definitions = append(j.definitions, d)
	}
}

// endings are what a definition's successor says about how it ended.
var endings = map[db.ScheduleCause]account.Ending{
	db.ScheduleEdited: account.Edited, db.ScheduleStarted: account.Edited, db.ScheduleStopped: account.Stopped, db.ScheduleEnded: account.Edited,
	db.ScheduleUnreadable: account.Stopped, db.ScheduleDeleted: account.Removed, db.ScheduleNoticed: account.Noticed, db.ScheduleGone: account.Noticed,
}

func (a *accounting) scheduleOf(h *db.JobSchedule) (jobspec.Schedule, error) {
	s := jobspec.Schedule{Type: h.ScheduleType, Conf: h.ScheduleConf, Misfire: h.MisfireStrategy, Zone: a.s.cfg.Pool.Zone(), Start: db.Instant(h.StartAt), End: db.Instant(h.EndAt)}
	s, err := a.s.cfg.Pool.Calendars().Keep(s, h.Calendar, h.CalendarRule)
	if err != nil {
		return s, err
	}
	switch h.TimeZone {
	case "", s.Zone.String():
		return s, nil
	case time.Local.String():
		s.Zone = time.Local
		return s, nil
	}
	zone, err := jobspec.Location(h.TimeZone)
	if err == nil {
		s.Zone = zone
	}
	return s, err
}

// note says what of a job's fires cannot be computed.
func (a *accounting) note(j *past) {
	first := j.rows[0]
	if first.MadeAt > a.from && first.Cause != db.ScheduleCreated {
		a.report.Note(account.Note{Job: j.Job, Kind: account.KnownSince, At: first.MadeAt})
	}
	for _, d := range j.definitions {
		if d.Started && d.Schedule.Type == jobspec.ScheduleFixDelay && d.Since < a.to {
			a.report.Note(account.Note{Job: j.Job, Kind: account.Delay, At: d.Made})
			return
		}
	}
}

// stuck finds out whether a FIX_DELAY job waits for a run that there is not.
func (a *accounting) stuck(ctx context.Context, j *past, live *db.ListJobSchedulesRow) error {
	waiting := jobspec.Waiting.UnixMilli()
	if live == nil || live.TriggerStatus == 0 || live.ScheduleType != jobspec.ScheduleFixDelay || live.TriggerNextTime != waiting {
		return nil
	}
	open, err := a.s.queries.CountOpenRuns(ctx, a.s.cfg.Pool, db.CountOpenRunsParams{LowID: 0, JobID: j.ID})
	if err != nil || open > 0 {
		return err
	}
	again, err := a.s.queries.ListJobSchedules(ctx, a.s.cfg.Pool, []int64{j.ID})
	if err == nil && len(again) == 1 && again[0].TriggerNextTime == waiting && again[0].TriggerStatus != 0 {
		a.report.Note(account.Note{Job: j.Job, Kind: account.Stuck, At: a.now})
	}
	return err
}

// stretch accounts for a job's fires from a moment up to another, in parts when they are too many to be held at once.
func (a *accounting) stretch(ctx context.Context, j *past, from, to int64) error {
	fires, ok := account.Fires(j.definitions, from, to, a.now, accountFires)
	var runs []account.Run
	if ok {
		var err error
		if runs, ok, err = a.runs(ctx, j.ID, from, to); err != nil {
			return err
		}
	}
	if !ok && to-from > 1000 {
		middle := from + (to-from)/2
		if err := a.stretch(ctx, j, from, middle); err != nil {
			return err
		}
		return a.stretch(ctx, j, middle, to)
	}
	l := account.Ledger{Fires: fires, Runs: runs, From: from, To: to, Now: a.now, Erased: a.erased(j), Delayed: j.delayed, Unclear: j.unclear}
	findings := l.Settle()
	for _, f := range findings {
		if f.Class != account.Missing {
			continue
		}
		behind, err := a.read(ctx, j.ID, to, 1<<60, accountBehind)
		if err != nil {
			return err
		}
		if len(behind) > 0 {
			l.Runs = append(l.Runs, behind...)
			findings = l.Settle()
		}
		break
	}
	a.report.Add(j.Job, findings)
	return nil
}

// runs are the runs planned from a moment up to another; false: they are too many to be held at once.
func (a *accounting) runs(ctx context.Context, job, from, to int64) ([]account.Run, bool, error) {
	runs, err := a.read(ctx, job, from, to, accountFires)
	return runs, len(runs) < accountFires, err
}

// read reads at most limit runs of a job that concern the fires of a time, in the order of ids. Those planned behind it are left out
// unless it has no end.
func (a *accounting) read(ctx context.Context, job, from, to int64, limit int) (runs []account.Run, err error) {
	pool := a.s.cfg.Pool
	until := sql.NullTime{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Valid: true}
	if to < 1<<60 {
		until.Time = pool.Wall(time.UnixMilli(to)).Add(a.slack)
	}
	page := db.ListRunsOfJobBetweenParams{
		JobID: job, FromTime: nullTime(pool.Wall(time.UnixMilli(from)).Add(-a.slack)), UntilTime: until, Limit: int32(min(accountPage, limit)),
	}
	for {
		rows, err := a.s.queries.ListRunsOfJobBetween(ctx, pool, page)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if r, ok := a.run(&rows[i], from, to); ok {
				runs = append(runs, r)
			}
		}
		if len(rows) < int(page.Limit) || len(runs) >= limit {
			return runs, nil
		}
		page.AfterID = rows[len(rows)-1].ID
	}
}

// foreignSlack is how far an XXL-JOB admin's run may be from its fire.
const foreignSlack = 10 * time.Second

// run is a row as the account needs it; false: it has nothing to do with the fires of the time.
func (a *accounting) run(row *db.ListRunsOfJobBetweenRow, from, to int64) (r account.Run, ok bool) {
	r = account.Run{
		ID: row.ID, Planned: row.PlannedAt, Type: row.TriggerType, Shard: string(row.ExecutorShardingParam), TriggerCode: row.TriggerCode,
		HandleCode: row.HandleCode, SentAt: row.SentAt, Outcome: row.Outcome,
	}
	switch {
	case r.Type == "":
		if row.TriggerTime.Valid {
			r.At = a.s.cfg.Pool.FromWall(row.TriggerTime.Time).UnixMilli()
		}
		return r, r.Planned == 0 && r.At >= from-foreignSlack.Milliseconds() && r.At < to+foreignSlack.Milliseconds()
	case r.Type != jobspec.TriggerCron && r.Type != jobspec.TriggerMisfire, r.Planned < from:
		return r, false
	case r.Type == jobspec.TriggerCron && r.Planned >= to:
		return r, false
	}
	if plain := r.Type == jobspec.TriggerCron && (r.Outcome == event.Open || r.Outcome == event.Succeeded || r.Outcome == event.Failed); !plain || r.SentAt-r.Planned > 1000 || r.SentAt == 0 {
		r.Events = event.Parse(row.Events)
	}
	return r, true
}

// erased says why the record of a fire was deleted on purpose.
func (a *accounting) erased(j *past) func(at int64) (event.Event, bool) {
	return func(at int64) (event.Event, bool) {
		if j.deletedAt > 0 {
			return event.New(time.UnixMilli(0), account.WhyRemoved, j.deletedAt), true
		}
		for _, d := range a.deletions {
			if at >= d.BeforeAt || d.JobID != 0 && d.JobID != j.ID || d.JobGroup != 0 && d.JobGroup != j.Group {
				continue
			}
			switch d.What {
			case upkeep.DeletedByRetention:
				if d.JobID == 0 && a.own[j.ID] {
					continue
				}
				return event.New(time.UnixMilli(0), account.WhyRetention, d.BeforeAt), true
			case upkeep.DeletedByClearing:
				return event.New(time.UnixMilli(0), account.WhyClearing, d.MadeBy, d.MadeAt), true
			}
		}
		return event.Event{}, false
	}
}

// ahead is how far behind a definition's end there may be runs of it, in ms.
const ahead = 10_000

// delayed reports whether a run planned for a moment is that of a FIX_DELAY definition.
func (j *past) delayed(at int64) bool {
	for _, d := range j.definitions {
		if d.Started && d.Schedule.Type == jobspec.ScheduleFixDelay && at >= d.Since && (d.Until == 0 || at < d.Until+ahead) {
			return true
		}
	}
	return false
}

// unclear reports whether nobody knows the definition of a moment.
func (j *past) unclear(at int64) bool {
	if at < j.definitions[0].Made && j.rows[0].Cause != db.ScheduleCreated {
		return true
	}
	for i, d := range j.definitions {
		if d.Since < d.Made && at >= d.Since && at < d.Made+ahead {
			return true
		}
		if j.rows[i].Started != 0 && !d.Started && at >= d.Since && (d.Until == 0 || at < d.Until+ahead) { // unreadable
			return true
		}
	}
	return false
}
