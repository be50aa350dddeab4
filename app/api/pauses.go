package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// PauseID names the pause of an operation.
type PauseID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the pause."`
}

// pauseQuery narrows the list of pauses.
type pauseQuery struct {
	Page
	State string `query:"state" enum:"active,planned,between,over" doc:"Only pauses in this state."`
}

// pauseJSON is a pause as it is read.
type pauseJSON struct {
	ID       int64              `json:"id" minimum:"1"`
	Scope    jobspec.PauseScope `json:"scope" enum:"job,group,tag,all" doc:"What it is about."`
	Target   int64              `json:"target,omitempty" doc:"The number of the job or the group."`
	GroupID  int64              `json:"group_id,omitempty" doc:"The group, also of a job."`
	Tag      string             `json:"tag,omitempty" doc:"The tag, with the scope tag."`
	Name     string             `json:"name,omitempty" doc:"What the job or group is called."`
	State    manage.PauseState  `json:"state" enum:"active,planned,between,over" doc:"active: it holds jobs back now; between: a repeated one, between its windows."`
	From     time.Time          `json:"from"`
	Until    *time.Time         `json:"until" doc:"When it is over for good; null: when somebody ends it."`
	Ends     *time.Time         `json:"window_ends_at" doc:"When the window that it is in ends; null: it is in none, or nobody knows."`
	Next     *time.Time         `json:"next_window_at" doc:"When its next window begins."`
	Strategy jobspec.Pausing    `json:"strategy" enum:"skip,once,all" doc:"What becomes of the fires that fall in: skip, once (one run at the end stands for them) or all (each has its run at the end)."`
	Cron     string             `json:"cron,omitempty" doc:"When windows begin, of a repeated one."`
	Length   int64              `json:"length_seconds,omitempty" doc:"How long a window is."`
	Zone     string             `json:"time_zone,omitempty"`
	Reason   string             `json:"reason"`
	By       string             `json:"made_by"`
	MadeAt   time.Time          `json:"made_at"`
	EndedBy  string             `json:"ended_by,omitempty" doc:"Who ended it early."`
	EndedAt  *time.Time         `json:"ended_at"`
}

// newPause is a pause as somebody wants it.
type newPause struct {
	Scope    jobspec.PauseScope `json:"scope" enum:"job,group,tag,all" doc:"What it is about. A tag and everything take an administrator."`
	Target   int64              `json:"target,omitempty" minimum:"1" doc:"The number of the job or the group."`
	Tag      string             `json:"tag,omitempty" maxLength:"255" doc:"The tag, with the scope tag."`
	From     *time.Time         `json:"from,omitempty" doc:"When it begins; without it now."`
	Until    *time.Time         `json:"until,omitempty" doc:"When it ends; without it when somebody ends it."`
	Strategy jobspec.Pausing    `json:"strategy" enum:"skip,once,all" doc:"What becomes of the fires that fall in: skip, once (one run at the end stands for them) or all (each has its run at the end)."`
	Cron     string             `json:"cron,omitempty" maxLength:"128" doc:"When windows begin; without it the pause is one window."`
	Length   int64              `json:"length_seconds,omitempty" minimum:"0" maximum:"31622400" doc:"How long a window is, with cron."`
	Zone     string             `json:"time_zone,omitempty" maxLength:"64" doc:"The zone of cron; without it that of the installation."`
	Reason   string             `json:"reason" maxLength:"255" doc:"Why. Whoever sees a job reads it."`
}

type pauseAnswer struct {
	ETag string `header:"ETag"`
	Body pauseJSON
}

type pauseCreated struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     pauseJSON
}

// pauseVersion changes when somebody ends a pause, which is all that can be changed of one.
func pauseVersion(p manage.Pause) string {
	if p.EndedAt.IsZero() {
		return "0"
	}
	return strconv.FormatInt(p.EndedAt.UnixMilli(), 10)
}

func readPause(p manage.Pause) pauseJSON {
	return pauseJSON{
		ID: p.ID, Scope: p.Scope, Target: p.Target, GroupID: p.Group, Tag: p.Tag, Name: p.Name, State: p.State, From: *moment(p.From), Until: moment(p.Until), Ends: moment(p.Ends), Next: moment(p.Next),
		Strategy: p.Strategy, Cron: p.Cron, Length: int64(p.Length / time.Second), Zone: p.ZoneID, Reason: p.Reason, By: p.By, MadeAt: *moment(p.MadeAt), EndedBy: p.EndedBy, EndedAt: moment(p.EndedAt),
	}
}

func (a *API) pauseAnswer(ctx context.Context, p auth.Principal, id int64) (*pauseAnswer, error) {
	pause, err := a.Manage.Pauses.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &pauseAnswer{ETag: etag(pauseVersion(pause)), Body: readPause(pause)}, nil
}

// pauseNames are what the fields of a pause are called in JSON.
var pauseNames = map[string]string{manage.PauseLength: "length_seconds", manage.PauseZone: "time_zone"}

func (a *API) pauses() {
	const tag = "pauses"
	add(a, op{method: http.MethodGet, path: "/pauses", id: "listPauses", tag: tag, summary: "List pauses, the newest first",
		text: "Those that go on or are planned, and those that were over lately: of everything and of the groups that you may see; of tags for administrators."},
		func(ctx context.Context, p auth.Principal, in *pauseQuery) (*listOf[pauseJSON], error) {
			below, err := in.after()
			if err != nil {
				return nil, err
			}
			rows, err := a.Manage.Pauses.List(ctx, p)
			if err != nil {
				return nil, err
			}
			items := []pauseJSON{}
			for _, row := range rows {
				if (below == 0 || row.ID < below) && (in.State == "" || in.State == string(row.State)) {
					items = append(items, readPause(row))
				}
			}
			return cut(items, in.Limit, func(p pauseJSON) int64 { return p.ID }), nil
		})
	add(a, op{method: http.MethodGet, path: "/pauses/{id}", id: "getPause", tag: tag, summary: "Get a pause"},
		func(ctx context.Context, p auth.Principal, in *PauseID) (*pauseAnswer, error) {
			return a.pauseAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/pauses", id: "createPause", tag: tag, summary: "Pause a job, a group, a tag or everything", status: http.StatusCreated,
		text: "Schedules hold still from then on. Runs that are under way go on, and so does what people, programs and other jobs start.", names: pauseNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			Once
			Body newPause
		}) (*pauseCreated, error) {
			b := in.Body
			want := manage.PauseInput{Scope: b.Scope, Target: b.Target, Tag: b.Tag, Strategy: b.Strategy, Cron: b.Cron, Length: time.Duration(b.Length) * time.Second, Zone: b.Zone, Reason: b.Reason}
			if b.From != nil {
				want.From = *b.From
			}
			if b.Until != nil {
				want.Until = *b.Until
			}
			id, err := a.Manage.Pauses.Create(ctx, p, want)
			if err != nil {
				return nil, err
			}
			did(ctx)
			answer, err := a.pauseAnswer(ctx, p, id)
			if err != nil {
				return nil, err
			}
			return &pauseCreated{Location: address("pauses", id), ETag: answer.ETag, Body: answer.Body}, nil
		})
	add(a, op{method: http.MethodPost, path: "/pauses/{id}/end", id: "endPause", tag: tag, summary: "End a pause now, or take back a planned one",
		text: "What fell in until now goes by its strategy."},
		func(ctx context.Context, p auth.Principal, in *struct {
			PauseID
			IfMatch
		}) (*pauseAnswer, error) {
			old, err := a.Manage.Pauses.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			if _, err := in.current(pauseVersion(old)); err != nil {
				return nil, err
			}
			if err := a.Manage.Pauses.End(ctx, p, in.ID); err != nil {
				return nil, in.changed(err)
			}
			did(ctx)
			return a.pauseAnswer(ctx, p, in.ID)
		})
}
