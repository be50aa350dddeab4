package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// scriptChange is a change of a script that waits for a second person.
type scriptChange struct {
	Version    string     `json:"version" doc:"What is approved or rejected by: it is another one once the text is."`
	Author     string     `json:"author"`
	MadeAt     *time.Time `json:"made_at"`
	Remark     string     `json:"script_remark"`
	Script     string     `json:"script" doc:"The text that waits."`
	Runs       string     `json:"runs" doc:"The text that runs until then."`
	Moved      bool       `json:"moved" doc:"What runs was changed since, so that this cannot be approved."`
	MayApprove bool       `json:"may_approve" doc:"Whether the owner of the token may: whoever made it does not."`
}

// decided names the change that was looked at.
type decided struct {
	Version string `json:"version" minLength:"1" maxLength:"200" doc:"The version of the change that was looked at. If it is another one by now, nothing is done, and the answer is 409."`
}

func (a *API) scriptChanges() {
	const tag = "jobs"
	add(a, op{method: http.MethodGet, path: "/jobs/{id}/script/change", id: "getScriptChange", tag: tag, also: []int{http.StatusConflict}, summary: "Get the change of a job's script that waits for a second person"},
		func(ctx context.Context, p auth.Principal, in *JobID) (*struct{ Body scriptChange }, error) {
			j, c, waits, err := a.Manage.Jobs.ScriptChange(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			if !waits {
				return nil, problem.New(problem.NotFound, "problem.script.none")
			}
			return &struct{ Body scriptChange }{a.readScriptChange(p, j, c)}, nil
		})
	for _, way := range []struct {
		name, id, summary, text string
		do                      func(*manage.Jobs, context.Context, auth.Principal, int64, string) error
	}{
		{"approve", "approveScript", "Approve the change of a script that waits", "It is the script that runs from then on.", (*manage.Jobs).ApproveScript},
		{"reject", "rejectScript", "Reject the change of a script that waits", "Its author takes it back so.", (*manage.Jobs).RejectScript},
	} {
		add(a, op{method: http.MethodPost, path: "/jobs/{id}/script/change/" + way.name, id: way.id, tag: tag, summary: way.summary, text: way.text, status: http.StatusNoContent},
			func(ctx context.Context, p auth.Principal, in *struct {
				JobID
				Body decided
			}) (*struct{}, error) {
				return nil, way.do(a.Manage.Jobs, ctx, p, in.ID, in.Body.Version)
			})
	}
}

func (a *API) readScriptChange(p auth.Principal, j db.Job, c db.ScriptChange) scriptChange {
	return scriptChange{Version: manage.ScriptChangeVersion(c), Author: c.Author, MadeAt: momentOf(c.MadeAt), Remark: c.Remark, Script: c.Source, Runs: string(j.GlueSource),
		Moved: c.Base != manage.GlueVersion(j), MayApprove: a.Manage.Jobs.MayApprove(p, j, c)}
}
