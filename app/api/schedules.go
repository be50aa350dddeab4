package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// ScheduleTimes are moments at which a job is due.
type ScheduleTimes struct {
	Times []time.Time `json:"times" doc:"In the zone of the schedule. Fewer than asked for mean that it ends."`
}

// jobTimes are the times of a job, and those of them at which it will not run.
type jobTimes struct {
	ScheduleTimes
	Held []heldTime `json:"held" doc:"Which of these times fall into a pause as it is known now, so that the job does not run then."`
}

type heldTime struct {
	At       time.Time       `json:"at"`
	Until    *time.Time      `json:"until" doc:"When the pause ends; null: when somebody ends it."`
	Strategy jobspec.Pausing `json:"strategy" enum:"skip,once,all" doc:"What becomes of it: skip, once (one run at the end stands for all that fell in) or all (it has its run at the end)."`
	Reason   string          `json:"reason"`
}

// Count is how many moments are wanted.
type Count struct {
	Count int `query:"count" minimum:"1" maximum:"100" default:"5" doc:"How many."`
}

// scriptVersion is a kept version of a script.
type scriptVersion struct {
	ID     int64      `json:"id"`
	Kind   string     `json:"kind"`
	Remark string     `json:"script_remark"`
	MadeAt *time.Time `json:"made_at"`
	Script *string    `json:"script,omitempty" doc:"Not in lists."`
}

type scriptBody struct {
	Script string `json:"script" minLength:"1" doc:"The text."`
	Remark string `json:"script_remark" minLength:"4" maxLength:"100" doc:"What was changed."`
}

// VersionID names a version of a job's script.
type VersionID struct {
	JobID
	Version int64 `path:"version" minimum:"1" doc:"The number of the version."`
}

func (a *API) schedules() {
	const tag = "jobs"
	add(a, op{method: http.MethodGet, path: "/jobs/{id}/next", id: "getNextTimes", tag: tag, summary: "Get the next times of a job's schedule", names: jobNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			Count
		}) (*struct{ Body jobTimes }, error) {
			j, err := a.Manage.Jobs.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			times, err := a.upcoming(j.Spec(), in.Count.Count)
			if err != nil {
				return nil, err
			}
			book, err := a.Manage.Pauses.Book(ctx)
			out := jobTimes{ScheduleTimes: times.Body, Held: []heldTime{}}
			for _, at := range times.Body.Times {
				if stretch, in := book.At(j.ID, j.JobGroup, j.Tags, at); in {
					out.Held = append(out.Held, heldTime{At: at, Until: moment(stretch.Until), Strategy: stretch.Strategy, Reason: stretch.Pause.Reason})
				}
			}
			return &struct{ Body jobTimes }{out}, err
		})
	add(a, op{method: http.MethodPost, path: "/schedules/preview", id: "previewSchedule", tag: tag, summary: "Say when a schedule would be due", names: jobNames,
		text: "The fields are those of a job; those that are no part of its schedule do not matter."},
		func(ctx context.Context, p auth.Principal, in *struct {
			Count
			Body jobPatch
		}) (*struct{ Body ScheduleTimes }, error) {
			j, err := in.Body.over(blankJob())
			if err != nil {
				return nil, err
			}
			return a.upcoming(j.Normalize(), in.Count.Count)
		})
	add(a, op{method: http.MethodGet, path: "/jobs/{id}/script/versions", id: "listScriptVersions", tag: tag, also: []int{http.StatusConflict}, summary: "List the kept versions of a job's script, the newest first"},
		func(ctx context.Context, p auth.Principal, in *JobID) (*listOf[scriptVersion], error) {
			rows, err := a.Manage.Jobs.GlueVersions(ctx, p, in.ID)
			return listed(rows, err, func(v db.ListGlueVersionsRow) scriptVersion {
				return scriptVersion{ID: v.ID, Kind: string(v.GlueType), Remark: v.GlueRemark, MadeAt: a.wall(v.AddTime)}
			})
		})
	add(a, op{method: http.MethodGet, path: "/jobs/{id}/script/versions/{version}", id: "getScriptVersion", tag: tag, also: []int{http.StatusConflict}, summary: "Get a kept version of a job's script"},
		func(ctx context.Context, p auth.Principal, in *VersionID) (*struct{ Body scriptVersion }, error) {
			v, err := a.Manage.Jobs.GlueVersion(ctx, p, in.ID, in.Version)
			source := string(v.GlueSource)
			return &struct{ Body scriptVersion }{scriptVersion{ID: v.ID, Kind: string(v.GlueType), Remark: v.GlueRemark, MadeAt: a.wall(v.AddTime), Script: &source}}, err
		})
	add(a, op{method: http.MethodPut, path: "/jobs/{id}/script", id: "saveScript", tag: tag, summary: "Save a job's script as a new version", names: jobNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			IfMatch
			Body scriptBody
		}) (*jobAnswer, error) {
			j, err := a.Manage.Jobs.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			version, err := in.current(manage.JobVersion(j))
			if err != nil {
				return nil, err
			}
			script := manage.GlueInput{Source: in.Body.Script, Remark: in.Body.Remark, Version: manage.GlueVersion(j), Job: version}
			if err := a.Manage.Jobs.SaveGlue(ctx, p, in.ID, script); err != nil {
				return nil, in.changed(err)
			}
			did(ctx)
			return a.jobAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/jobs/{id}/script/try", id: "tryScript", tag: tag, summary: "Run a script once before it is saved", status: http.StatusCreated, names: trialNames,
		text: "The run is on record with the cause TRIAL. It is no fire of the job: it has no retry and no children, nobody is alarmed, and no figure counts it."},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			Once
			Body trialBody
		}) (*triggerAnswer, error) {
			run, err := a.Manage.Jobs.TryScript(ctx, p, in.ID, manage.TrialInput{Source: in.Body.Script, Param: in.Body.Param, Address: in.Body.Address})
			if err != nil {
				return nil, err
			}
			return &triggerAnswer{Location: address("runs", run), Body: triggered{Runs: []int64{run}}}, nil
		})
	add(a, op{method: http.MethodPost, path: "/jobs/{id}/script/versions/{version}/restore", id: "restoreScript", tag: tag, summary: "Make a kept version of a job's script the newest again"},
		func(ctx context.Context, p auth.Principal, in *VersionID) (*jobAnswer, error) {
			if err := a.Manage.Jobs.RestoreGlue(ctx, p, in.ID, in.Version); err != nil {
				return nil, err
			}
			did(ctx)
			return a.jobAnswer(ctx, p, in.ID)
		})
}

// trialBody is a script that is run before it is saved.
type trialBody struct {
	Script  string  `json:"script" minLength:"1" maxLength:"16777215" doc:"The text that runs."`
	Param   *string `json:"parameter,omitempty" maxLength:"65535" doc:"The parameter of the run; without it the job's."`
	Address string  `json:"address" minLength:"1" maxLength:"512" doc:"The address of the group that runs it."`
}

var trialNames = map[string]string{jobspec.FieldSource: "script", jobspec.FieldParam: "parameter", manage.FieldRunAddresses: "address"}

func (a *API) upcoming(j jobspec.Job, count int) (*struct{ Body ScheduleTimes }, error) {
	times, err := a.Manage.Jobs.Upcoming(j, count)
	if fault, ok := jobspec.ScheduleError(err); ok {
		return nil, problem.InvalidFields(fault)
	}
	return &struct{ Body ScheduleTimes }{ScheduleTimes{append([]time.Time{}, times...)}}, err
}
