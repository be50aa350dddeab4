package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// runStep is a step of a run of a flow.
type runStep struct {
	ID        string     `json:"id"`
	Kind      flow.Kind  `json:"kind" enum:"job,flow,approve,wait"`
	Needs     []string   `json:"needs" doc:"The steps that have to end before."`
	State     string     `json:"state" enum:"waiting,running,approval,success,failed,skipped,cancelled,timeout,rejected" doc:"Where it stands; in approval it waits for a person."`
	Allowed   bool       `json:"allowed" doc:"It failed, and that counts as a success: continue_on_error."`
	JobID     int64      `json:"job_id" doc:"The job that it runs; 0: none, none yet, or one that the token may not see."`
	RunID     int64      `json:"run_id" doc:"Its run, the newest attempt; 0: none. Of a step for each item of a list it is 0."`
	Attempt   int64      `json:"attempt" doc:"How often it was started."`
	Items     *stepItems `json:"items,omitempty" doc:"Of a step for each item of a list."`
	Parameter string     `json:"parameter" doc:"What its run got; of an approval, what is asked."`
	Output    string     `json:"output" doc:"What it gave, as JSON; empty: nothing."`
	Message   string     `json:"message"`
	Code      string     `json:"code,omitempty" doc:"For programs: by which fault of an expression or of its job it ended, or by which event, where its run has not said that."`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	DueAt     *time.Time `json:"due_at" doc:"When it is decided without anybody."`
	DecidedBy string     `json:"decided_by" doc:"Who approved or rejected it, skipped it or set it to success."`
	Remark    string     `json:"remark"`
}

// stepItems are how far the items of a step are.
type stepItems struct {
	Total     int64 `json:"total"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// stepItem is an item of a step that runs once for each item of a list, from its first attempt on.
type stepItem struct {
	Item      int64      `json:"item" doc:"Its place in the list, counted from 0."`
	State     string     `json:"state" enum:"waiting,running,success,failed,cancelled,timeout" doc:"Where it stands."`
	JobID     int64      `json:"job_id" doc:"The job that it runs; 0: one that the token may not see."`
	RunID     int64      `json:"run_id" doc:"Its run, the newest attempt; 0: none, or one that the token may not see."`
	Attempt   int64      `json:"attempt" doc:"In which attempt of its step it was started."`
	Parameter string     `json:"parameter" doc:"What its run got."`
	Output    string     `json:"output" doc:"What it gave, as JSON; empty: nothing."`
	Message   string     `json:"message"`
	Code      string     `json:"code,omitempty" doc:"For programs: by which fault of an expression or of its job it ended, or by which event, where its run has not said that."`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// stepOf is the step of a run of a flow that a run is.
type stepOf struct {
	RunID int64  `json:"run_id"`
	Step  string `json:"step"`
	Item  int64  `json:"item" doc:"Which item of the list, counted from 0; -1: the step has none."`
}

// stepBody is said along with what is done to a step.
type stepBody struct {
	Remark string `json:"remark,omitempty" maxLength:"500" doc:"Why, for whoever looks at the run later."`
}

// repeatBody says what of a run of a flow is to be done again.
type repeatBody struct {
	From string `json:"from_step,omitempty" maxLength:"64" doc:"This step and all that comes after it; without it those that failed or were cancelled, and what comes after them."`
}

// flows are what is done to the steps of a run of a flow.
func (a *API) flows() {
	const tag = "runs"
	for _, deed := range []struct {
		path, id, summary string
		do                func(ctx context.Context, p auth.Principal, run int64, in manage.StepInput) error
	}{
		{"approve", "approveStep", "Approve a step that waits for a person", func(ctx context.Context, p auth.Principal, run int64, in manage.StepInput) error {
			return a.Manage.Runs.ApproveStep(ctx, p, run, in, true)
		}},
		{"reject", "rejectStep", "Reject a step that waits for a person", func(ctx context.Context, p auth.Principal, run int64, in manage.StepInput) error {
			return a.Manage.Runs.ApproveStep(ctx, p, run, in, false)
		}},
		{"skip", "skipStep", "Leave a step out that waits or did not succeed", func(ctx context.Context, p auth.Principal, run int64, in manage.StepInput) error {
			return a.Manage.Runs.SkipStep(ctx, p, run, in)
		}},
		{"succeed", "succeedStep", "Take a step that waits or did not succeed for a success", func(ctx context.Context, p auth.Principal, run int64, in manage.StepInput) error {
			return a.Manage.Runs.SucceedStep(ctx, p, run, in)
		}},
	} {
		add(a, op{method: http.MethodPost, path: "/runs/{id}/steps/{step}/" + deed.path, id: deed.id, tag: tag, also: []int{http.StatusConflict}, summary: deed.summary},
			func(ctx context.Context, p auth.Principal, in *struct {
				RunID
				Step string    `path:"step" maxLength:"64" doc:"The id of the step."`
				Body *stepBody `required:"false"`
			}) (*struct{ Body wholeRun }, error) {
				input := manage.StepInput{Step: in.Step}
				if in.Body != nil {
					input.Remark = in.Body.Remark
				}
				if err := deed.do(ctx, p, in.ID, input); err != nil {
					return nil, err
				}
				did(ctx)
				r, err := a.waitForRun(ctx, p, in.ID, "")
				return &struct{ Body wholeRun }{r}, err
			})
	}
	add(a, op{method: http.MethodGet, path: "/runs/{id}/steps/{step}/items", id: "listStepItems", tag: tag, summary: "List the items of a step that runs once for each item of a list"},
		func(ctx context.Context, p auth.Principal, in *struct {
			RunID
			Page
			Step string `path:"step" maxLength:"64" doc:"The id of the step."`
		}) (*listOf[stepItem], error) {
			after, err := in.after()
			if err != nil {
				return nil, err
			}
			return a.stepItems(ctx, p, in.ID, in.Step, after, in.Limit)
		})
	add(a, op{method: http.MethodPost, path: "/runs/{id}/repeat", id: "repeatSteps", tag: tag, also: []int{http.StatusConflict}, status: http.StatusCreated, summary: "Do steps of an ended run of a flow again, by a run that begins with the results of the others"},
		func(ctx context.Context, p auth.Principal, in *struct {
			RunID
			Once
			Body *repeatBody `required:"false"`
		}) (*triggerAnswer, error) {
			from := ""
			if in.Body != nil {
				from = in.Body.From
			}
			id, err := a.Manage.Runs.RerunFlow(ctx, p, in.ID, from)
			if err != nil {
				return nil, err
			}
			return &triggerAnswer{Location: address("runs", id), Body: triggered{Runs: []int64{id}}}, nil
		})
}

// addSteps adds to a run its steps, if it is one of a flow, and whose step it is.
func (a *API) addSteps(ctx context.Context, p auth.Principal, r db.Run, out *wholeRun) error {
	of, step, ok, err := a.Manage.Runs.StepOf(ctx, p, r)
	if err != nil {
		return err
	}
	if ok {
		out.StepOf = &stepOf{RunID: of.ID, Step: step.Step, Item: step.Item}
	}
	f, ok, err := a.Manage.Runs.Flow(ctx, r)
	if err != nil || !ok {
		return err
	}
	out.Unread = f.Unreadable(requestOf(ctx).printer)
	rows, err := a.Manage.Runs.FlowSteps(ctx, p, r)
	if err != nil {
		return err
	}
	for i := range f.Definition.Steps {
		def := &f.Definition.Steps[i]
		row := rows[def.ID]
		code := manage.WhyOfStep(&row).Code()
		s := runStep{
			ID: def.ID, Kind: def.Kind(), Needs: append([]string{}, def.Needs...), State: flow.State(row.State).String(), Allowed: def.Allows(flow.State(row.State)), JobID: row.JobID, RunID: row.RunID, Attempt: row.Attempt,
			Parameter: string(row.Param), Output: string(row.Output), Message: string(row.Message), Code: code, StartedAt: momentOf(row.BeganAt), EndedAt: momentOf(row.EndedAt), DueAt: momentOf(row.DueAt),
			DecidedBy: row.DecidedBy, Remark: row.Remark,
		}
		if def.Foreach != nil {
			s.RunID, s.Items = 0, &stepItems{Total: row.Total, Succeeded: row.Succeeded, Failed: row.Failed, Cancelled: row.Cancelled}
		}
		out.Steps = append(out.Steps, s)
	}
	return nil
}

// stepItems is a page of the items of a step, of those that have begun. Its cursor is one more than the place of the last item, since those
// are counted from 0.
func (a *API) stepItems(ctx context.Context, p auth.Principal, id int64, step string, after int64, limit int) (*listOf[stepItem], error) {
	r, err := a.Manage.Runs.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if _, err := a.Manage.Runs.FlowStep(ctx, r, step); err != nil {
		return nil, err
	}
	rows, err := a.Manage.Runs.SeenItems(ctx, p, r, step, after-1, int32(limit+1))
	if err != nil {
		return nil, err
	}
	items := madeOf(rows, func(row db.FlowStep) stepItem {
		code := manage.WhyOfStep(&row).Code()
		return stepItem{
			Item: row.Item, State: flow.State(row.State).String(), JobID: row.JobID, RunID: row.RunID, Attempt: row.Attempt, Parameter: string(row.Param),
			Output: string(row.Output), Message: string(row.Message), Code: code, StartedAt: momentOf(row.BeganAt), EndedAt: momentOf(row.EndedAt),
		}
	})
	return cut(items, limit, func(i stepItem) int64 { return i.Item + 1 }), nil
}
