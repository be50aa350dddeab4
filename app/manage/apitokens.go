package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// APITokens are the use cases of the tokens with which programs act for somebody. Everybody has their own; administrators see and
// revoke all, and make those of service accounts, which nobody can sign in as.
type APITokens struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// APIToken is a token as people see it.
type APIToken struct {
	ID        int64
	OwnerID   int64
	Owner     string
	Service   bool // the owner is a service account
	Name      string
	Hint      string // how it begins
	Rights    auth.Rights
	Admin     bool
	Groups    []int64 // nil: all
	CreatedAt int64   // epoch ms, as the others; 0 for never
	ExpiresAt int64
	UsedAt    int64
	UsedFrom  string
	State     APITokenState
}

// APITokenState says whether a token counts.
type APITokenState string

const (
	APITokenActive  APITokenState = "active"
	APITokenExpired APITokenState = "expired"
	APITokenRevoked APITokenState = "revoked"
	APITokenIdle    APITokenState = "owner" // its owner is disabled
)

// The names of a token's fields, by which a problem.Field finds its place in a form.
const (
	APITokenOwner  = "owner"
	APITokenName   = "name"
	APITokenScope  = "scope"
	APITokenGroups = "groups"
	APITokenDays   = "days"
)

const (
	maxAPITokenName = 40
	maxAPITokens    = 50   // of one owner that count
	maxAPITokenList = 2000 // on one page
	maxAPITokenDays = 3660

	maxServiceAccounts = 10_000 // of a list
)

// APITokenInput is a token as somebody wants it.
type APITokenInput struct {
	Owner  int64 // a service account; 0: whoever asks
	Name   string
	Rights auth.Rights
	Admin  bool    // everything that an administrator may; only without Groups
	Groups []int64 // empty: all that the owner has
	Days   int     // until it expires; 0: never
}

// ScopeAdmin is the name of the scope of a token that may all that its owner may.
const ScopeAdmin = "admin"

// Scoped is in with the scope of some names, those of rights and [ScopeAdmin].
func (in APITokenInput) Scoped(names []string) APITokenInput {
	for _, name := range names {
		in.Admin = in.Admin || name == ScopeAdmin
		in.Rights |= auth.RightNamed(name)
	}
	return in
}

// List is one's own tokens, or for administrators everybody's.
func (s *APITokens) List(ctx context.Context, p auth.Principal, all bool) ([]APIToken, error) {
	owner := p.UserID
	if all {
		if err := requireAuditor(p); err != nil {
			return nil, err
		}
		owner = 0
	} else if owner == 0 {
		return nil, forbidden()
	}
	rows, err := s.queries.ListAPITokens(ctx, s.cfg.Pool, db.ListAPITokensParams{UserID: owner, Limit: maxAPITokenList})
	if err != nil {
		return nil, fmt.Errorf("list API tokens: %w", db.Error(err))
	}
	list := make([]APIToken, len(rows))
	for i, r := range rows {
		list[i] = s.seen(r)
	}
	return list, nil
}

// seen is a row as people see it.
func (s *APITokens) seen(r db.ListAPITokensRow) APIToken {
	t := APIToken{ID: r.ID, OwnerID: r.UserID, Owner: r.Username, Service: r.Service != 0, Name: r.Name, Hint: r.Hint,
		Rights: auth.Rights(r.Rights & 0xff), Admin: r.Admin != 0, Groups: auth.GroupIDs(db.Text(r.GroupIds)),
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, UsedAt: r.UsedAt, UsedFrom: r.UsedFrom, State: APITokenActive}
	switch {
	case r.RevokedAt != 0:
		t.State = APITokenRevoked
	case r.ExpiresAt != 0 && r.ExpiresAt <= s.cfg.Now().UnixMilli():
		t.State = APITokenExpired
	case r.Disabled != 0:
		t.State = APITokenIdle
	}
	return t
}

// Create makes a token and returns its id. It is returned itself this once, and kept nowhere.
func (s *APITokens) Create(ctx context.Context, p auth.Principal, in APITokenInput) (id int64, token string, err error) {
	owner, admin := p.UserID, p.Admin
	if in.Owner != 0 && in.Owner != p.UserID {
		if err := requireAdmin(p); err != nil {
			return 0, "", err
		}
		// Not for other people: whoever has a token is taken for its owner in the audit log.
		a, err := s.account(ctx, in.Owner)
		if err != nil {
			return 0, "", err
		}
		owner, admin = a.ID, a.Role == auth.RoleAdmin
	}
	if owner == 0 {
		return 0, "", forbidden()
	}
	in.Name = strings.TrimSpace(in.Name)
	if fields := s.check(p, in, admin); len(fields) > 0 {
		return 0, "", problem.InvalidFields(fields...)
	}
	err = s.cfg.Pool.InTurn(ctx, ObjectAPIToken, func(ctx context.Context, tx *sql.Tx) error {
		id, token, err = s.insert(ctx, tx, p, owner, in)
		return err
	})
	if err != nil {
		return 0, "", fmt.Errorf("make API token: %w", err)
	}
	return id, token, nil
}

// insert makes a token that was checked, in turn: an owner has only so many.
func (s *APITokens) insert(ctx context.Context, tx db.DBTX, p auth.Principal, owner int64, in APITokenInput) (id int64, token string, err error) {
	now := s.cfg.Now()
	var expires int64
	if in.Days > 0 {
		expires = now.AddDate(0, 0, in.Days).UnixMilli()
	}
	for _, group := range slices.Sorted(slices.Values(in.Groups)) { // another may get the id of one that is gone
		if held, err := s.queries.HoldGroup(ctx, tx, group); err != nil {
			return 0, "", fmt.Errorf("hold group: %w", db.Error(err))
		} else if held == 0 {
			return 0, "", problem.InvalidFields(problem.Field{Name: APITokenGroups, Key: "job.error.group"})
		}
	}
	rights, groups := in.scope()
	token = auth.NewAPIToken()
	n, err := s.queries.CountAPITokens(ctx, tx, db.CountAPITokensParams{UserID: owner, NowMs: now.UnixMilli()})
	if err != nil {
		return 0, "", db.Error(err)
	}
	if n >= maxAPITokens {
		return 0, "", problem.New(problem.Conflict, "problem.apitoken.many", "Max", maxAPITokens)
	}
	id, err = s.queries.InsertAPIToken(ctx, tx, db.InsertAPITokenParams{
		UserID: owner, Name: in.Name, Hash: auth.HashAPIToken(token), Hint: auth.APITokenHint(token), Rights: int64(rights), Admin: flag(in.Admin),
		GroupIds: groups, CreatedAt: now.UnixMilli(), ExpiresAt: expires,
	})
	if err != nil {
		return 0, "", db.Error(err)
	}
	return id, token, s.audit.Record(ctx, tx, p, Entry{Action: ActionCreate, Kind: ObjectAPIToken, ID: id, Name: in.Name, After: Snapshot{
		"owner": owner, "rights": strings.Join(auth.RightNames(rights), " "), "admin": in.Admin, "groups": groups, "days": int64(in.Days),
	}})
}

// scope is a token's, as its row has it.
func (in APITokenInput) scope() (rights auth.Rights, groups string) {
	rights = in.Rights.Normal()
	if in.Admin {
		rights = auth.AllRights
	}
	return rights, db.IDList(in.Groups)
}

func (s *APITokens) check(p auth.Principal, in APITokenInput, admin bool) []problem.Field {
	var fields []problem.Field
	add := func(name, key string, args ...any) {
		fields = append(fields, problem.Field{Name: name, Key: key, Args: args})
	}
	switch {
	case in.Name == "":
		add(APITokenName, "job.error.required")
	case utf8.RuneCountInString(in.Name) > maxAPITokenName:
		add(APITokenName, "job.error.too_long", "Max", maxAPITokenName)
	case strings.ContainsFunc(in.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		add(APITokenName, "apitoken.error.name")
	}
	switch {
	case in.Admin && !admin:
		add(APITokenScope, "apitoken.error.admin")
	case in.Admin && len(in.Groups) > 0:
		add(APITokenScope, "apitoken.error.adminGroups")
	case !in.Admin && in.Rights.Normal() == 0:
		add(APITokenScope, "job.error.required")
	}
	if slices.ContainsFunc(in.Groups, func(id int64) bool { return id <= 0 || !p.CanUseGroup(id) }) || len(in.Groups) > 500 {
		add(APITokenGroups, "job.error.group")
	}
	if in.Days < 0 || in.Days > maxAPITokenDays {
		add(APITokenDays, "job.error.out_of_range", "Min", 0, "Max", maxAPITokenDays)
	}
	return fields
}

// Get is a token that p may revoke, also one that is too old for the list.
func (s *APITokens) Get(ctx context.Context, p auth.Principal, id int64) (APIToken, error) {
	r, err := s.queries.GetAPIToken(ctx, s.cfg.Pool, id)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound), err == nil && !p.Admin && r.UserID != p.UserID:
		return APIToken{}, problem.New(problem.NotFound, "problem.apitoken.gone")
	case err != nil:
		return APIToken{}, fmt.Errorf("read API token: %w", err)
	}
	return s.seen(db.ListAPITokensRow(r)), nil
}

// Revoke ends a token, one's own or for administrators any. It stays in the list.
func (s *APITokens) Revoke(ctx context.Context, p auth.Principal, id int64) error {
	t, err := s.Get(ctx, p, id)
	if err != nil {
		return err
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := s.queries.RevokeAPIToken(ctx, tx, db.RevokeAPITokenParams{ID: id, RevokedAt: s.cfg.Now().UnixMilli()})
		if err != nil || n == 0 {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectAPIToken, ID: id, Name: t.Name, Before: Snapshot{"owner": t.OwnerID}})
	})
	return during("revoke API token", err)
}

// ServiceAccount is a user that is a program.
type ServiceAccount struct {
	ID       int64
	Name     string
	Role     int64
	Disabled bool
}

// Accounts are the service accounts, for administrators.
func (s *APITokens) Accounts(ctx context.Context, p auth.Principal) ([]ServiceAccount, error) {
	if err := requireAuditor(p); err != nil {
		return nil, err
	}
	return s.accounts(ctx)
}

func (s *APITokens) accounts(ctx context.Context) ([]ServiceAccount, error) {
	rows, err := s.queries.ListServiceAccounts(ctx, s.cfg.Pool, maxServiceAccounts)
	if err != nil {
		return nil, fmt.Errorf("list service accounts: %w", db.Error(err))
	}
	list := make([]ServiceAccount, len(rows))
	for i, r := range rows {
		list[i] = ServiceAccount{ID: r.ID, Name: r.Username, Role: r.Role, Disabled: r.Disabled != 0}
	}
	return list, nil
}

func (s *APITokens) account(ctx context.Context, id int64) (ServiceAccount, error) {
	list, err := s.accounts(ctx)
	if err != nil {
		return ServiceAccount{}, err
	}
	i := slices.IndexFunc(list, func(a ServiceAccount) bool { return a.ID == id })
	if i < 0 {
		return ServiceAccount{}, problem.InvalidFields(problem.Field{Name: APITokenOwner, Key: "problem.apitoken.owner"})
	}
	return list[i], nil
}

// CreateAccount makes a service account, as an administrator or without any right: those are given as to every user.
func (s *APITokens) CreateAccount(ctx context.Context, p auth.Principal, name string, admin bool) (id int64, err error) {
	if err := requireAdmin(p); err != nil {
		return 0, err
	}
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return 0, problem.InvalidFields(problem.Field{Name: UserName, Key: "job.error.required"})
	case !nameRule.MatchString(name):
		return 0, problem.InvalidFields(problem.Field{Name: UserName, Key: "user.error.name"})
	}
	role, after := int64(auth.RoleUser), Snapshot{"username": name, "service": true}
	if admin {
		role, after["role"] = auth.RoleAdmin, int64(auth.RoleAdmin)
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		id, err = insertUser(ctx, tx, db.InsertUserParams{Username: name, Password: "!", Role: role})
		if err != nil {
			return err
		}
		if _, err := s.queries.SetServiceAccount(ctx, tx, id); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionCreate, Kind: ObjectUser, ID: id, Name: name, After: after})
	})
	return id, during("create service account", err)
}

// refuseService refuses a password for a service account: with one, somebody could sign in as it.
func (s *Users) refuseService(ctx context.Context, tx db.DBTX, id int64) error {
	n, err := s.queries.IsServiceAccount(ctx, tx, id)
	if err != nil {
		return db.Error(err)
	}
	if n > 0 {
		return problem.New(problem.Conflict, "problem.user.service")
	}
	return nil
}
