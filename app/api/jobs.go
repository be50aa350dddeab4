package api

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/deadline"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// JobID names the job of an operation.
type JobID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the job."`
}

// jobQuery is the filter of the console's list.
type jobQuery struct {
	Limit   int       `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many at most."`
	Cursor  string    `query:"cursor" pattern:"^[A-Za-z0-9_-]*$" maxLength:"2500" doc:"What the page before said as next; without it the list begins. It is good for the sort it was made with."`
	Sort    string    `query:"sort" enum:"name,-name,next,-next,last,-last" doc:"By name, by next time with the stopped ones last, or by the newest run with those that never ran last; with a minus from the other end. Without it the newest come first."`
	Group   int64     `query:"group_id" minimum:"1" doc:"Only jobs of this group."`
	State   string    `query:"state" enum:"running,stopped,paused,review" doc:"Only jobs whose schedule is started, or is not, or is started and held still by a pause now; or of whose script a change waits for a second person and may be looked at by the owner of the token."`
	Text    string    `query:"text" maxLength:"255" doc:"Only jobs with this in their description, or with this number."`
	Name    string    `query:"description" maxLength:"255" doc:"Only jobs with this description, whole; small letters and capitals may count as the same."`
	Handler string    `query:"handler" maxLength:"255" doc:"Only jobs with this in the name of their handler."`
	Author  string    `query:"author" maxLength:"64" doc:"Only jobs with this in the name of their author."`
	Tag     string    `query:"tag" maxLength:"255" doc:"Only jobs with this tag."`
	Show    string    `query:"show" enum:"failing,late,due" doc:"Only jobs that a number of the dashboard counts: those that fail, that are late, or that are due in the minute of at, or from at to until."`
	At      time.Time `query:"at" doc:"When show=due begins; without until it is the minute that begins then."`
	Until   time.Time `query:"until" doc:"When show=due ends: at most 14 days after at. Of a fixed delay only the next run is known."`
}

type jobAnswer struct {
	ETag string `header:"ETag"`
	Body job
}

type jobCreated struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     job
}

// jobDeletion is what deleting a job comes to.
type jobDeletion struct {
	ID   int64  `json:"id"`
	Name string `json:"description"`
	LostUses
	Done bool `json:"done" doc:"False for a dry run."`
}

type triggerBody struct {
	Param     *string    `json:"parameter,omitempty" maxLength:"65535" doc:"The parameter of this run; without it the job's."`
	Planned   *time.Time `json:"planned,omitempty" doc:"The time that the runs are for: what their parameter and their program mean by planned. Without it now."`
	Addresses []string   `json:"addresses,omitempty" maxItems:"100" doc:"The addresses of the group that run it; without them the job's route decides."`
}

// triggered are runs that were made.
type triggered struct {
	Runs []int64 `json:"runs" doc:"The numbers of the runs: one, or as many as executors for a broadcast that was sent at once."`
}

type triggerAnswer struct {
	Location string `header:"Location"`
	Body     triggered
}

func (a *API) jobs() {
	const tag = "jobs"
	add(a, op{method: http.MethodGet, path: "/jobs", id: "listJobs", tag: tag, summary: "List jobs, the newest first"},
		a.listJobs)
	add(a, op{method: http.MethodGet, path: "/jobs/{id}", id: "getJob", tag: tag, summary: "Get a job"},
		func(ctx context.Context, p auth.Principal, in *JobID) (*jobAnswer, error) {
			return a.jobAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/jobs", id: "createJob", tag: tag, summary: "Create a job, stopped", status: http.StatusCreated, names: jobNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			Once
			Body newJob
		}) (*jobCreated, error) {
			return a.createJob(ctx, p, in.Body)
		})
	add(a, op{method: http.MethodPut, path: "/jobs/{id}", id: "replaceJob", tag: tag, summary: "Replace a job's definition", names: jobNames,
		text: "What is not named is as in a new job, but for a script, which stays. The kind of a job does not change."},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			IfMatch
			Body newJob
		}) (*jobAnswer, error) {
			return a.changeJob(ctx, p, in.ID, in.IfMatch, in.Body.jobBody, true)
		})
	add(a, op{method: http.MethodPatch, path: "/jobs/{id}", id: "patchJob", tag: tag, summary: "Change fields of a job", names: jobNames,
		text: "A JSON merge patch (RFC 7396): what is not named stays, null makes a field what it is in a new job."},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			IfMatch
			Body jobPatch `contentType:"application/merge-patch+json"`
		}) (*jobAnswer, error) {
			return a.changeJob(ctx, p, in.ID, in.IfMatch, in.Body.jobBody, false)
		})
	add(a, op{method: http.MethodDelete, path: "/jobs/{id}", id: "deleteJob", tag: tag, summary: "Delete a job with its runs",
		text: "Runs that are under way go on and are no longer recorded."},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			IfMatch
			DryRun
		}) (*struct{ Body jobDeletion }, error) {
			d, err := a.deleteJob(ctx, p, in.ID, in.IfMatch, in.Dry)
			return &struct{ Body jobDeletion }{d}, err
		})
	add(a, op{method: http.MethodPost, path: "/jobs/{id}/start", id: "startJob", tag: tag, summary: "Start a job's schedule", names: jobNames},
		func(ctx context.Context, p auth.Principal, in *JobID) (*jobAnswer, error) {
			if err := a.Manage.Jobs.Start(ctx, p, in.ID); err != nil {
				return nil, err
			}
			did(ctx)
			return a.jobAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/jobs/{id}/stop", id: "stopJob", tag: tag, summary: "Stop a job's schedule", text: "Runs that are under way go on."},
		func(ctx context.Context, p auth.Principal, in *JobID) (*jobAnswer, error) {
			if err := a.Manage.Jobs.Stop(ctx, p, in.ID); err != nil {
				return nil, err
			}
			did(ctx)
			return a.jobAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/jobs/{id}/release", id: "releaseJob", tag: tag, summary: "Keep a job in no files any more", text: "It may be changed by hand and belong to another source from then on, until files with it are applied again."},
		func(ctx context.Context, p auth.Principal, in *JobID) (*jobAnswer, error) {
			if err := a.Manage.Jobs.Release(ctx, p, in.ID); err != nil {
				return nil, err
			}
			did(ctx)
			return a.jobAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/jobs/{id}/trigger", id: "triggerJob", tag: tag, summary: "Run a job now", status: http.StatusCreated, names: jobNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			Once
			Body *triggerBody
		}) (*triggerAnswer, error) {
			return a.trigger(ctx, p, in.ID, in.Body)
		})
}

// jobStatus is what a list is narrowed to by a state.
func jobStatus(state string) int64 {
	switch state {
	case stateRunning:
		return int64(jobspec.StatusRunning)
	case stateStopped:
		return int64(jobspec.StatusStopped)
	}
	return manage.AnyStatus
}

// jobPlace is a cursor of a sorted list: what the last job of a page was sorted by, so that the next page begins there also if that job
// has fired or gone since.
type jobPlace struct {
	Name    string `json:"n,omitempty"`
	Started bool   `json:"s,omitempty"`
	Next    int64  `json:"t,omitempty"`
	Last    int64  `json:"l,omitempty"`
	ID      int64  `json:"i"`
}

// jobCursor is a place with the sort that it is of.
type jobCursor struct {
	Sort string `json:"o"`
	jobPlace
}

// placeOf is where a job stands in a sort of an order.
func placeOf(j manage.PlacedJob, sort string, order db.JobOrder) string {
	at := jobCursor{sort, jobPlace{ID: j.ID}}
	switch order {
	case db.OrderNewest:
	case db.OrderName:
		at.Name = j.Place.Name
	case db.OrderNext:
		at.Started, at.Next = j.Place.Started, j.Place.Next
	case db.OrderLast:
		at.Last = j.Place.Last
	}
	text, _ := json.Marshal(at) // numbers and a text always can
	return base64.RawURLEncoding.EncodeToString(text)
}

// errOtherSort refuses a cursor that looks like one, and was made for a list in another order, if at all.
var errOtherSort = newParameterError("cursor", "api.error.cursor")

// order puts the order of a list into its filter, and where its page begins.
func (q *jobQuery) order(f *manage.JobFilter) error {
	by, desc := strings.CutPrefix(q.Sort, "-")
	f.Order, f.Desc = db.JobOrder(by), desc
	if f.Order == db.OrderNewest {
		below, err := Page{Cursor: q.Cursor}.after()
		if err != nil {
			return errOtherSort
		}
		f.Below = below
		return nil
	}
	if q.Cursor == "" {
		return nil
	}
	var at jobCursor
	text, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil || json.Unmarshal(text, &at) != nil || at.Sort != q.Sort || at.ID <= 0 || !utf8.ValidString(at.Name) {
		return errOtherSort
	}
	f.After = (*db.JobPlace)(&at.jobPlace)
	return nil
}

func (a *API) listJobs(ctx context.Context, p auth.Principal, in *jobQuery) (*listOf[job], error) {
	f := manage.JobFilter{Group: in.Group, Status: jobStatus(in.State), Text: in.Text, Name: in.Name, Handler: in.Handler, Author: in.Author, Tag: in.Tag,
		Paused: in.State == statePaused, Review: in.State == stateReview, Show: dashboard.Show(in.Show), At: in.At, Until: in.Until, Limit: in.Limit + 1}
	if err := in.order(&f); err != nil {
		return nil, err
	}
	rows, err := a.Manage.Jobs.Following(ctx, p, f)
	if err != nil {
		return nil, err
	}
	held, err := a.Manage.Pauses.Book(ctx)
	if err != nil {
		return nil, err
	}
	page := cut(rows, in.Limit, func(j manage.PlacedJob) int64 { return j.ID })
	if page.Body.Next != "" && f.Order != db.OrderNewest {
		page.Body.Next = placeOf(rows[in.Limit-1], in.Sort, f.Order)
	}
	short := madeOf(page.Body.Items, func(j manage.PlacedJob) db.ListJobsRow { return manage.ListRow(j.Job) })
	deadlines, err := a.Manage.Jobs.Deadlines(ctx, short, &held)
	if err != nil {
		return nil, err
	}
	read := func(j manage.PlacedJob) job { return a.readJob(p, j.Job, &held, deadlines, nil, nil, true) }
	return &listOf[job]{list[job]{madeOf(page.Body.Items, read), page.Body.Next}}, nil
}

// jobAnswer is a job as it is now.
func (a *API) jobAnswer(ctx context.Context, p auth.Principal, id int64) (*jobAnswer, error) {
	row, err := a.Manage.Jobs.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	held, err := a.Manage.Pauses.Book(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := a.usesOf(ctx, p, row)
	if err != nil {
		return nil, err
	}
	kept, err := a.keptOf(ctx, id)
	if err != nil {
		return nil, err
	}
	deadlines := make(map[int64]deadline.Standing)
	if standing, ok, err := a.Manage.Jobs.Deadline(ctx, new(manage.ListRow(row)), &held); err != nil {
		return nil, err
	} else if ok {
		deadlines[id] = standing
	}
	return &jobAnswer{ETag: etag(manage.JobVersion(row)), Body: a.readJob(p, row, &held, deadlines, uses, kept, false)}, nil
}

// blankJob is what a new job is where a request does not say.
func blankJob() jobspec.Job { return jobspec.Job{ScheduleType: jobspec.ScheduleNone}.WithDefaults() }

func (a *API) createJob(ctx context.Context, p auth.Principal, body newJob) (*jobCreated, error) {
	j, err := body.over(blankJob())
	if err != nil {
		return nil, err
	}
	id, err := a.Manage.Jobs.Create(ctx, p, manage.JobInput{Group: body.group(0), Job: j})
	if err != nil {
		return nil, err
	}
	did(ctx)
	answer, err := a.jobAnswer(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &jobCreated{Location: address("jobs", id), ETag: answer.ETag, Body: answer.Body}, nil
}

func (a *API) changeJob(ctx context.Context, p auth.Principal, id int64, match IfMatch, body jobBody, whole bool) (*jobAnswer, error) {
	old, err := a.Manage.Jobs.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	version := manage.JobVersion(old)
	if _, err := match.current(version); err != nil {
		return nil, err
	}
	spec := old.Spec()
	if whole {
		spec = blankJob()
		spec.Glue, spec.GlueSource, spec.GlueRemark = old.GlueType, string(old.GlueSource), old.Spec().GlueRemark
	}
	spec, err = body.over(spec)
	if err != nil {
		return nil, err
	}
	if body.has(jobspec.Named(jobspec.FieldGlue).File) && spec.Glue != old.GlueType {
		return nil, problem.InvalidFields(problem.Field{Name: jobspec.FieldGlue, Key: "api.error.kind", Args: []any{"Value", old.GlueType}})
	}
	if spec.Glue == wire.GlueBean && spec.GlueSource != "" && spec.GlueSource != string(old.GlueSource) {
		return nil, problem.InvalidFields(problem.Field{Name: jobspec.FieldSource, Key: "problem.glue.bean"})
	}
	if err := a.Manage.Jobs.Update(ctx, p, id, manage.JobInput{Job: spec, Group: body.group(old.JobGroup), Version: version}); err != nil {
		return nil, match.changed(err)
	}
	did(ctx)
	return a.jobAnswer(ctx, p, id)
}

func (a *API) deleteJob(ctx context.Context, p auth.Principal, id int64, match IfMatch, dry bool) (d jobDeletion, err error) {
	row, err := a.Manage.Jobs.Need(ctx, p, id, auth.RightEdit)
	if err != nil {
		return d, err
	}
	version, err := match.current(manage.JobVersion(row))
	if err != nil {
		return d, err
	}
	d = jobDeletion{ID: id, Name: row.JobDesc, Done: !dry}
	used, err := a.Manage.Jobs.UsedBy(ctx, p, row)
	d.LostUses = readLostUses(used)
	if err != nil || dry {
		return d, err
	}
	return d, match.changed(a.Manage.Jobs.DeleteVersion(ctx, p, id, version))
}

func (a *API) trigger(ctx context.Context, p auth.Principal, id int64, body *triggerBody) (*triggerAnswer, error) {
	in := manage.RunInput{Type: jobspec.TriggerAPI}
	if body != nil {
		in.Param, in.Addresses = body.Param, strings.Join(body.Addresses, "\n")
		if body.Planned != nil {
			in.Planned = *body.Planned
		}
	}
	runs, err := a.Manage.Jobs.Trigger(ctx, p, id, in)
	if err != nil {
		return nil, err
	}
	return triggeredRuns(runs), nil
}

func triggeredRuns(runs []int64) *triggerAnswer {
	out := &triggerAnswer{Body: triggered{Runs: append([]int64{}, runs...)}}
	if len(runs) > 0 {
		out.Location = address("runs", runs[0])
	}
	return out
}

// address is where a resource is.
func address(resource string, id int64) string {
	return Prefix + "/" + resource + "/" + strconv.FormatInt(id, 10)
}

// wall is a moment that the database has without its zone.
func (a *API) wall(at sql.NullTime) *time.Time {
	if !at.Valid {
		return nil
	}
	return moment(a.Pool.FromWall(at.Time))
}
