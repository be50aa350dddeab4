package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
)

// UserID names the user of an operation.
type UserID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the user."`
}

// TeamID names the team of an operation.
type TeamID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the team."`
}

// The roles and the states of a user.
const (
	roleAdmin     = "admin"
	roleAuditor   = "auditor"
	roleUser      = "user"
	stateActive   = "active"
	stateDisabled = "disabled"
	stateLeft     = "left"
)

// groupRights are what somebody may do in a group.
type groupRights struct {
	Group  int64    `json:"group_id" minimum:"1"`
	Rights []string `json:"rights" enum:"view,run,schedule,edit,glue" doc:"Each of them includes view."`
}

// named is a number with its name.
type named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// user is somebody who may log in, or a program that has tokens.
type user struct {
	ID         int64         `json:"id" minimum:"1"`
	Name       string        `json:"name"`
	Role       string        `json:"role" enum:"admin,auditor,user"`
	State      string        `json:"state" enum:"active,disabled,left" doc:"Left: the directory of the user does not let them in any more, and until it does their tokens do not count."`
	Rights     []groupRights `json:"rights" doc:"Of a user who is no administrator, without those that teams give."`
	Teams      []named       `json:"teams"`
	Provider   string        `json:"provider" doc:"Who vouches for them, and says at each sign-in what they may do; empty: they have a password here."`
	BreakGlass bool          `json:"break_glass" doc:"An administrator who may use the password when others may not."`
	Service    bool          `json:"service" doc:"A service account: a program, which has tokens and no password."`
	Second     int64         `json:"second_factors" doc:"How many second factors they have here: apps and passkeys. Whoever logs in at a provider of OpenID Connect shows theirs there."`
	LoginAt    *time.Time    `json:"login_at"`
	Password   string        `json:"password,omitempty" doc:"A password that was made up here. It is told this once."`
}

// newUser is a user as somebody wants one.
type newUser struct {
	Name       string        `json:"name" pattern:"^[a-z][a-z0-9]{3,19}$" doc:"Small letters and digits. It does not change."`
	Password   string        `json:"password,omitempty" maxLength:"200" doc:"Without one, one is made up and answered."`
	Role       string        `json:"role,omitempty" enum:"admin,auditor,user" default:"user"`
	State      string        `json:"state,omitempty" enum:"active,disabled" default:"active"`
	Rights     []groupRights `json:"rights,omitempty"`
	BreakGlass bool          `json:"break_glass,omitempty" doc:"Of an administrator."`
	Service    bool          `json:"service,omitempty" doc:"A service account. It has no password, and at first no rights."`
}

// userPatch is a part of one.
type userPatch struct {
	Password   *string        `json:"password,omitempty" minLength:"1" maxLength:"200" doc:"A new one. Whoever is logged in with the old one no longer is."`
	Role       *string        `json:"role,omitempty" enum:"admin,auditor,user"`
	State      *string        `json:"state,omitempty" enum:"active,disabled"`
	Rights     *[]groupRights `json:"rights,omitempty"`
	BreakGlass *bool          `json:"break_glass,omitempty"`
}

type userAnswer struct {
	ETag string `header:"ETag"`
	Body user
}

type userCreated struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     user
}

// deletion is what deleting something with a name comes to.
type deletion struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Done bool   `json:"done" doc:"False for a dry run."`
}

type deletionAnswer struct{ Body deletion }

// delete does what a request to delete asks for, unless it is a dry run: both are refused when it was made for another version.
func (dry DryRun) delete(match IfMatch, version string, d deletion, do func(version string) error) (*deletionAnswer, error) {
	version, err := match.current(version)
	if err == nil && !dry.Dry {
		err = match.changed(do(version))
	}
	d.Done = !dry.Dry
	return &deletionAnswer{d}, err
}

// member is somebody in a team.
type member struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	State string `json:"state" enum:"active,disabled"`
	Ruled bool   `json:"ruled" doc:"A rule of the sign-in file put them there, and takes them out."`
}

// team is a named set of users with rights.
type team struct {
	ID      int64         `json:"id" minimum:"1"`
	Name    string        `json:"name"`
	Members []member      `json:"members"`
	Rights  []groupRights `json:"rights" doc:"What its members may do, beside what they may as themselves."`
}

// newTeam is a team as somebody wants it.
type newTeam struct {
	Name    string        `json:"name" minLength:"1" maxLength:"50"`
	Members []int64       `json:"member_ids,omitempty" doc:"The numbers of users. Those whom a rule put there stay."`
	Rights  []groupRights `json:"rights,omitempty"`
}

// teamNames are what the fields of a team are called in JSON.
var teamNames = map[string]string{manage.TeamMembers: "member_ids"}

type teamAnswer struct {
	ETag string `header:"ETag"`
	Body team
}

type teamCreated struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     team
}

func (a *API) users() {
	const tag = "users"
	add(a, op{method: http.MethodGet, path: "/users", id: "listUsers", tag: tag, summary: "List the users, by number"},
		func(ctx context.Context, p auth.Principal, in *struct{ Page }) (*listOf[user], error) {
			rows, err := a.Manage.Users.List(ctx, p)
			return byNumber(in.Page, rows, err, func(u manage.User) int64 { return u.ID }, readUser)
		})
	add(a, op{method: http.MethodGet, path: "/users/{id}", id: "getUser", tag: tag, summary: "Get a user"},
		func(ctx context.Context, p auth.Principal, in *UserID) (*userAnswer, error) {
			return a.userAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/users", id: "createUser", tag: tag, summary: "Create a user, or a service account", status: http.StatusCreated,
		text: "It takes no Idempotency-Key: a password that is answered is kept nowhere. A name that is taken is refused."},
		func(ctx context.Context, p auth.Principal, in *struct{ Body newUser }) (*userCreated, error) {
			return a.createUser(ctx, p, in.Body)
		})
	add(a, op{method: http.MethodPatch, path: "/users/{id}", id: "patchUser", tag: tag, summary: "Change what a user may, whether they may log in, or their password",
		text: "Nobody changes themselves, and one administrator always stays."},
		func(ctx context.Context, p auth.Principal, in *struct {
			UserID
			IfMatch
			Body userPatch `contentType:"application/merge-patch+json"`
		}) (*userAnswer, error) {
			return a.patchUser(ctx, p, in.ID, in.IfMatch, in.Body)
		})
	add(a, op{method: http.MethodDelete, path: "/users/{id}", id: "deleteUser", tag: tag, summary: "Delete a user with their rights and sessions", text: "Their tokens count no more."},
		func(ctx context.Context, p auth.Principal, in *struct {
			UserID
			IfMatch
			DryRun
		}) (*deletionAnswer, error) {
			u, err := a.Manage.Users.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			return in.delete(in.IfMatch, u.Version(), deletion{ID: in.ID, Name: u.Name}, func(version string) error {
				return a.Manage.Users.DeleteVersion(ctx, p, in.ID, version)
			})
		})
	add(a, op{method: http.MethodPost, path: "/users/{id}/sign-out", id: "signOutUser", tag: tag, summary: "End the sessions of a user", text: "Tokens go on; they are revoked one by one."},
		func(ctx context.Context, p auth.Principal, in *UserID) (*userAnswer, error) {
			if _, err := a.userAnswer(ctx, p, in.ID); err != nil { // who may not have the answer has nothing done: one's own sessions one ends in the console
				return nil, err
			}
			if err := a.Manage.Users.SignOut(ctx, p, in.ID); err != nil {
				return nil, err
			}
			return a.userAnswer(ctx, p, in.ID)
		})
}

func readUser(u manage.User) user {
	out := user{ID: u.ID, Name: u.Name, Role: roleUser, State: userState(u), Rights: readRights(u.Rights), Teams: []named{}, Provider: u.Provider, BreakGlass: u.BreakGlass,
		Service: u.Service, Second: u.Second, LoginAt: momentOf(u.LoginAt)}
	if u.Auditor {
		out.Role = roleAuditor
	}
	if u.Admin {
		out.Role, out.Rights = roleAdmin, []groupRights{}
	}
	for _, t := range u.Teams {
		out.Teams = append(out.Teams, named{t.ID, t.Name})
	}
	return out
}

func userState(u manage.User) string {
	if u.Left {
		return stateLeft
	}
	return activeOr(u.Disabled)
}

func activeOr(disabled bool) string {
	if disabled {
		return stateDisabled
	}
	return stateActive
}

// readRights are rights in the order of their groups.
func readRights(rights map[int64]auth.Rights) []groupRights {
	list := []groupRights{}
	for _, id := range slices.Sorted(maps.Keys(rights)) {
		if names := auth.RightNames(rights[id]); len(names) > 0 {
			list = append(list, groupRights{id, names})
		}
	}
	return list
}

// rightsOf are the rights that a list names.
func rightsOf(list []groupRights) map[int64]auth.Rights {
	rights := make(map[int64]auth.Rights)
	for _, g := range list {
		for _, name := range g.Rights {
			rights[g.Group] |= auth.RightNamed(name).Normal()
		}
	}
	return rights
}

func (a *API) userAnswer(ctx context.Context, p auth.Principal, id int64) (*userAnswer, error) {
	u, err := a.Manage.Users.Get(ctx, p, id)
	return &userAnswer{ETag: etag(u.Version()), Body: readUser(u)}, err
}

func (a *API) createUser(ctx context.Context, p auth.Principal, in newUser) (*userCreated, error) {
	if in.Service {
		return a.createAccount(ctx, p, in)
	}
	id, password, err := a.Manage.Users.Create(ctx, p, manage.UserInput{Name: in.Name, Password: in.Password, Admin: in.Role == roleAdmin, Auditor: in.Role == roleAuditor, Disabled: in.State == stateDisabled,
		Rights: rightsOf(in.Rights), BreakGlass: in.BreakGlass})
	if err != nil {
		return nil, err
	}
	out, err := a.userCreated(ctx, p, id)
	if err != nil {
		return nil, err
	}
	out.Body.Password = password
	return out, nil
}

// createAccount makes a service account. What else a user has is given to it afterwards, as to every user.
func (a *API) createAccount(ctx context.Context, p auth.Principal, in newUser) (*userCreated, error) {
	for name, used := range map[string]bool{manage.UserPassword: in.Password != "", "rights": len(in.Rights) > 0, "break_glass": in.BreakGlass, "role": in.Role == roleAdmin || in.Role == roleAuditor, "state": in.State == stateDisabled} {
		if used {
			return nil, problem.InvalidFields(problem.Field{Name: name, Key: "api.error.service"})
		}
	}
	id, err := a.Manage.APITokens.CreateAccount(ctx, p, in.Name, false)
	if err != nil {
		return nil, err
	}
	return a.userCreated(ctx, p, id)
}

func (a *API) userCreated(ctx context.Context, p auth.Principal, id int64) (*userCreated, error) {
	did(ctx)
	answer, err := a.userAnswer(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &userCreated{Location: address("users", id), ETag: answer.ETag, Body: answer.Body}, nil
}

func (a *API) patchUser(ctx context.Context, p auth.Principal, id int64, match IfMatch, patch userPatch) (*userAnswer, error) {
	u, err := a.Manage.Users.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if _, err := match.current(u.Version()); err != nil {
		return nil, err
	}
	in := manage.UserInput{Admin: u.Admin, Auditor: u.Auditor, Disabled: u.Disabled, Left: u.Left, Rights: u.Rights, BreakGlass: u.BreakGlass, Version: u.Version()}
	if patch.Role != nil {
		in.Admin, in.Auditor = *patch.Role == roleAdmin, *patch.Role == roleAuditor
	}
	if patch.State != nil {
		in.Disabled, in.Left = *patch.State == stateDisabled, false
	}
	if patch.Rights != nil {
		in.Rights = rightsOf(*patch.Rights)
	}
	set(&in.Password, patch.Password)
	set(&in.BreakGlass, patch.BreakGlass)
	if err := a.Manage.Users.Update(ctx, p, id, in); err != nil {
		return nil, match.changed(err)
	}
	did(ctx)
	return a.userAnswer(ctx, p, id)
}

func (a *API) teams() {
	const tag = "teams"
	add(a, op{method: http.MethodGet, path: "/teams", id: "listTeams", tag: tag, summary: "List the teams, by number"},
		func(ctx context.Context, p auth.Principal, in *struct{ Page }) (*listOf[team], error) {
			rows, err := a.Manage.Teams.List(ctx, p)
			return byNumber(in.Page, rows, err, func(t manage.Team) int64 { return t.ID }, readTeam)
		})
	add(a, op{method: http.MethodGet, path: "/teams/{id}", id: "getTeam", tag: tag, summary: "Get a team"},
		func(ctx context.Context, p auth.Principal, in *TeamID) (*teamAnswer, error) {
			return a.teamAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/teams", id: "createTeam", tag: tag, summary: "Create a team", status: http.StatusCreated, names: teamNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			Once
			Body newTeam
		}) (*teamCreated, error) {
			id, err := a.Manage.Teams.Save(ctx, p, 0, in.Body.input(""))
			if err != nil {
				return nil, err
			}
			did(ctx)
			answer, err := a.teamAnswer(ctx, p, id)
			if err != nil {
				return nil, err
			}
			return &teamCreated{Location: address("teams", id), ETag: answer.ETag, Body: answer.Body}, nil
		})
	add(a, op{method: http.MethodPut, path: "/teams/{id}", id: "replaceTeam", tag: tag, summary: "Replace a team's name, members and rights", names: teamNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			TeamID
			IfMatch
			Body newTeam
		}) (*teamAnswer, error) {
			old, err := a.Manage.Teams.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			if _, err := in.current(old.Version()); err != nil {
				return nil, err
			}
			if _, err := a.Manage.Teams.Save(ctx, p, in.ID, in.Body.input(old.Version())); err != nil {
				return nil, in.changed(err)
			}
			did(ctx)
			return a.teamAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodDelete, path: "/teams/{id}", id: "deleteTeam", tag: tag, summary: "Delete a team", text: "Its members lose what they may only as such."},
		func(ctx context.Context, p auth.Principal, in *struct {
			TeamID
			IfMatch
			DryRun
		}) (*deletionAnswer, error) {
			t, err := a.Manage.Teams.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			return in.delete(in.IfMatch, t.Version(), deletion{ID: in.ID, Name: t.Name}, func(version string) error {
				return a.Manage.Teams.DeleteVersion(ctx, p, in.ID, version)
			})
		})
}

func (t newTeam) input(version string) manage.TeamInput {
	return manage.TeamInput{Name: t.Name, Members: t.Members, Rights: rightsOf(t.Rights), Version: version}
}

func readTeam(t manage.Team) team {
	out := team{ID: t.ID, Name: t.Name, Members: []member{}, Rights: readRights(t.Rights)}
	for _, m := range t.Members {
		out.Members = append(out.Members, member{ID: m.UserID, Name: m.Name, State: activeOr(m.Disabled), Ruled: m.Ruled})
	}
	return out
}

func (a *API) teamAnswer(ctx context.Context, p auth.Principal, id int64) (*teamAnswer, error) {
	t, err := a.Manage.Teams.Get(ctx, p, id)
	return &teamAnswer{ETag: etag(t.Version()), Body: readTeam(t)}, err
}
