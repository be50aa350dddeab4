package manage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Backfills are the use cases of running jobs for planned times that are over.
type Backfills struct {
	cfg     Config
	queries *db.Queries
	jobs    *Jobs
	runs    *Runs
	audit   *Audit
}

// BackfillInput is a backfill as somebody wants it.
type BackfillInput struct {
	From, Until time.Time // the planned times from one moment on and before the other
	Failed      bool      // not those of the schedule: those of the runs that were triggered in this time and failed for good
	Newest      bool      // the newest first
	AtOnce      int       // 0: one
}

// The names of fields in a problem.Field.
const (
	FieldBackfillFrom   = "from"
	FieldBackfillUntil  = "until"
	FieldBackfillAtOnce = "at_once"
)

// BackfillPlan is what a backfill would run.
type BackfillPlan struct {
	Job         db.Job
	AtOnce      int // how many are under way at a time, as far as the job lets them
	Busy        scheduler.WhenBusy
	Count       int
	First, Last time.Time // planned times, in the order of sending and in the job's zone
	Param       string    // of the first, as its executor would get it
	Shown       string    // stands for the planned times, and the parameter
	rows        []db.BackfillRun
}

// shown stands for all that a plan would run: how often, when and like which runs, and with which parameter. In which order is part of the wish.
func (p *BackfillPlan) shown(param string) string {
	h := sha256.New()
	for _, r := range slices.SortedFunc(slices.Values(p.rows), func(a, b db.BackfillRun) int {
		return cmp.Or(cmp.Compare(a.PlannedFor, b.PlannedFor), cmp.Compare(a.LikeLogID, b.LikeLogID))
	}) {
		fmt.Fprintf(h, "%d %d\n", r.PlannedFor, r.LikeLogID)
	}
	of := sha256.Sum256([]byte(param))
	return fmt.Sprintf("%d-%x-%x", len(p.rows), h.Sum(nil)[:8], of[:8])
}

// Changed says, by the key of a message, how a plan is not what was shown; empty when it is, or nothing was.
func (p *BackfillPlan) Changed(shown string) string {
	if shown == "" || shown == p.Shown {
		return ""
	}
	was, now := strings.Split(shown, "-"), strings.Split(p.Shown, "-")
	switch {
	case was[0] != now[0]:
		return "backfill.plan.changed"
	case len(was) != len(now) || was[1] != now[1]:
		return "backfill.plan.changed.times"
	}
	return "backfill.plan.changed.param"
}

// maxBackfills bounds the list of a job's backfills.
const maxBackfills = 100

// Plan says what a backfill would run, and runs nothing.
func (s *Backfills) Plan(ctx context.Context, p auth.Principal, job int64, in BackfillInput) (plan BackfillPlan, err error) {
	if plan.Job, err = s.jobs.Need(ctx, p, job, auth.RightRun); err != nil {
		return plan, err
	}
	if err := s.check(in); err != nil {
		return plan, err
	}
	plan.AtOnce, plan.Busy = max(1, in.AtOnce), s.WhenBusy(plan.Job)
	if plan.Busy.AtOnce > 0 {
		plan.AtOnce = min(plan.AtOnce, plan.Busy.AtOnce)
	}
	schedule, err := s.jobs.scheduleOf(plan.Job.Spec())
	if err != nil {
		return plan, err
	}
	param := string(plan.Job.ExecutorParam)
	if in.Failed {
		var first string
		if plan.rows, first, err = s.failed(ctx, p, plan.Job, in); err == nil && len(plan.rows) > 0 {
			param = first
		}
	} else {
		var due time.Time // a fixed rate goes on from the time on record, and a stopped one had its last
		if j := plan.Job; j.TriggerNextTime > 0 {
			due = db.Undecided(j.TriggerNextTime, j.PausedAt, j.PausedNext)
		} else {
			due = db.Instant(j.TriggerLastTime)
		}
		var times []time.Time
		times, err = backfill.Times(schedule, in.From, in.Until, due)
		for _, at := range backfill.Ordered(times, in.Newest) {
			plan.rows = append(plan.rows, db.BackfillRun{PlannedFor: at.UnixMilli()})
		}
	}
	if err != nil {
		return plan, backfillFault(err)
	}
	plan.Count = len(plan.rows)
	if plan.Count == 0 {
		key := "backfill.error.none"
		if in.Failed {
			key = "backfill.error.nofailed"
		}
		return plan, problem.InvalidFields(problem.Field{Name: FieldBackfillUntil, Key: key})
	}
	plan.First = time.UnixMilli(plan.rows[0].PlannedFor).In(schedule.Zone)
	plan.Last = time.UnixMilli(plan.rows[plan.Count-1].PlannedFor).In(schedule.Zone)
	plan.Param, plan.Shown = expr.FillPlanned(param, plan.First, schedule.Zone), plan.shown(param)
	return plan, nil
}

// WhenBusy is what the job of a backfill does to a run that is too many, for which its planned times wait.
func (s *Backfills) WhenBusy(j db.Job) scheduler.WhenBusy { return s.cfg.Engine.WhenBusy(&j) }

func (s *Backfills) check(in BackfillInput) error {
	var fields []problem.Field
	add := func(name, key string, args ...any) {
		fields = append(fields, problem.Field{Name: name, Key: key, Args: args})
	}
	switch {
	case in.From.IsZero():
		add(FieldBackfillFrom, "backfill.error.from")
	case in.From.Before(earliestPlanned):
		fields = append(fields, notPlanned(FieldBackfillFrom, s.cfg.Now().In(s.cfg.Pool.Zone())))
	}
	switch {
	case !in.Until.After(in.From):
		add(FieldBackfillUntil, "backfill.error.until")
	case in.Until.After(s.cfg.Now()):
		add(FieldBackfillUntil, "backfill.error.future")
	}
	if in.AtOnce < 0 || in.AtOnce > backfill.MostAtOnce {
		add(FieldBackfillAtOnce, "backfill.error.at_once", "Max", backfill.MostAtOnce)
	}
	if len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	return nil
}

func backfillFault(err error) error {
	refuse := func(name, key string, args ...any) error {
		return problem.InvalidFields(problem.Field{Name: name, Key: key, Args: args})
	}
	switch {
	case errors.Is(err, backfill.ErrTooMany):
		return refuse(FieldBackfillUntil, "backfill.error.many", "Max", backfill.MostRuns)
	case errors.Is(err, backfill.ErrNoSchedule):
		return refuse(FieldBackfillFrom, "backfill.error.noschedule")
	case errors.Is(err, backfill.ErrNoPhase):
		return refuse(FieldBackfillFrom, "backfill.error.nophase")
	}
	return scheduleFault(err)
}

// failed are the planned times of the runs that failed for good, as far as p may run them again ([Jobs.again]): with their parameter where a
// run by hand may have one, and none that is no fire of the job. Several failures for one time with one parameter are one: shards of a
// broadcast, and what somebody has tried again by hand.
func (s *Backfills) failed(ctx context.Context, p auth.Principal, j db.Job, in BackfillInput) (rows []db.BackfillRun, param string, err error) {
	type fire struct {
		at    int64
		param string
	}
	own, err := s.jobs.OwnParam(ctx, p, j)
	if err != nil {
		return nil, "", err
	}
	seen := make(map[fire]bool)
	var list []db.RunRow
	f := RunFilter{Job: j.ID, Result: FailedForGood, Since: in.From, Until: in.Until.Add(-time.Millisecond), Deep: true, Limit: 500}
	for {
		found, err := s.runs.List(ctx, p, f)
		if err != nil {
			return nil, "", err
		}
		for _, r := range found.Runs {
			if r.TriggerType == jobspec.TriggerTrial || !p.Can(r.JobGroup, auth.RightRun) {
				continue
			}
			if own {
				r.ExecutorParam = j.ExecutorParam
			} else if err := checkRunSecrets(p, j, string(r.ExecutorParam)); err != nil {
				return nil, "", problem.InvalidFields(problem.Field{Name: FieldBackfillUntil, Key: "backfill.error.secret", Args: []any{"ID", strconv.FormatInt(r.ID, 10)}})
			}
			k := fire{cmp.Or(r.PlannedFor, r.PlannedAt, s.cfg.Pool.FromWall(r.TriggerTime.Time).UnixMilli()), string(r.ExecutorParam)}
			if !seen[k] {
				seen[k] = true
				r.PlannedFor = k.at
				list = append(list, r)
			}
		}
		if len(list) > backfill.MostRuns {
			return nil, "", backfill.ErrTooMany
		}
		if f.Before = found.Older; f.Before == 0 {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b db.RunRow) int {
		if in.Newest {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(a.PlannedFor, b.PlannedFor), cmp.Compare(a.ID, b.ID))
	})
	for _, r := range list {
		row := db.BackfillRun{PlannedFor: r.PlannedFor, LikeLogID: r.ID}
		if own {
			row.LikeLogID = 0
		}
		rows = append(rows, row)
	}
	if len(list) > 0 {
		param = string(list[0].ExecutorParam)
	}
	return rows, param, nil
}

// Start makes a backfill, which begins at once, and returns its number; 0 if its plan, which is returned, is not the one that was shown, if one was.
func (s *Backfills) Start(ctx context.Context, p auth.Principal, job int64, in BackfillInput, shown string) (id int64, plan BackfillPlan, err error) {
	plan, err = s.Plan(ctx, p, job, in)
	if err != nil || plan.Changed(shown) != "" {
		return 0, plan, err
	}
	id, err = s.start(ctx, p, in, plan, nil)
	return id, plan, err
}

// StartOnce starts a backfill if it is still what a plan said ([BackfillPlan.Shown]), and returns the plan that holds now, with the number 0, if it is not.
// A wish that comes again because its answer was lost is returned the backfill that was made for it before, without a plan.
func (s *Backfills) StartOnce(ctx context.Context, p auth.Principal, job int64, in BackfillInput, shown, batch string) (id int64, plan BackfillPlan, before bool, err error) {
	if _, err := s.jobs.Need(ctx, p, job, auth.RightRun); err != nil {
		return 0, plan, false, err
	}
	what := fmt.Sprintf("backfill:%d:%d:%d:%d:%v:%v:%d:%s", p.UserID, job, in.From.UnixMilli(), in.Until.UnixMilli(), in.Failed, in.Newest, in.AtOnce, shown)
	id, before, err = s.cfg.onceOne(ctx, batch, what, func(ctx context.Context, remember within) (id int64, err error) {
		if plan, err = s.Plan(ctx, p, job, in); err != nil || plan.Shown != shown {
			return 0, err
		}
		return s.start(ctx, p, in, plan, remember)
	})
	return id, plan, before, err
}

func (s *Backfills) start(ctx context.Context, p auth.Principal, in BackfillInput, plan BackfillPlan, remember within) (id int64, err error) {
	job := plan.Job.ID
	kind := backfill.OfSchedule
	if in.Failed {
		kind = backfill.OfFailed
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) (err error) {
		id, err = s.queries.InsertBackfill(ctx, tx, db.InsertBackfillParams{
			JobID: job, Kind: kind, FromAt: in.From.UnixMilli(), UntilAt: in.Until.UnixMilli(), Newest: db.Flag(in.Newest), AtOnce: int64(max(1, in.AtOnce)),
			State: backfill.Running, Total: int64(plan.Count), MadeAt: s.cfg.Now().UnixMilli(), MadeBy: cut(p.Name, 64),
		})
		if err != nil {
			return err
		}
		for i := range plan.rows {
			plan.rows[i].BackfillID, plan.rows[i].No = id, int64(i)
		}
		if err := db.InsertBackfillRuns(ctx, tx, plan.rows); err != nil {
			return err
		}
		if remember != nil {
			if err := remember(ctx, tx, []int64{id}); err != nil {
				return err
			}
		}
		return s.audit.Record(ctx, tx, p, s.entry(plan.Job, nil, Snapshot{"backfill": id, "backfill_from": in.From.In(s.cfg.Zone).Format(time.RFC3339),
			"backfill_until": in.Until.In(s.cfg.Zone).Format(time.RFC3339), "backfill_runs": plan.Count, "state": backfill.Running}))
	})
	if err != nil {
		return 0, fmt.Errorf("make backfill: %w", db.Error(err))
	}
	s.cfg.Engine.JobsChanged()
	return id, nil
}

func (s *Backfills) entry(j db.Job, before, after Snapshot) Entry {
	return Entry{Action: ActionBackfill, Kind: ObjectJob, ID: j.ID, Name: j.JobDesc, Group: j.JobGroup, Before: before, After: after}
}

// Of are the newest backfills of a job, the newest first.
func (s *Backfills) Of(ctx context.Context, p auth.Principal, job int64) ([]db.Backfill, error) {
	if _, err := s.jobs.Get(ctx, p, job); err != nil {
		return nil, err
	}
	rows, err := s.queries.ListBackfillsOfJob(ctx, s.cfg.Pool, db.ListBackfillsOfJobParams{JobID: job, Limit: maxBackfills})
	return rows, db.Error(err)
}

// Get is one backfill of a job. One that the principal may not see is as little there as one that there is not.
func (s *Backfills) Get(ctx context.Context, p auth.Principal, job, id int64) (db.Backfill, error) {
	if _, err := s.jobs.Get(ctx, p, job); err != nil {
		return db.Backfill{}, err
	}
	b, err := s.queries.GetBackfill(ctx, s.cfg.Pool, id)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return db.Backfill{}, fmt.Errorf("read backfill: %w", err)
	}
	if err != nil || b.JobID != job {
		return db.Backfill{}, problem.New(problem.NotFound, "problem.backfill.gone")
	}
	return b, nil
}

// Pause lets a backfill send nothing more until it is resumed. What it has sent goes on.
func (s *Backfills) Pause(ctx context.Context, p auth.Principal, job, id int64) error {
	return s.set(ctx, p, job, id, backfill.Paused, backfill.Running)
}

// Resume lets a paused backfill go on.
func (s *Backfills) Resume(ctx context.Context, p auth.Principal, job, id int64) error {
	return s.set(ctx, p, job, id, backfill.Running, backfill.Paused)
}

// Stop ends a backfill for good. What it has sent goes on.
func (s *Backfills) Stop(ctx context.Context, p auth.Principal, job, id int64) error {
	return s.set(ctx, p, job, id, backfill.Stopped, backfill.Running, backfill.Paused)
}

func (s *Backfills) set(ctx context.Context, p auth.Principal, job, id int64, to string, from ...string) error {
	j, err := s.jobs.Need(ctx, p, job, auth.RightRun)
	if err != nil {
		return err
	}
	b, err := s.Get(ctx, p, job, id)
	if err != nil {
		return err
	}
	switch {
	case b.State == to:
		return nil // as it was wanted
	case b.EndedAt != 0 || !slices.Contains(from, b.State):
		return problem.New(problem.Conflict, "problem.backfill.over")
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := s.queries.SetBackfillState(ctx, tx, db.SetBackfillStateParams{ID: id, OldState: b.State, NewState: to})
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.New(problem.Conflict, "problem.changed")
		}
		return s.audit.Record(ctx, tx, p, s.entry(j, Snapshot{"backfill": "", "state": b.State}, Snapshot{"backfill": id, "state": to}))
	})
	if err != nil {
		return fmt.Errorf("change backfill: %w", db.Error(err))
	}
	s.cfg.Engine.JobsChanged()
	return nil
}
