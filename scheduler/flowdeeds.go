package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What people do to runs of flows. A run that goes on is changed as it is. One that has ended stays what it was: what is to be done again of it
// is a run of its own, which begins with the results of the steps that need not be.

// The errors of deeds.
var (
	ErrNoFlowRun   = errors.New("the run is none of a flow")
	ErrNoStep      = errors.New("the flow has no such step")
	ErrFlowEnded   = errors.New("the run of the flow has ended")
	ErrFlowGoesOn  = errors.New("the run of the flow goes on")
	ErrStepNotSo   = errors.New("the step does not stand as it has to for this")
	ErrNoQuestion  = errors.New("the step waits for no person")
	ErrFlowUnread  = errors.New("the definition of the run cannot be read")
	ErrNothingToDo = errors.New("no step would run again")
)

// StepDeed is what somebody does to a step of a run of a flow.
type StepDeed struct {
	Run    int64
	Step   string
	User   string
	Remark string

	// Within is done in the transaction of the deed; nil: nothing.
	Within func(ctx context.Context, tx *sql.Tx) error
}

// Approve answers a step that waits for a person.
func (fs *Flows) Approve(ctx context.Context, d StepDeed, yes bool) error {
	return fs.doToStep(ctx, d, func(f *flowState, place int, now time.Time) error {
		if flow.State(f.steps[place].State) != flow.Approval {
			return ErrNoQuestion
		}
		state := flow.Rejected
		if yes {
			state = flow.Success
		}
		f.record(place, state, now)
		return nil
	})
}

// SkipStep leaves a step out that has not started, waits for a time or did not succeed.
func (fs *Flows) SkipStep(ctx context.Context, d StepDeed) error {
	return fs.doToStep(ctx, d, func(f *flowState, place int, now time.Time) error {
		return f.set(place, now, (*flow.Run).Skip)
	})
}

// SetStepSuccess takes a step for a success, whatever it was.
func (fs *Flows) SetStepSuccess(ctx context.Context, d StepDeed) error {
	return fs.doToStep(ctx, d, func(f *flowState, place int, now time.Time) error {
		return f.set(place, now, (*flow.Run).SetSuccess)
	})
}

// set changes a step as a person wants it, where the rules of flows allow that.
func (f *flowState) set(place int, now time.Time, how func(*flow.Run, *flow.Plan, int) error) error {
	if err := how(&f.run, f.plan.plan, place); err != nil {
		return errors.Join(ErrStepNotSo, err)
	}
	for i, s := range f.steps { // others may wait again because of it
		s.keep(f.run.Steps[i], f.plan.def.Steps[i].Foreach != nil, now)
	}
	f.row.FailedStep = ""
	return nil
}

// doToStep does something to a step of a run that goes on.
func (fs *Flows) doToStep(ctx context.Context, d StepDeed, do func(f *flowState, place int, now time.Time) error) error {
	row, err := fs.queries.GetFlowRun(ctx, fs.cfg.Pool, d.Run)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return ErrNoFlowRun
	} else if err != nil {
		return err
	}
	if row.State != flowGoing {
		return ErrFlowEnded
	}
	done := false
	err = fs.changeAnd(ctx, func(m *flowMove) {
		done = false
		m.deeds = []flowDeed{{log: d.Run, do: func(f *flowState) error {
			place, ok := f.plan.place[d.Step]
			if !ok {
				return ErrNoStep
			}
			if err := do(f, place, fs.cfg.Now()); err != nil {
				return err
			}
			s := f.steps[place]
			s.DecidedBy, s.Remark, s.changed = clip(d.User, 64), clip(d.Remark, 500), true
			done = true
			return nil
		}}}
	}, func(ctx context.Context, tx *sql.Tx) error {
		if !done {
			if _, err := fs.planOf(ctx, tx, row.TextID); unreadablePlan(err) {
				return errors.Join(ErrFlowUnread, err)
			}
			return ErrFlowEnded // meanwhile
		}
		if d.Within == nil {
			return nil
		}
		return d.Within(ctx, tx)
	})
	return err
}

// Repeat says what is to be done again of a run of a flow that has ended.
type Repeat struct {
	Run  int64
	From string // the step from which on; empty: those that failed, and what hangs on them
	User string

	// Within is done in the transaction that makes the run, with its id; nil: nothing.
	Within func(ctx context.Context, tx *sql.Tx, id int64) error
}

// Repeat makes a run that begins with the results of an ended one, by the definition that that one went by.
func (fs *Flows) Repeat(ctx context.Context, r Repeat) (int64, error) {
	row, err := fs.queries.GetFlowRun(ctx, fs.cfg.Pool, r.Run)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return 0, ErrNoFlowRun
	} else if err != nil {
		return 0, err
	}
	log, err := fs.queries.GetRun(ctx, fs.cfg.Pool, r.Run)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return 0, ErrNoFlowRun
	} else if err != nil {
		return 0, err
	}
	if over := row.State == flowOver || row.State == flowGiven && ended(&log); !over { // one that was to begin may have ended before it did
		return 0, ErrFlowGoesOn
	}
	param := string(log.ExecutorParam)
	ids, err := fs.cfg.Engine.Trigger(ctx, TriggerRequest{
		JobID: row.JobID, Type: jobspec.TriggerManual, Param: &param, Planned: dueOf(log.PlannedFor, log.PlannedAt), User: r.User,
		Within: func(ctx context.Context, tx *sql.Tx, ids []int64) error {
			if err := fs.giveSteps(ctx, tx, &row, ids[0], r.From); err != nil {
				return err
			}
			if r.Within == nil {
				return nil
			}
			return r.Within(ctx, tx, ids[0])
		},
	})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// giveSteps inserts the steps with which a run begins that does a part of another one again.
func (fs *Flows) giveSteps(ctx context.Context, tx *sql.Tx, from *db.FlowRun, id int64, step string) error {
	plan, err := fs.planOf(ctx, tx, from.TextID)
	if unreadablePlan(err) {
		return errors.Join(ErrFlowUnread, err)
	} else if err != nil {
		return err
	}
	old, err := fs.queries.ListWholeFlowSteps(ctx, tx, []int64{from.LogID})
	if err != nil {
		return err
	}
	run := flow.Run{Steps: make([]flow.StepState, len(plan.def.Steps))}
	rows := make([]*db.FlowStep, len(plan.def.Steps))
	for i := range old {
		place, ok := plan.place[old[i].Step]
		if !ok {
			continue
		}
		rows[place] = &old[i]
		run.Steps[place] = stateOfRow(&old[i], plan.def.Steps[place].Foreach != nil)
	}
	if step == "" {
		if err = run.RerunFailed(plan.plan); from.State == flowGiven && errors.Is(err, flow.ErrNothing) {
			err = nil // what it was to do is done
		}
	} else {
		place, ok := plan.place[step]
		if !ok {
			return ErrNoStep
		}
		err = run.RerunFrom(plan.plan, place)
	}
	if err != nil {
		return errors.Join(ErrNothingToDo, err)
	}
	for i := range rows {
		s := run.Steps[i]
		if !s.State.Ended() || rows[i] == nil { // as new, but for the items that are not done again
			again := &db.FlowStep{Item: -1, Attempt: int64(s.Attempt), Total: int64(s.Items.Total), Succeeded: int64(s.Items.Succeeded)}
			if s.Items.Total > 0 && rows[i] != nil {
				again.Items = rows[i].Items
			}
			rows[i] = again
		}
		rows[i].ID, rows[i].FlowLogID, rows[i].Step, rows[i].State = 0, id, plan.def.Steps[i].ID, int64(s.State)
	}
	err = db.InsertFlowRuns(ctx, tx, []db.FlowRun{{LogID: id, JobID: from.JobID, JobGroup: from.JobGroup, TextID: from.TextID, State: flowGiven, FromLogID: from.LogID}})
	if err != nil {
		return err
	}
	if err := db.InsertFlowSteps(ctx, fs.cfg.Pool, tx, rows); err != nil {
		return err
	}
	for i := range rows {
		if plan.def.Steps[i].Foreach == nil || run.Steps[i].Items.Total == 0 {
			continue
		}
		if err := fs.giveItems(ctx, tx, from.LogID, id, int64(run.Steps[i].Items.Total), rows[i].Step, !run.Steps[i].State.Ended()); err != nil {
			return err
		}
	}
	return nil
}

// giveItems copies the items of a step, within the database: of one that is done again those that succeeded.
func (fs *Flows) giveItems(ctx context.Context, tx *sql.Tx, from, to, total int64, step string, again bool) error {
	states := []int64{int64(flow.Success)}
	if !again {
		for _, s := range flow.AllStates {
			states = append(states, int64(s))
		}
	}
	for first := int64(0); first < total; first += db.MaxBatch {
		part := db.CopyFlowItemsParams{FromLogID: from, ToLogID: to, Step: step, FromItem: first, ToItem: first + db.MaxBatch, States: states}
		if err := fs.queries.CopyFlowItems(ctx, tx, part); err != nil {
			return err
		}
	}
	return nil
}
