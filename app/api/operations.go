package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// node is an admin of the cluster.
type node struct {
	ID        int64            `json:"id"`
	Name      string           `json:"name"`
	Address   string           `json:"address"`
	Version   string           `json:"version"`
	State     manage.NodeState `json:"state" enum:"live,draining,silent,gone"`
	Self      bool             `json:"self" doc:"It is the one that answers."`
	StartedAt *time.Time       `json:"started_at"`
	BeatAt    *time.Time       `json:"beat_at" doc:"When it renewed its lease, by its own clock."`
}

// auditEntry is what somebody did.
type auditEntry struct {
	ID         int64      `json:"id"`
	At         *time.Time `json:"at"`
	User       string     `json:"user" doc:"Who did it; of a program with the name of its token."`
	From       string     `json:"from" doc:"The address that it came from."`
	Action     string     `json:"action"`
	Kind       string     `json:"object_kind"`
	ObjectID   int64      `json:"object_id"`
	ObjectName string     `json:"object_name"`
}

// auditAction and auditKind are what entries can be of: who mistypes one is not told that there are none.
type (
	auditAction string
	auditKind   string
)

// Schema implements [huma.SchemaProvider].
func (auditAction) Schema(huma.Registry) *huma.Schema { return oneOf(manage.Actions()) }

// Schema implements [huma.SchemaProvider].
func (auditKind) Schema(huma.Registry) *huma.Schema { return oneOf(manage.Objects()) }

func oneOf[T ~string](values []T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

type auditQuery struct {
	Page
	Looking
	User   string      `query:"user" maxLength:"120" doc:"Only what this user did."`
	Action auditAction `query:"action" doc:"Only this action; login_single: only logins without second factor."`
	Kind   auditKind   `query:"object_kind" doc:"Only what was done to objects of this kind."`
	ID     int64       `query:"object_id" minimum:"1" doc:"Only what was done to the object with this number."`
	Group  int64       `query:"group_id" minimum:"1" doc:"Only what is about this group."`
	Text   string      `query:"text" maxLength:"255" doc:"Only entries with this in the name of the object, or in the address."`
	Since  time.Time   `query:"since" doc:"Only what was done at this moment or later."`
	Until  time.Time   `query:"until" doc:"Only what was done at this moment or before."`
}

// listAuditEntry is a page of the audit log, as a [list].
type listAuditEntry struct {
	Items []auditEntry `json:"items"`
	Next  string       `json:"next,omitempty" doc:"The cursor of the page that follows. There is none after the last."`
	SearchedTo
}

// token is an API token, without what makes it one.
type token struct {
	ID        int64                `json:"id"`
	Owner     string               `json:"owner"`
	Name      string               `json:"name"`
	Hint      string               `json:"hint" doc:"How it begins."`
	Scope     []string             `json:"scope" doc:"The rights that it has at most; admin stands for all that its owner may."`
	Groups    []int64              `json:"group_ids" doc:"The groups that it is for; empty: all of its owner."`
	State     manage.APITokenState `json:"state" enum:"active,expired,revoked,owner"`
	CreatedAt *time.Time           `json:"created_at"`
	ExpiresAt *time.Time           `json:"expires_at"`
	UsedAt    *time.Time           `json:"used_at"`
	UsedFrom  string               `json:"used_from"`
}

// newToken is a token as somebody wants it.
type newToken struct {
	Owner  int64    `json:"owner_id,omitempty" minimum:"1" doc:"A service account, or whoever asks; without it whoever asks."`
	Name   string   `json:"name" minLength:"1" maxLength:"40"`
	Scope  []string `json:"scope" minItems:"1" enum:"view,run,schedule,edit,glue,admin" doc:"The rights that it has at most; admin stands for all that its owner may."`
	Groups []int64  `json:"group_ids,omitempty" doc:"The groups that it is for; without them all of its owner."`
	Days   *int     `json:"days,omitempty" minimum:"0" maximum:"3660" default:"90" doc:"How many days it counts; 0: until it is revoked."`
}

// tokenMade is a token with what makes it one.
type tokenMade struct {
	Token string `json:"token" doc:"It is told this once, and kept nowhere."`
	ID    int64  `json:"id"`
}

type tokenCreated struct {
	Location string `header:"Location"`
	Body     tokenMade
}

// tokenNames are what the fields of a new token are called in JSON.
var tokenNames = map[string]string{manage.APITokenOwner: "owner_id", manage.APITokenGroups: "group_ids"}

// TokenID names the token of an operation.
type TokenID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the token."`
}

// bearer is whom a token acts for, and what it may.
type bearer struct {
	Name   string        `json:"name" doc:"The owner, with the name of the token."`
	Admin  bool          `json:"admin" doc:"It may do all that an administrator may."`
	Audits bool          `json:"audits" doc:"It may see who may do what, and who did what."`
	All    []string      `json:"rights_in_all_groups" enum:"view,run,schedule,edit,glue"`
	Groups []groupRights `json:"rights" doc:"What it may in which groups, beyond that."`
}

func readBearer(p auth.Principal) bearer {
	b := bearer{Name: p.Name, Admin: p.Admin, Audits: p.Audits(), All: append([]string{}, auth.RightNames(p.Rights(0))...), Groups: []groupRights{}}
	ids, _ := p.Groups()
	slices.Sort(ids)
	for _, id := range ids {
		b.Groups = append(b.Groups, groupRights{Group: id, Rights: auth.RightNames(p.Rights(id))})
	}
	return b
}

func (a *API) operations() {
	add(a, op{method: http.MethodGet, path: "/whoami", id: "whoAmI", tag: "tokens", summary: "Get whom the token acts for, and what it may"},
		func(_ context.Context, p auth.Principal, _ *struct{}) (*struct{ Body bearer }, error) {
			return &struct{ Body bearer }{readBearer(p)}, nil
		})
	add(a, op{method: http.MethodGet, path: "/nodes", id: "listNodes", tag: "nodes", summary: "List the admins of the cluster"},
		func(ctx context.Context, p auth.Principal, _ *struct{}) (*listOf[node], error) {
			return a.listNodes(ctx, p)
		})
	add(a, op{method: http.MethodGet, path: "/audit", id: "listAudit", tag: "audit", summary: "List what people and programs did, the newest first"},
		func(ctx context.Context, p auth.Principal, in *auditQuery) (*struct{ Body listAuditEntry }, error) {
			before, err := in.after()
			if err != nil {
				return nil, err
			}
			look, err := in.time()
			if err != nil {
				return nil, err
			}
			found, err := a.Manage.Audit.List(ctx, p, manage.AuditFilter{User: in.User, Action: string(in.Action), Kind: string(in.Kind), ID: in.ID, Group: in.Group, Text: in.Text,
				Since: in.Since, Until: in.Until, Before: before, Limit: in.Limit, Look: look})
			out := &struct{ Body listAuditEntry }{listAuditEntry{Next: nextBelow(found.Older), SearchedTo: searchedTo(found.Searched, found.Reached), Items: madeOf(found.Entries, func(e db.AuditRow) auditEntry {
				return auditEntry{ID: e.ID, At: momentOf(e.MadeAt), User: e.UserName, From: e.Address, Action: e.Action, Kind: e.ObjectKind, ObjectID: e.ObjectID, ObjectName: e.ObjectName}
			})}}
			return out, err
		})
	add(a, op{method: http.MethodGet, path: "/tokens", id: "listTokens", tag: "tokens", summary: "List the API tokens of the owner of this one"},
		func(ctx context.Context, p auth.Principal, in *struct {
			All bool `query:"all" doc:"Everybody's, which takes an administrator."`
		}) (*listOf[token], error) {
			rows, err := a.Manage.APITokens.List(ctx, p, in.All)
			return listed(rows, err, readToken)
		})
	add(a, op{method: http.MethodPost, path: "/tokens", id: "createToken", tag: "tokens", summary: "Make an API token, which is answered this once", status: http.StatusCreated, names: tokenNames,
		text: "It takes a token with the scope admin: another would make one that may more than it, or that lives on when it is revoked. It takes no Idempotency-Key, since what is made is kept nowhere: revoke a token whose answer was lost."},
		func(ctx context.Context, p auth.Principal, in *struct{ Body newToken }) (*tokenCreated, error) {
			if !p.Admin {
				return nil, &problem.Error{Kind: problem.Forbidden}
			}
			return a.createToken(ctx, p, in.Body)
		})
	add(a, op{method: http.MethodGet, path: "/tokens/{id}", id: "getToken", tag: "tokens", summary: "Get an API token, without what makes it one"},
		func(ctx context.Context, p auth.Principal, in *TokenID) (*struct{ Body token }, error) {
			row, err := a.Manage.APITokens.Get(ctx, p, in.ID)
			return &struct{ Body token }{readToken(row)}, err
		})
	add(a, op{method: http.MethodDelete, path: "/tokens/{id}", id: "revokeToken", tag: "tokens", summary: "Revoke an API token for good"},
		func(ctx context.Context, p auth.Principal, in *TokenID) (*struct{ Body token }, error) {
			if err := a.Manage.APITokens.Revoke(ctx, p, in.ID); err != nil {
				return nil, err
			}
			did(ctx)
			row, err := a.Manage.APITokens.Get(ctx, p, in.ID)
			return &struct{ Body token }{readToken(row)}, err
		})
}

func (a *API) createToken(ctx context.Context, p auth.Principal, in newToken) (*tokenCreated, error) {
	want := manage.APITokenInput{Owner: in.Owner, Name: in.Name, Groups: in.Groups}.Scoped(in.Scope)
	set(&want.Days, in.Days)
	id, made, err := a.Manage.APITokens.Create(ctx, p, want)
	if err != nil {
		return nil, err
	}
	return &tokenCreated{Location: address("tokens", id), Body: tokenMade{Token: made, ID: id}}, nil
}

func readToken(t manage.APIToken) token {
	scope := append([]string{}, auth.RightNames(t.Rights)...)
	if t.Admin {
		scope = []string{"admin"}
	}
	return token{ID: t.ID, Owner: t.Owner, Name: t.Name, Hint: t.Hint, Scope: scope, Groups: append([]int64{}, t.Groups...), State: t.State,
		CreatedAt: momentOf(t.CreatedAt), ExpiresAt: momentOf(t.ExpiresAt), UsedAt: momentOf(t.UsedAt), UsedFrom: t.UsedFrom}
}

func (a *API) listNodes(ctx context.Context, p auth.Principal) (*listOf[node], error) {
	cluster, err := a.Manage.Nodes.Cluster(ctx, p)
	return listed(cluster.Nodes, err, func(n manage.Node) node {
		return node{ID: n.ID, Name: n.Name, Address: n.Address, Version: n.Version, State: n.State, Self: n.Self, StartedAt: moment(n.Started), BeatAt: moment(n.Beat)}
	})
}
