package manage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// The states of a run of a flow that pages tell apart, as the engine writes them.
const (
	flowRunGoing = 0
	flowRunOver  = 2
	flowRunGiven = 3
)

// Going says whether its steps go on.
func (f *FlowRun) Going() bool { return f.State == flowRunGoing }

// Over says whether it has ended, so that parts of it may be done again.
func (f *FlowRun) Over() bool { return f.State == flowRunOver }

// Again are the places of the steps that a rerun would run: from a step on, or without one what failed and what hangs on it.
func (f *FlowRun) Again(from string) []int {
	plan, faults := flow.Compile(f.Definition)
	if len(faults) > 0 {
		return nil
	}
	run := plan.NewRun()
	for i, row := range f.Steps {
		run.Steps[i].State, run.Steps[i].Attempt, run.Steps[i].Begun, run.Steps[i].ByHand = flow.State(row.State), int(row.Attempt), row.BeganAt > 0, row.ByHand != 0
	}
	if from == "" {
		if err := run.RerunFailed(plan); err != nil && !errors.Is(err, flow.ErrNothing) {
			return nil // with nothing that failed it is what has not begun
		}
	} else if place, ok := plan.Index(from); !ok || run.RerunFrom(plan, place) != nil {
		return nil
	}
	var places []int
	for i := range run.Steps {
		if !run.Steps[i].State.Ended() {
			places = append(places, i)
		}
	}
	return places
}

// FlowSteps are the steps of a run of a flow with all that is known of them, by their ids. The run must be one that the principal may see;
// of a step whose job they may not see, and of one whose job is gone, only where it stands is told.
func (s *Runs) FlowSteps(ctx context.Context, p auth.Principal, r db.Run) (map[string]db.FlowStep, error) {
	rows, err := s.queries.ListWholeFlowSteps(ctx, s.cfg.Pool, []int64{r.ID})
	if err != nil {
		return nil, fmt.Errorf("read the steps of a run: %w", db.Error(err))
	}
	if err := s.hideSteps(ctx, p, rows); err != nil {
		return nil, err
	}
	steps := make(map[string]db.FlowStep, len(rows))
	for _, row := range rows {
		steps[row.Step] = row
	}
	return steps, nil
}

// SeenItems is [Runs.FlowItems] for somebody: of items whose job they may not see only where they stand is told.
func (s *Runs) SeenItems(ctx context.Context, p auth.Principal, r db.Run, step string, after int64, limit int32) ([]db.FlowStep, error) {
	rows, err := s.FlowItems(ctx, r, step, after, limit)
	if err != nil {
		return nil, err
	}
	return rows, s.hideSteps(ctx, p, rows)
}

// hideSteps leaves out of steps and items what is told only to who may see their runs: those of the group that a run was recorded with, and
// where there is none (any more) of the group in which its job is.
func (s *Runs) hideSteps(ctx context.Context, p auth.Principal, rows []db.FlowStep) error {
	var ids, jobIDs []int64
	for _, row := range rows {
		ids, jobIDs = append(ids, row.RunID), append(jobIDs, row.JobID)
	}
	runs, err := s.queries.ListGroupsOfRuns(ctx, s.cfg.Pool, ids)
	if err != nil {
		return fmt.Errorf("read the runs of steps: %w", db.Error(err))
	}
	jobs, err := s.queries.ListJobTitles(ctx, s.cfg.Pool, jobIDs)
	if err != nil {
		return fmt.Errorf("read the jobs of steps: %w", db.Error(err))
	}
	seenJob, seenRun := map[int64]bool{0: true}, make(map[int64]bool, len(runs))
	for _, j := range jobs {
		seenJob[j.ID] = p.CanUseGroup(j.JobGroup)
	}
	for _, r := range runs {
		seenRun[r.ID] = p.CanUseGroup(r.JobGroup)
	}
	for i := range rows {
		row := &rows[i]
		seen, kept := seenRun[row.RunID]
		if !kept {
			seen = seenJob[row.JobID]
		}
		if !seen && !p.Admin {
			row.JobID, row.RunID, row.Param, row.Items, row.Output, row.Message = 0, 0, "", "", "", ""
		}
	}
	return nil
}

// StepWhy is why a step, or an item, ended as it did, where its run has not said that: a fault of an expression or of its job, or an event.
type StepWhy struct {
	Fault *flow.Fault
	Event event.Event
}

// Code names it for programs; "" where there is none.
func (w StepWhy) Code() string {
	if w.Fault != nil {
		return w.Fault.Key
	}
	return string(w.Event.Key)
}

// Text is it in words; "" where there is none.
func (w StepWhy) Text(t event.Teller) string {
	switch {
	case w.Fault != nil:
		fault := *w.Fault
		fault.Step = "" // which it is, is known
		field := FlowFault(fault)
		return field.Text(t.Printer)
	case w.Event.Key != "":
		return t.Tell(w.Event)
	}
	return ""
}

// WhyOfStep takes out of the row of a step, or an item, what is kept of why it ended.
func WhyOfStep(row *db.FlowStep) (why StepWhy) {
	said := string(row.Message)
	if f, ok := flow.FaultOf(row.Step, string(row.Output)); ok {
		row.Output = ""
		if said != "" && strings.HasPrefix(f.Said(), said) { // else it has run since; the words may have been cut
			why.Fault = f
		}
		return why
	}
	e, rest, ok := flow.WhyOf(string(row.Output))
	row.Output = db.Text(rest)
	if ok && flow.State(row.State) != flow.Success {
		why.Event = e
	}
	return why
}
