package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// GroupID names the group of an operation.
type GroupID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the group."`
}

// The ways in which a group gets its addresses.
const (
	groupAuto   = "auto"
	groupManual = "manual"
)

// GroupOptions are what is decided for a group beyond its name and its addresses.
type GroupOptions struct {
	IdleIsLost   bool `json:"idle_is_lost,omitempty" doc:"Give up a run without a result once its executor has nothing of the job any more."`
	TokenManages bool `json:"token_manages,omitempty" doc:"Let the group's own access token manage its jobs through XXL-JOB's job API."`
	ScriptReview bool `json:"script_review,omitempty" doc:"A change of a script waits for a second person."`
	// KeepOutput is empty for "as the settings say".
	KeepOutput jobspec.Keep `json:"keep_output,omitempty" enum:"INHERIT,ALL,FAILED,NONE" doc:"Of which runs the output is kept beyond the executor, unless a job says so; INHERIT: as the settings say."`
	MaxRunning int          `json:"max_running,omitempty" minimum:"0" maximum:"99999" doc:"How many runs of all its jobs there may be at a time, in the whole cluster. 0: no limit."`
}

// newGroup is a group as somebody wants it.
type newGroup struct {
	AppName   string   `json:"app_name" minLength:"1" maxLength:"64" doc:"The name under which executors register."`
	Title     string   `json:"title" minLength:"1" maxLength:"64" doc:"What people call it."`
	Type      string   `json:"type,omitempty" enum:"auto,manual" default:"auto" doc:"Whether executors register, or somebody says where they are."`
	Addresses []string `json:"addresses,omitempty" doc:"Where the executors of a manual group are."`
	GroupOptions
}

// groupPatch is a part of one.
type groupPatch struct {
	AppName      *string       `json:"app_name,omitempty" minLength:"1" maxLength:"64"`
	Title        *string       `json:"title,omitempty" minLength:"1" maxLength:"64"`
	Type         *string       `json:"type,omitempty" enum:"auto,manual"`
	Addresses    *[]string     `json:"addresses,omitempty"`
	IdleIsLost   *bool         `json:"idle_is_lost,omitempty"`
	TokenManages *bool         `json:"token_manages,omitempty"`
	ScriptReview *bool         `json:"script_review,omitempty"`
	KeepOutput   *jobspec.Keep `json:"keep_output,omitempty" enum:"INHERIT,ALL,FAILED,NONE"`
	MaxRunning   *int          `json:"max_running,omitempty" minimum:"0" maximum:"99999"`
}

// group is a group of executors, which run the same jobs.
type group struct {
	ID           int64        `json:"id" minimum:"1"`
	AppName      string       `json:"app_name"`
	Title        string       `json:"title"`
	Type         string       `json:"type" enum:"auto,manual"`
	Addresses    []string     `json:"addresses" doc:"Of a manual group as they were typed; of another those that registered."`
	IdleIsLost   bool         `json:"idle_is_lost"`
	TokenManages bool         `json:"token_manages"`
	ScriptReview bool         `json:"script_review"`
	KeepOutput   jobspec.Keep `json:"keep_output" enum:"INHERIT,ALL,FAILED,NONE"`
	MaxRunning   int          `json:"max_running" doc:"How many runs of all its jobs there may be at a time, in the whole cluster. 0: no limit."`
	UpdatedAt    *time.Time   `json:"updated_at"`
}

// groupAnswer is a group as it is now.
type groupAnswer struct {
	ETag string `header:"ETag"`
	Body group
}

type groupCreated struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     group
}

// groupDeletion is what deleting a group comes to.
type groupDeletion struct {
	ID      int64  `json:"id"`
	AppName string `json:"app_name"`
	Jobs    int64  `json:"jobs" doc:"How many jobs belong to it. A group with jobs is not deleted."`
	Done    bool   `json:"done" doc:"False for a dry run."`
}

func (a *API) groups() {
	const tag = "groups"
	add(a, op{method: http.MethodGet, path: "/groups", id: "listGroups", tag: tag, summary: "List the groups of executors, by number"},
		func(ctx context.Context, p auth.Principal, in *struct{ Page }) (*listOf[group], error) {
			return a.listGroups(ctx, p, in.Page)
		})
	add(a, op{method: http.MethodGet, path: "/groups/{id}", id: "getGroup", tag: tag, summary: "Get a group"},
		func(ctx context.Context, p auth.Principal, in *GroupID) (*groupAnswer, error) {
			return a.groupAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/groups", id: "createGroup", tag: tag, summary: "Create a group", status: http.StatusCreated},
		func(ctx context.Context, p auth.Principal, in *struct {
			Once
			Body newGroup
		}) (*groupCreated, error) {
			id, err := a.Manage.Groups.Create(ctx, p, in.Body.input(""))
			if err != nil {
				return nil, err
			}
			did(ctx)
			answer, err := a.groupAnswer(ctx, p, id)
			if err != nil {
				return nil, err
			}
			return &groupCreated{Location: address("groups", id), ETag: answer.ETag, Body: answer.Body}, nil
		})
	add(a, op{method: http.MethodPut, path: "/groups/{id}", id: "replaceGroup", tag: tag, summary: "Replace what is decided for a group",
		text: "What is not named is as in a new group. A group that executors register with keeps its addresses."},
		func(ctx context.Context, p auth.Principal, in *struct {
			GroupID
			IfMatch
			Body newGroup
		}) (*groupAnswer, error) {
			return a.changeGroup(ctx, p, in.ID, in.IfMatch, func(newGroup) newGroup { return in.Body })
		})
	add(a, op{method: http.MethodPatch, path: "/groups/{id}", id: "patchGroup", tag: tag, summary: "Change fields of a group"},
		func(ctx context.Context, p auth.Principal, in *struct {
			GroupID
			IfMatch
			Body groupPatch `contentType:"application/merge-patch+json"`
		}) (*groupAnswer, error) {
			return a.changeGroup(ctx, p, in.ID, in.IfMatch, in.Body.over)
		})
	add(a, op{method: http.MethodDelete, path: "/groups/{id}", id: "deleteGroup", tag: tag, summary: "Delete a group that has no jobs"},
		func(ctx context.Context, p auth.Principal, in *struct {
			GroupID
			IfMatch
			DryRun
		}) (*struct{ Body groupDeletion }, error) {
			d, err := a.deleteGroup(ctx, p, in.ID, in.IfMatch, in.Dry)
			return &struct{ Body groupDeletion }{d}, err
		})
}

func (a *API) listGroups(ctx context.Context, p auth.Principal, in Page) (*listOf[group], error) {
	after, err := in.after()
	if err != nil {
		return nil, err
	}
	rows, err := a.Manage.Groups.List(ctx, p)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(x, y db.Group) int { return cmp.Compare(x.ID, y.ID) })
	options, err := a.Manage.Groups.AllOptions(ctx)
	if err != nil {
		return nil, err
	}
	var items []group
	for _, row := range following(rows, after, in.Limit, func(g db.Group) int64 { return g.ID }) {
		items = append(items, a.readGroup(row, options(row.AppName)))
	}
	return cut(items, in.Limit, func(g group) int64 { return g.ID }), nil
}

func (a *API) readGroup(row db.Group, options manage.GroupOptions) group {
	g := group{ID: row.ID, AppName: row.AppName, Title: row.Title, Type: groupAuto, Addresses: append([]string{}, manage.GroupAddressList(row)...),
		IdleIsLost: options.IdleIsLost, TokenManages: options.TokenManages, ScriptReview: options.ScriptReview, KeepOutput: cmp.Or(options.KeepOutput, jobspec.KeepInherit),
		MaxRunning: options.MaxRunning, UpdatedAt: moment(a.Manage.Groups.Updated(row))}
	if row.AddressType == manage.AddressManual {
		g.Type = groupManual
	}
	return g
}

// readGroupNow reads a group with its options and its version.
func (a *API) readGroupNow(ctx context.Context, p auth.Principal, id int64) (group, string, error) {
	row, err := a.Manage.Groups.Get(ctx, p, id)
	if err != nil {
		return group{}, "", err
	}
	options, err := a.Manage.Groups.Options(ctx, row.AppName)
	return a.readGroup(row, options), manage.GroupVersion(row, options), err
}

func (a *API) groupAnswer(ctx context.Context, p auth.Principal, id int64) (*groupAnswer, error) {
	g, version, err := a.readGroupNow(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &groupAnswer{ETag: etag(version), Body: g}, nil
}

// input is a group as its use case takes it.
func (g newGroup) input(version string) manage.GroupInput {
	return manage.GroupInput{AppName: g.AppName, Title: g.Title, Manual: g.Type == groupManual, Addresses: strings.Join(g.Addresses, "\n"),
		GroupOptions: manage.GroupOptions(g.GroupOptions), Version: version, AnyName: true}
}

// over writes what a patch names over a group.
func (p groupPatch) over(g newGroup) newGroup {
	set(&g.AppName, p.AppName)
	set(&g.Title, p.Title)
	set(&g.Type, p.Type)
	set(&g.Addresses, p.Addresses)
	set(&g.IdleIsLost, p.IdleIsLost)
	set(&g.TokenManages, p.TokenManages)
	set(&g.ScriptReview, p.ScriptReview)
	set(&g.KeepOutput, p.KeepOutput)
	set(&g.MaxRunning, p.MaxRunning)
	return g
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

func (a *API) changeGroup(ctx context.Context, p auth.Principal, id int64, match IfMatch, change func(newGroup) newGroup) (*groupAnswer, error) {
	old, version, err := a.readGroupNow(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if _, err := match.current(version); err != nil {
		return nil, err
	}
	now := change(newGroup{AppName: old.AppName, Title: old.Title, Type: old.Type, Addresses: old.Addresses,
		GroupOptions: GroupOptions{IdleIsLost: old.IdleIsLost, TokenManages: old.TokenManages, ScriptReview: old.ScriptReview, KeepOutput: old.KeepOutput, MaxRunning: old.MaxRunning}})
	if err := a.Manage.Groups.Update(ctx, p, id, now.input(version)); err != nil {
		return nil, match.changed(err)
	}
	did(ctx)
	return a.groupAnswer(ctx, p, id)
}

func (a *API) deleteGroup(ctx context.Context, p auth.Principal, id int64, match IfMatch, dry bool) (d groupDeletion, err error) {
	g, version, err := a.readGroupNow(ctx, p, id)
	if err != nil {
		return d, err
	}
	if !p.Admin { // for a dry run
		return d, &problem.Error{Kind: problem.Forbidden}
	}
	if version, err = match.current(version); err != nil {
		return d, err
	}
	d = groupDeletion{ID: id, AppName: g.AppName, Done: !dry}
	if d.Jobs, err = a.Manage.Groups.CountJobs(ctx, id); err != nil || dry {
		return d, err
	}
	return d, match.changed(a.Manage.Groups.DeleteVersion(ctx, p, id, version))
}
