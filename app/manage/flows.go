package manage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// FlowFault is what is wrong with a definition, as a fault of the job's source that names the step and the line.
func FlowFault(f flow.Fault) problem.Field {
	if f.Step == "" && f.Name == flow.FieldChildren {
		return problem.Field{Name: jobspec.FieldChildren, Key: f.Key, Args: f.Args}
	}
	told := f.Told()
	told.Name = jobspec.FieldSource
	return told
}

// MaxFlowFaults is how many faults of a definition are told at a time.
const MaxFlowFaults = 20

func flowFaults(faults flow.Faults) []problem.Field {
	fields := make([]problem.Field, 0, min(len(faults), MaxFlowFaults))
	for _, f := range faults[:min(len(faults), MaxFlowFaults)] {
		fields = append(fields, FlowFault(f))
	}
	if more, is := MoreFlowFaults(faults); is {
		fields = append(fields, more)
	}
	return fields
}

// MoreFlowFaults says how many faults are not told.
func MoreFlowFaults(faults flow.Faults) (more problem.Field, is bool) {
	left := len(faults) - MaxFlowFaults
	return problem.Field{Name: jobspec.FieldSource, Key: document.CodeMore, Args: []any{"N", left}}, left > 0
}

// JudgeFlow reads the definition of a flow as somebody wants to save it, as the source of a job (with the id 0 a new one), and says all that is
// wrong with it. The definition is nil where it cannot be read.
func (s *Jobs) JudgeFlow(ctx context.Context, p auth.Principal, job jobspec.Job) (*flow.Definition, flow.Faults, error) {
	return s.judgeFlow(ctx, s.cfg.Pool, p, job)
}

func (s *Jobs) judgeFlow(ctx context.Context, tx db.DBTX, p auth.Principal, job jobspec.Job) (*flow.Definition, flow.Faults, error) {
	next, _, _ := jobspec.ChildIDs(job.ChildJobIDs)
	return (&flowJobs{ctx: ctx, tx: tx, s: s, p: p, found: make(map[int64]db.Job), in: s.incoming}).judge(job, next)
}

// judge judges the definition of a job that starts others beside its steps.
func (f *flowJobs) judge(job jobspec.Job, next []int64) (*flow.Definition, flow.Faults, error) {
	def, err := flow.Parse([]byte(job.GlueSource))
	if faults, is := errors.AsType[flow.Faults](err); is {
		return nil, faults, nil
	} else if err != nil {
		return nil, nil, err
	}
	_, faults := flow.Compile(def)
	ofJobs, err := flow.Validate(def, flow.Job{ID: job.ID, Title: job.Name, IsFlow: true, MayRun: true, Next: next}, f)
	if faults = append(faults, ofJobs...); err != nil || len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b flow.Fault) int { return cmp.Compare(a.Line, b.Line) })
		return def, faults, err
	}
	return def, f.params(def), f.err
}

// checkFlow is judgeFlow for a form.
func (s *Jobs) checkFlow(ctx context.Context, tx db.DBTX, p auth.Principal, job jobspec.Job) ([]problem.Field, error) {
	_, faults, err := s.judgeFlow(ctx, tx, p, job)
	return flowFaults(faults), err
}

// checkDefinition is checkFlow as an error.
func (s *Jobs) checkDefinition(ctx context.Context, tx db.DBTX, p auth.Principal, j db.Job, source string) error {
	spec := j.Spec()
	spec.GlueSource = source
	fields, err := s.checkFlow(ctx, tx, p, spec)
	if err == nil && len(fields) > 0 {
		err = problem.InvalidFields(fields...)
	}
	return err
}

// flowJobs is what a definition is judged by.
type flowJobs struct {
	ctx   context.Context
	tx    db.DBTX
	s     *Jobs
	p     auth.Principal
	found map[int64]db.Job
	refs  map[flow.JobRef]int64
	in    Incoming // what is saved together with it
	err   error
}

// Find implements [flow.Jobs].
func (f *flowJobs) Find(ref flow.JobRef) (flow.Job, bool, error) {
	id := ref.ID
	if id == 0 {
		var err error
		if id, err = f.named(ref); err != nil || id == 0 {
			return flow.Job{}, false, err
		}
	}
	j, ok, err := f.get(id)
	if err != nil || !ok || !f.p.CanUseGroup(j.JobGroup) {
		return flow.Job{}, false, err
	}
	if f.refs == nil {
		f.refs = make(map[flow.JobRef]int64)
	}
	f.refs[ref] = id
	return f.told(j), true, nil
}

// Get implements [flow.Jobs].
func (f *flowJobs) Get(id int64) (flow.Job, bool, error) {
	j, ok, err := f.get(id)
	if err != nil || !ok {
		return flow.Job{}, false, err
	}
	job := f.told(j)
	if !f.p.CanUseGroup(j.JobGroup) {
		job.Title = "#" + strconv.FormatInt(id, 10)
	}
	return job, true, nil
}

func (f *flowJobs) get(id int64) (db.Job, bool, error) {
	if j, ok := f.found[id]; ok {
		return j, j.ID != 0, nil
	}
	if j, ok := f.in[id]; ok {
		if !j.Gone {
			f.found[id] = j.row(id)
		}
		return f.found[id], !j.Gone, nil
	}
	j, err := f.s.queries.GetJob(f.ctx, f.tx, id)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return j, false, fmt.Errorf("read a job of a flow: %w", err)
	}
	f.found[id] = j
	return j, j.ID != 0, nil
}

// told is a job as a definition's validation wants to know it.
func (f *flowJobs) told(j db.Job) flow.Job {
	job := flow.Job{ID: j.ID, Title: j.JobDesc, IsFlow: j.GlueType == jobspec.GlueFlow, MayRun: f.p.Can(j.JobGroup, auth.RightRun)}
	if in, ok := f.in[j.ID]; ok {
		job.Next = slices.Clone(in.Next)
	} else {
		job.Next, _, _ = jobspec.ChildIDs(string(j.ChildJobIDs))
	}
	if !job.IsFlow {
		return job
	}
	started, err := f.startedBy(string(j.GlueSource))
	f.err = errors.Join(f.err, err)
	for _, id := range started {
		if !slices.Contains(job.Next, id) {
			job.Next = append(job.Next, id)
		}
	}
	return job
}

// startedBy are the jobs that the steps of a flow start, as far as there are such.
func (f *flowJobs) startedBy(source string) (ids []int64, err error) {
	def, err := flow.Parse([]byte(source))
	if err != nil {
		return nil, nil // it was saved by other means, and does not begin
	}
	for i := range def.Steps {
		ref := def.Steps[i].Ref()
		if ref == nil {
			continue
		}
		id := ref.ID
		if id == 0 {
			if id, err = f.named(*ref); err != nil {
				return ids, err
			}
		}
		if id != 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// named is the job with an executor and a description; 0 for none.
func (f *flowJobs) named(ref flow.JobRef) (int64, error) {
	if id := f.in.named(ref); id != 0 {
		return id, nil
	}
	groups, err := f.s.queries.ListGroups(f.ctx, f.tx)
	if err != nil {
		return 0, fmt.Errorf("read the executors of steps: %w", db.Error(err))
	}
	var ids []int64
	for _, g := range groups {
		if strings.EqualFold(g.AppName, ref.AppName) {
			ids = append(ids, g.ID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	rows, err := f.s.queries.ListJobsNamed(f.ctx, f.tx, db.ListJobsNamedParams{GroupIds: ids, Names: []string{ref.Description}})
	if err != nil {
		return 0, fmt.Errorf("find the job of a step: %w", err)
	}
	for _, r := range rows {
		if _, coming := f.in[r.ID]; r.JobDesc == ref.Description && !coming { // or it is gone then, or is called otherwise
			return r.ID, nil
		}
	}
	return 0, nil
}

// params asks whether the jobs may have the parameters that the steps give them, as in a run by hand: of some it is a program.
func (f *flowJobs) params(def *flow.Definition) (faults flow.Faults) {
	for i := range def.Steps {
		step := &def.Steps[i]
		ref := step.Ref()
		if ref == nil || step.Param == nil {
			continue
		}
		j := f.found[f.refs[*ref]]
		err := f.s.checkRunParam(f.ctx, f.p, j, *step.Param)
		if refused, is := errors.AsType[*problem.Error](err); is {
			fault := flow.Fault{Step: step.ID, Line: step.LineOf(flow.FieldParam)}
			fault.Name, fault.Key, fault.Args = flow.FieldParam, refused.Key, refused.Args
			if len(refused.Fields) > 0 {
				fault.Key, fault.Args = refused.Fields[0].Key, refused.Fields[0].Args
			}
			faults = append(faults, fault)
		} else if err != nil {
			f.err = errors.Join(f.err, err)
		}
	}
	return faults
}

// FlowRun is a run of a flow with its steps.
type FlowRun struct {
	db.FlowRun
	Definition *flow.Definition      // without steps where it is Unread
	Unread     error                 // why the definition cannot be read: it is of a later version, damaged, or gone; nil where it can
	Steps      []db.ListFlowStepsRow // in the order of the definition
}

// Unreadable is why the definition cannot be read, in words; "" where it can be.
func (f *FlowRun) Unreadable(t *locales.Printer) string {
	if f.Unread == nil {
		return ""
	}
	if faults, is := errors.AsType[flow.Faults](f.Unread); is && len(faults) > 0 {
		field := FlowFault(faults[0])
		return field.Text(t)
	}
	return t.T("flow.unread.gone")
}

// Flow is what there is to know of a run of a flow; ok is false of a run of anything else, and of one that has not begun. The run must be one
// that the principal may see.
func (s *Runs) Flow(ctx context.Context, r db.Run) (f FlowRun, ok bool, err error) {
	f.FlowRun, err = s.queries.GetFlowRun(ctx, s.cfg.Pool, r.ID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return f, false, nil
	} else if err != nil {
		return f, false, fmt.Errorf("read a run of a flow: %w", err)
	}
	if f.State == flowRunGiven && !runstate.Of(r.Outcome, r.TriggerCode, r.HandleCode, string(r.HandleMsg)).Open() {
		f.State = flowRunOver // it ended before it began
	}
	text, err := s.queries.GetFlowText(ctx, s.cfg.Pool, f.TextID)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound):
		f.Unread = err
	case err != nil:
		return f, false, fmt.Errorf("read the definition of a run: %w", err)
	default:
		f.Definition, f.Unread = flow.Parse([]byte(text.Source))
	}
	if f.Unread != nil {
		f.Definition = &flow.Definition{}
		return f, true, nil
	}
	rows, err := s.queries.ListFlowSteps(ctx, s.cfg.Pool, []int64{r.ID})
	if err != nil {
		return f, false, fmt.Errorf("read the steps of a run: %w", db.Error(err))
	}
	byID := make(map[string]db.ListFlowStepsRow, len(rows))
	for _, row := range rows {
		byID[row.Step] = row
	}
	f.Steps = make([]db.ListFlowStepsRow, len(f.Definition.Steps))
	for i := range f.Steps {
		f.Steps[i] = byID[f.Definition.Steps[i].ID]
		f.Steps[i].Step = f.Definition.Steps[i].ID
	}
	return f, true, nil
}

// FlowStep is a step of a run of a flow with all that is known of it. The run must be one that the principal may see.
func (s *Runs) FlowStep(ctx context.Context, r db.Run, step string) (db.FlowStep, error) {
	row, err := s.queries.GetFlowStep(ctx, s.cfg.Pool, db.GetFlowStepParams{FlowLogID: r.ID, Step: step})
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return row, problem.New(problem.NotFound, "problem.flow.step")
	} else if err != nil {
		return row, fmt.Errorf("read a step: %w", err)
	}
	return row, nil
}

// FlowItems is a page of the items of a step, from after an item on (-1: from the first). The run must be one that the principal may see.
func (s *Runs) FlowItems(ctx context.Context, r db.Run, step string, after int64, limit int32) ([]db.FlowStep, error) {
	rows, err := s.queries.ListFlowItems(ctx, s.cfg.Pool, db.ListFlowItemsParams{FlowLogID: r.ID, Step: step, AfterItem: after, Limit: limit})
	return rows, during("read the items of a step", err)
}

// StepOf is the run of a flow that a run is a step of, and which; ok is false where it is none, or the principal may not see that run.
func (s *Runs) StepOf(ctx context.Context, p auth.Principal, r db.Run) (flowRun db.Run, step db.FlowStep, ok bool, err error) {
	if r.FlowStep == 0 {
		return flowRun, step, false, nil
	}
	rows, err := s.queries.ListFlowStepsByID(ctx, s.cfg.Pool, []int64{r.FlowStep})
	if err != nil || len(rows) == 0 {
		return flowRun, step, false, db.Error(err)
	}
	flowRun, err = s.queries.GetRun(ctx, s.cfg.Pool, rows[0].FlowLogID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return flowRun, step, false, nil
	} else if err != nil {
		return flowRun, step, false, fmt.Errorf("read the run of a flow: %w", err)
	}
	return flowRun, rows[0], p.CanUseGroup(flowRun.JobGroup), nil
}

// StepInput is what somebody does to a step of a run.
type StepInput struct {
	Step   string
	Remark string
}

// FieldStepRemark is the name of StepInput.Remark in a problem.Field.
const FieldStepRemark = "remark"

// maxStepRemark is how many characters a remark has.
const maxStepRemark = 500

// ApproveStep answers a step that waits for a person, who may run the flow, also where its job has gone since.
func (s *Runs) ApproveStep(ctx context.Context, p auth.Principal, logID int64, in StepInput, yes bool) error {
	action := ActionReject
	if yes {
		action = ActionApprove
	}
	return s.doToStep(ctx, p, logID, in, action, func(ctx context.Context, d scheduler.StepDeed) error { return s.cfg.Flows.Approve(ctx, d, yes) })
}

// SkipStep leaves a step out that has not started.
func (s *Runs) SkipStep(ctx context.Context, p auth.Principal, logID int64, in StepInput) error {
	return s.doToStep(ctx, p, logID, in, ActionSkip, s.cfg.Flows.SkipStep)
}

// SucceedStep takes a step for a success.
func (s *Runs) SucceedStep(ctx context.Context, p auth.Principal, logID int64, in StepInput) error {
	return s.doToStep(ctx, p, logID, in, ActionSucceed, s.cfg.Flows.SetStepSuccess)
}

func (s *Runs) doToStep(ctx context.Context, p auth.Principal, logID int64, in StepInput, action Action, do func(context.Context, scheduler.StepDeed) error) error {
	r, err := s.Need(ctx, p, logID, auth.RightRun)
	if err != nil {
		return err
	}
	if _, err := s.runsJobOf(ctx, p, r); err != nil {
		return err
	}
	in.Remark = strings.TrimSpace(in.Remark)
	if utf8.RuneCountInString(in.Remark) > maxStepRemark {
		return problem.InvalidFields(problem.Field{Name: FieldStepRemark, Key: jobspec.CodeTooLong, Args: []any{"Max", maxStepRemark}})
	}
	err = do(ctx, scheduler.StepDeed{
		Run: logID, Step: in.Step, User: p.Name, Remark: in.Remark,
		Within: func(ctx context.Context, tx *sql.Tx) error {
			return s.audit.Record(ctx, tx, p, Entry{
				Action: action, Kind: ObjectRun, ID: logID, Name: "#" + strconv.FormatInt(logID, 10), Group: r.JobGroup,
				After: Snapshot{"job_id": r.JobID, "step": in.Step, "remark": in.Remark},
			})
		},
	})
	return flowProblem(err)
}

// RerunFlow does a part of a run of a flow again that has ended, by a run of its own whose id it gives: the steps that failed and what hangs on
// them, or all from a step on. Who does so may run the job where it is now, too.
func (s *Runs) RerunFlow(ctx context.Context, p auth.Principal, logID int64, from string) (int64, error) {
	r, err := s.Need(ctx, p, logID, auth.RightRun)
	if err != nil {
		return 0, err
	}
	switch there, err := s.runsJobOf(ctx, p, r); {
	case err != nil:
		return 0, err
	case !there:
		return 0, jobGone()
	}
	id, err := s.cfg.Flows.Repeat(ctx, scheduler.Repeat{
		Run: logID, From: from, User: p.Name,
		Within: func(ctx context.Context, tx *sql.Tx, id int64) error {
			return s.audit.Record(ctx, tx, p, Entry{
				Action: ActionRerun, Kind: ObjectRun, ID: logID, Name: "#" + strconv.FormatInt(logID, 10), Group: r.JobGroup,
				After: Snapshot{"job_id": r.JobID, "step": from, "runs": strconv.FormatInt(id, 10)},
			})
		},
	})
	return id, flowProblem(err)
}

// runsJobOf refuses whoever may not run the job of a run where it is now: more of it would run by what they do. It says whether the job is still there.
func (s *Runs) runsJobOf(ctx context.Context, p auth.Principal, r db.Run) (there bool, err error) {
	j, err := s.queries.GetJob(ctx, s.cfg.Pool, r.JobID)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read job: %w", err)
	case !p.CanUseGroup(j.JobGroup):
		return true, jobGone()
	case !p.Can(j.JobGroup, auth.RightRun):
		return true, forbidden()
	}
	return true, nil
}

// flowProblem is why something could not be done to a run of a flow, as somebody sees it.
func flowProblem(err error) error {
	for _, known := range []struct {
		err  error
		kind problem.Kind
		key  string
	}{
		{scheduler.ErrNoFlowRun, problem.NotFound, "problem.flow.none"},
		{scheduler.ErrNoStep, problem.NotFound, "problem.flow.step"},
		{scheduler.ErrFlowEnded, problem.Conflict, "problem.flow.ended"},
		{scheduler.ErrFlowGoesOn, problem.Conflict, "problem.flow.goes"},
		{scheduler.ErrNoQuestion, problem.Conflict, "problem.flow.noquestion"},
		{flow.ErrAsks, problem.Conflict, "problem.flow.asks"},
		{flow.ErrEnding, problem.Conflict, "problem.flow.ending"},
		{flow.ErrOpen, problem.Conflict, "problem.flow.runs"},
		{flow.ErrSuccess, problem.Conflict, "problem.flow.succeeded"},
		{scheduler.ErrStepNotSo, problem.Conflict, "problem.flow.notso"},
		{scheduler.ErrFlowUnread, problem.Conflict, "problem.flow.unread"},
		{scheduler.ErrNothingToDo, problem.Conflict, "problem.flow.nothing"},
	} {
		if errors.Is(err, known.err) {
			return problem.New(known.kind, known.key)
		}
	}
	return err
}
