package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/backfill"
)

// backfillRef names the backfill of an operation.
type backfillRef struct {
	JobID
	Backfill int64 `path:"backfill" minimum:"1" doc:"The number of the backfill."`
}

// backfillBody is a backfill as somebody wants it.
type backfillBody struct {
	From   time.Time `json:"from" doc:"The first moment of the range."`
	Until  time.Time `json:"until" doc:"The moment before which the range ends; not in the future."`
	Failed bool      `json:"failed,omitempty" doc:"Not the planned times of the schedule, but of the runs that were triggered in the range and failed for good, with their parameters."`
	Newest bool      `json:"newest_first,omitempty" doc:"Begin with the newest planned time."`
	AtOnce int       `json:"at_once,omitempty" minimum:"1" maximum:"100" default:"1" doc:"How many planned times are under way at a time."`
	Digest string    `json:"digest,omitempty" maxLength:"64" doc:"Of the plan that is meant, as a dry run answered it. If it would be another one now, nothing is done, and the answer is 412."`
}

// backfillState is a backfill, or, of a dry run, what it would be.
type backfillState struct {
	ID        int64      `json:"id,omitempty" doc:"There is none for a dry run."`
	JobID     int64      `json:"job_id"`
	State     string     `json:"state" enum:"planned,running,paused,stopped,gone,done" doc:"planned: of a dry run. stopped: by somebody. gone: its job is no more."`
	Ended     bool       `json:"ended" doc:"Nothing of it is under way any more."`
	Failed    bool       `json:"failed_runs" doc:"It is of runs that failed, and not of the schedule."`
	From      *time.Time `json:"from"`
	Until     *time.Time `json:"until"`
	Newest    bool       `json:"newest_first"`
	AtOnce    int64      `json:"at_once"`
	Total     int64      `json:"total" doc:"How many planned times it has."`
	Sent      int64      `json:"sent"`
	Good      int64      `json:"succeeded"`
	Bad       int64      `json:"failed" doc:"Those that did not succeed, retries included."`
	CreatedAt *time.Time `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	EndedAt   *time.Time `json:"ended_at"`
	First     *time.Time `json:"first_planned,omitempty" doc:"Of a dry run: the planned time that would be sent first."`
	Last      *time.Time `json:"last_planned,omitempty" doc:"Of a dry run: the one that would be sent last."`
	WhenBusy  string     `json:"when_busy,omitempty" enum:"discard,cover" doc:"Of a dry run of a job that leaves out a run that is too many, or ends another one for it: planned times wait for room, so that at_once may be less than was asked for."`
	Param     string     `json:"first_parameter,omitempty" doc:"Of a dry run: the parameter that the executor would get for the first."`
	Digest    string     `json:"digest,omitempty" doc:"Of a dry run: stands for its planned times and parameters."`
}

type backfillAnswer struct{ Body backfillState }

type backfillCreated struct {
	Location string `header:"Location"`
	Body     backfillState
}

func readBackfill(b db.Backfill) backfillState {
	return backfillState{ID: b.ID, JobID: b.JobID, State: b.State, Ended: b.EndedAt != 0, Failed: b.Kind == backfill.OfFailed, From: momentOf(b.FromAt), Until: momentOf(b.UntilAt),
		Newest: b.Newest != 0, AtOnce: b.AtOnce, Total: b.Total, Sent: b.Sent, Good: b.Succeeded, Bad: b.Failed, CreatedAt: momentOf(b.MadeAt), CreatedBy: b.MadeBy, EndedAt: momentOf(b.EndedAt)}
}

func whenBusy(busy scheduler.WhenBusy) string {
	switch {
	case busy.AtOnce == 0:
		return ""
	case busy.Covers:
		return "cover"
	}
	return "discard"
}

func (a *API) backfills() {
	const tag, one = "backfills", "/jobs/{id}/backfills/{backfill}"
	add(a, op{method: http.MethodGet, path: "/jobs/{id}/backfills", id: "listBackfills", tag: tag, summary: "List the newest backfills of a job"},
		func(ctx context.Context, p auth.Principal, in *JobID) (*listOf[backfillState], error) {
			return a.listBackfills(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/jobs/{id}/backfills", id: "createBackfill", tag: tag, summary: "Run a job for planned times that are over", status: http.StatusCreated, also: []int{http.StatusPreconditionFailed},
		text: "Each planned time of the range is run once, for that time, whether the schedule ran it or not. A dry run says how many there are, and with its digest nothing but these are run."},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			Once
			DryRun
			Body backfillBody
		}) (*backfillCreated, error) {
			return a.createBackfill(ctx, p, in.ID, in.Dry, in.Body)
		})
	add(a, op{method: http.MethodGet, path: one, id: "getBackfill", tag: tag, summary: "Get a backfill"},
		a.backfillAnswer)
	for _, o := range []struct {
		verb, id, summary, text string
		do                      func(s *manage.Backfills, ctx context.Context, p auth.Principal, job, id int64) error
	}{
		{"pause", "pauseBackfill", "Send nothing more of a backfill until it is resumed", "Runs that are under way go on.", (*manage.Backfills).Pause},
		{"resume", "resumeBackfill", "Let a paused backfill go on", "", (*manage.Backfills).Resume},
		{"stop", "stopBackfill", "End a backfill for good", "Runs that are under way go on.", (*manage.Backfills).Stop},
	} {
		add(a, op{method: http.MethodPost, path: one + "/" + o.verb, id: o.id, tag: tag, summary: o.summary, text: o.text},
			func(ctx context.Context, p auth.Principal, in *backfillRef) (*backfillAnswer, error) {
				if err := o.do(a.Manage.Backfills, ctx, p, in.ID, in.Backfill); err != nil {
					return nil, err
				}
				did(ctx)
				return a.backfillAnswer(ctx, p, in)
			})
	}
}

func (a *API) backfillAnswer(ctx context.Context, p auth.Principal, in *backfillRef) (*backfillAnswer, error) {
	b, err := a.Manage.Backfills.Get(ctx, p, in.ID, in.Backfill)
	if err != nil {
		return nil, err
	}
	return &backfillAnswer{readBackfill(b)}, nil
}

func (a *API) createBackfill(ctx context.Context, p auth.Principal, job int64, dry bool, body backfillBody) (*backfillCreated, error) {
	in := manage.BackfillInput{From: body.From, Until: body.Until, Failed: body.Failed, Newest: body.Newest, AtOnce: body.AtOnce}
	if dry {
		plan, err := a.Manage.Backfills.Plan(ctx, p, job, in)
		if err != nil {
			return nil, err
		}
		return &backfillCreated{Body: backfillState{JobID: job, State: "planned", Failed: in.Failed, From: moment(in.From), Until: moment(in.Until), Newest: in.Newest,
			AtOnce: int64(plan.AtOnce), WhenBusy: whenBusy(plan.Busy), Total: int64(plan.Count), First: moment(plan.First), Last: moment(plan.Last), Param: plan.Param, Digest: plan.Shown}}, nil
	}
	id, plan, err := a.Manage.Backfills.Start(ctx, p, job, in, body.Digest)
	if err != nil {
		return nil, err
	}
	if id == 0 {
		return nil, preconditionError{problem.New(problem.Conflict, plan.Changed(body.Digest)), http.StatusPreconditionFailed}
	}
	did(ctx)
	b, err := a.Manage.Backfills.Get(ctx, p, job, id)
	if err != nil {
		return nil, err
	}
	return &backfillCreated{Location: address("jobs", job) + "/backfills/" + strconv.FormatInt(id, 10), Body: readBackfill(b)}, nil
}

func (a *API) listBackfills(ctx context.Context, p auth.Principal, job int64) (*listOf[backfillState], error) {
	rows, err := a.Manage.Backfills.Of(ctx, p, job)
	return listed(rows, err, readBackfill)
}
