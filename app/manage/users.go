package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Users are the use cases of those who may log in. Administrators look after the others; everybody looks after themselves
// ([Users.ChangePassword]). Nobody changes their own role, state or existence, and one administrator always stays.
type Users struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// The names of a user's fields, by which a problem.Field finds its place in a form.
const (
	UserName        = "name"
	UserPassword    = "password"
	UserOldPassword = "old_password"
	UserRepeat      = "repeat"
	UserRights      = "rights"
)

// User is a user as administrators see one.
type User struct {
	ID       int64
	Name     string
	Admin    bool
	Auditor  bool
	Disabled bool
	// Left says that they are disabled because their directory does not let them in any more, and until it does.
	Left     bool
	LoginAt  int64 // epoch ms, 0 if never
	Sessions int64
	Rights   map[int64]auth.Rights // by group; of a normal user, without what teams give
	Teams    []TeamRights          // those they are in, by name
	// Provider vouches for them, and says at each login what they may do; empty: they have a password here.
	Provider   string
	BreakGlass bool // an administrator who may use the password when others may not
	Service    bool // a program, which has tokens and no password
	// Second is how many second factors they have here; see [Users.HasSecondHere].
	Second int64

	password string // [auth.Sessions.Mark] of the stored one, of a user who was read alone
}

// May is what a user may do in a group, as one and through teams.
func (u User) May(group int64) auth.Rights {
	r := u.Rights[group]
	if u.Auditor {
		r |= auth.RightView
	}
	for _, t := range u.Teams {
		r |= t.Rights[group]
	}
	return r
}

// Version changes with every change an administrator makes, and with the password, of a user whom [Users.Get] gave.
func (u User) Version() string {
	return digest(fmt.Sprintf("%s|%d|%t|%t|%s|%s|%t|%s", u.Name, role(u.Admin, u.Auditor), u.Disabled, u.Left, rightsText(u.Rights), u.Provider, u.BreakGlass, u.password))
}

// UserInput is a user as an administrator wants to save one.
type UserInput struct {
	Name     string // of a new user; it never changes afterwards
	Password string // empty: a random one for a new user, the old one for the others
	Admin    bool
	Auditor  bool // who is no administrator
	Disabled bool
	Left     bool // they stay out until their directory lets them in: nothing is decided here
	Rights   map[int64]auth.Rights
	// BreakGlass counts for administrators with a password here.
	BreakGlass bool
	Version    string // what [User.Version] said when the form was drawn; empty asks for no check
}

// usersPage is how many users one read has: a directory may have let in any number.
const usersPage = 2_000

// everybody are all users, by name.
func everybody(ctx context.Context, queries *db.Queries, on db.DBTX) (all []db.ListUsersRow, err error) {
	for next := (db.ListUsersParams{Limit: usersPage}); ; {
		rows, err := queries.ListUsers(ctx, on, next)
		if err != nil {
			return nil, fmt.Errorf("list users: %w", db.Error(err))
		}
		all = append(all, rows...)
		if len(rows) < usersPage {
			return all, nil
		}
		last := rows[len(rows)-1]
		next.AfterName, next.AfterID = last.Username, last.ID
	}
}

// List is everybody, by name.
func (s *Users) List(ctx context.Context, p auth.Principal) ([]User, error) {
	if err := requireAuditor(p); err != nil {
		return nil, err
	}
	rows, err := everybody(ctx, s.queries, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	finer, err := s.queries.ListPermissions(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list permissions: %w", db.Error(err))
	}
	open, err := s.cfg.Sessions.Count(ctx)
	if err != nil {
		return nil, err
	}
	teams, err := s.teamsByUser(ctx)
	if err != nil {
		return nil, err
	}
	factors, err := s.queries.CountFactorsByUser(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("count second factors: %w", db.Error(err))
	}
	second := make(map[int64]int64, len(factors))
	for _, f := range factors {
		second[f.UserID] = f.Factors
	}
	byUser := make(map[int64][]db.Permission)
	for _, f := range finer {
		byUser[f.UserID] = append(byUser[f.UserID], f)
	}
	list := make([]User, len(rows))
	for i, r := range rows {
		list[i] = User{ID: r.ID, Name: r.Username, Admin: r.Role == auth.RoleAdmin, Auditor: r.Role == auth.RoleAuditor, Disabled: r.Disabled != active, Left: r.Disabled == disabledLeft, LoginAt: r.LoginAt,
			Teams: teams[r.ID], Sessions: open[r.ID], Rights: rightsOf(r.Role, r.Permission, byUser[r.ID]), Provider: r.Provider, BreakGlass: r.BreakGlass != 0, Service: r.Service != 0, Second: second[r.ID]}
	}
	return list, nil
}

// Export is [Users.List] for a file, which the audit log knows of.
func (s *Users) Export(ctx context.Context, p auth.Principal) ([]User, error) {
	list, err := s.List(ctx, p)
	if err != nil {
		return nil, err
	}
	return list, s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionExport, Kind: ObjectUser, After: Snapshot{"users": len(list)}})
}

// Get is one user.
func (s *Users) Get(ctx context.Context, p auth.Principal, id int64) (User, error) {
	if err := requireAuditor(p); err != nil {
		return User{}, err
	}
	return s.read(ctx, s.cfg.Pool, id)
}

func (s *Users) read(ctx context.Context, tx db.DBTX, id int64) (User, error) {
	r, err := s.queries.GetUser(ctx, tx, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return User{}, problem.New(problem.NotFound, "problem.user.gone")
	} else if err != nil {
		return User{}, fmt.Errorf("read user: %w", err)
	}
	finer, err := s.queries.ListPermissionsOf(ctx, tx, id)
	if err != nil {
		return User{}, fmt.Errorf("read permissions: %w", db.Error(err))
	}
	teams, err := s.teamsOf(ctx, tx, id)
	if err != nil {
		return User{}, err
	}
	second, err := s.queries.CountFactors(ctx, tx, id)
	if err != nil {
		return User{}, fmt.Errorf("count second factors: %w", db.Error(err))
	}
	return User{ID: r.ID, Name: r.Username, Admin: r.Role == auth.RoleAdmin, Auditor: r.Role == auth.RoleAuditor, Disabled: r.Disabled != active, Left: r.Disabled == disabledLeft, LoginAt: r.LoginAt, Teams: teams,
		Rights: rightsOf(r.Role, r.Permission, finer), Provider: r.Provider, BreakGlass: r.BreakGlass != 0, Service: r.Service != 0, Second: second, password: s.mark(r.Password)}, nil
}

// mark tells one stored password from another. On the command line there are no sessions, and nobody is shown a version.
func (s *Users) mark(stored string) string {
	if s.cfg.Sessions == nil {
		return ""
	}
	return s.cfg.Sessions.Mark(stored)
}

func role(admin, auditor bool) int64 {
	switch {
	case admin:
		return auth.RoleAdmin
	case auditor:
		return auth.RoleAuditor
	}
	return auth.RoleUser
}

// nameRule is upstream's (docs/compat.md §5.8).
var nameRule = regexp.MustCompile(`^[a-z][a-z0-9]{3,19}$`)

// Create makes a user and returns the id, and the password if it was made up here.
func (s *Users) Create(ctx context.Context, p auth.Principal, in UserInput) (id int64, password string, err error) {
	if err := requireAdmin(p); err != nil {
		return 0, "", err
	}
	in.Name = strings.TrimSpace(in.Name)
	var fields []problem.Field
	switch {
	case in.Name == "":
		fields = append(fields, problem.Field{Name: UserName, Key: "job.error.required"})
	case !nameRule.MatchString(in.Name):
		fields = append(fields, problem.Field{Name: UserName, Key: "user.error.name"})
	}
	if in.Password != "" {
		fields = append(fields, checkPassword(in.Password, in.Name)...)
	}
	if len(fields) > 0 {
		return 0, "", problem.InvalidFields(fields...)
	}
	chosen := in.Password
	if chosen == "" {
		password = auth.NewPassword()
		chosen = password
	}
	hash, err := s.cfg.Passwords.Hash(ctx, chosen)
	if err != nil {
		return 0, "", err
	}
	list, finer := split(in)
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if err := holdGroups(ctx, tx, in.wanted(User{}).Rights, nil); err != nil {
			return err
		}
		var err error
		id, err = insertUser(ctx, tx, db.InsertUserParams{Username: in.Name, Password: hash, Role: role(in.Admin, in.Auditor), Permission: db.Text(list)})
		if err != nil {
			return err
		}
		if err := s.grant(ctx, tx, id, finer); err != nil {
			return err
		}
		if in.Disabled || in.BreakGlass {
			if _, err := s.queries.UpdateUser(ctx, tx, in.row(id, list)); err != nil {
				return err
			}
		}
		u, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := s.passwordChanged(ctx, tx, p, u, ""); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionCreate, Kind: ObjectUser, ID: id, Name: in.Name, After: u.snapshot()})
	})
	if err != nil {
		return 0, "", fmt.Errorf("create user: %w", err)
	}
	return id, password, nil
}

// Update changes a user's role, state and rights, and the password if there is one. Somebody who was disabled or has a new
// password is logged out at once.
func (s *Users) Update(ctx context.Context, p auth.Principal, id int64, in UserInput) error {
	if err := s.requireOther(p, id); err != nil {
		return err
	}
	hash := ""
	if in.Password != "" {
		u, err := s.read(ctx, s.cfg.Pool, id)
		if err != nil {
			return err
		}
		if fields := checkPassword(in.Password, u.Name); len(fields) > 0 {
			return problem.InvalidFields(fields...)
		}
		if hash, err = s.cfg.Passwords.Hash(ctx, in.Password); err != nil {
			return err
		}
	}
	err := s.cfg.Pool.InTurn(ctx, ObjectUser, func(ctx context.Context, tx *sql.Tx) error {
		old, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		if in.Version != "" && in.Version != old.Version() {
			return changedSince(old.Version(), old.snapshot(), in.wanted(old).snapshot())
		}
		if err := in.leaves(old); err != nil {
			return err
		}
		if err := holdGroups(ctx, tx, in.wanted(old).Rights, old.Rights); err != nil {
			return err
		}
		if err := s.write(ctx, tx, old, in); err != nil {
			return err
		}
		if err := s.keepOne(ctx, tx); err != nil {
			return err
		}
		if hash != "" {
			if err := s.refuseService(ctx, tx, id); err != nil {
				return err
			}
			if _, err := s.queries.ResetUserPassword(ctx, tx, db.ResetUserPasswordParams{ID: id, NewPassword: hash}); err != nil {
				return err
			}
			if err := s.passwordChanged(ctx, tx, p, old, ""); err != nil {
				return err
			}
			if err := s.audit.Record(ctx, tx, p, Entry{Action: ActionPassword, Kind: ObjectUser, ID: id, Name: old.Name}); err != nil {
				return err
			}
		}
		if in.Disabled || hash != "" {
			if err := s.endSessions(ctx, tx, id, ""); err != nil {
				return err
			}
		}
		now, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionUpdate, Kind: ObjectUser, ID: id, Name: old.Name, Before: old.snapshot(), After: now.snapshot()})
	})
	return during("update user", err)
}

// wanted is a user as they would be saved.
func (in UserInput) wanted(u User) User {
	u.Disabled, u.Left = in.Disabled, in.Left && u.Provider != ""
	if u.Provider == "" {
		u.Admin, u.Auditor, u.BreakGlass, u.Rights = in.Admin, in.Auditor, in.Admin && in.BreakGlass, normal(in.Rights)
	}
	if u.Admin {
		u.Rights = nil
	}
	return u
}

// row is what is written of a user.
func (in UserInput) row(id int64, list string) db.UpdateUserParams {
	return db.UpdateUserParams{
		ID: id, Role: role(in.Admin, in.Auditor), Permission: db.Text(list), Disabled: flag(in.Disabled), BreakGlass: flag(in.Admin && in.BreakGlass),
	}
}

// write writes what an administrator decides of a user. Of somebody for whom a provider vouches that is only whether they may sign in: the rest is
// written as they do, which may be at this moment.
func (s *Users) write(ctx context.Context, tx *sql.Tx, u User, in UserInput) error {
	if u.Provider != "" {
		state := flag(in.Disabled)
		if in.Left {
			state = disabledLeft
		}
		_, err := s.queries.SetUserDisabled(ctx, tx, db.SetUserDisabledParams{ID: u.ID, Disabled: state})
		return err
	}
	list, finer := split(in)
	if _, err := s.queries.UpdateUser(ctx, tx, in.row(u.ID, list)); err != nil {
		return err
	}
	return s.grant(ctx, tx, u.ID, finer)
}

// leaves says whether a change leaves alone what a user's provider says: the next login would undo it.
func (in UserInput) leaves(u User) error {
	if u.Provider != "" && (in.Password != "" || in.BreakGlass || role(in.Admin, in.Auditor) != role(u.Admin, u.Auditor) || !u.Admin && rightsText(normal(in.Rights)) != rightsText(u.Rights)) {
		return problem.New(problem.Conflict, "problem.user.provider", "Provider", u.Provider)
	}
	return nil
}

// Leaves is what hangs on a user: the tokens go with them, and the rest stays.
type Leaves struct {
	Jobs    int64 // whose owner is their name, and not somebody with a longer one
	Changes int64 // of scripts, which wait for a second person
	Tokens  int64 // API tokens that somebody may still use
}

// Leaves counts what a user leaves behind.
func (s *Users) Leaves(ctx context.Context, p auth.Principal, u User) (l Leaves, err error) {
	if err := requireAdmin(p); err != nil {
		return l, err
	}
	if l.Jobs, err = db.CountJobs(ctx, s.cfg.Pool, db.JobFilter{Author: likeEscaper.Replace(u.Name)}); err != nil {
		return l, fmt.Errorf("count jobs of an owner: %w", db.Error(err))
	}
	waiting, err := s.queries.ListScriptChanges(ctx, s.cfg.Pool)
	if err != nil {
		return l, fmt.Errorf("list the scripts that wait: %w", db.Error(err))
	}
	for _, c := range waiting {
		if c.AuthorID == u.ID {
			l.Changes++
		}
	}
	l.Tokens, err = s.queries.CountAPITokens(ctx, s.cfg.Pool, db.CountAPITokensParams{UserID: u.ID, NowMs: s.cfg.Now().UnixMilli()})
	return l, db.Error(err)
}

// Delete removes a user with their rights and sessions.
func (s *Users) Delete(ctx context.Context, p auth.Principal, id int64) error {
	return s.DeleteVersion(ctx, p, id, "")
}

// DeleteVersion is Delete for a user who is still what [User.Version] said; empty asks for no check.
func (s *Users) DeleteVersion(ctx context.Context, p auth.Principal, id int64, version string) error {
	if err := s.requireOther(p, id); err != nil {
		return err
	}
	err := s.cfg.Pool.InTurn(ctx, ObjectUser, func(ctx context.Context, tx *sql.Tx) error {
		old, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		if version != "" && version != old.Version() {
			return problem.New(problem.Conflict, "problem.changed")
		}
		if _, err := s.queries.DeleteUser(ctx, tx, id); err != nil {
			return err
		}
		if err := forgetUser(ctx, tx, id); err != nil {
			return err
		}
		if err := s.keepOne(ctx, tx); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectUser, ID: id, Name: old.Name, Before: old.snapshot()})
	})
	return during("delete user", err)
}

// insertUser makes a user, who gets nothing of whoever had the id before.
func insertUser(ctx context.Context, tx db.DBTX, u db.InsertUserParams) (id int64, err error) {
	id, err = db.New().InsertUser(ctx, tx, u)
	if err = db.Error(err); errors.Is(err, db.ErrDuplicate) {
		return 0, problem.InvalidFields(problem.Field{Name: UserName, Key: "user.error.taken"})
	} else if err != nil {
		return 0, err
	}
	return id, forgetUser(ctx, tx, id)
}

// forgetUser deletes what hangs on the id of a user: when the user is deleted, and when the id is somebody's who is new. Another program may
// have deleted whoever had it, and MySQL before 8.0 and a restored database give it again: tokens and sessions would be the new one's.
func forgetUser(ctx context.Context, tx db.DBTX, id int64) error {
	q := db.New()
	for _, drop := range []func(context.Context, db.DBTX, int64) (int64, error){
		q.DeletePermissionsOf, q.DeleteTeamsOfUser, q.DeleteSessionsOfUser, q.DeletePlacesOfUser, q.DeleteAPITokensOf, q.ForgetWhoLetIn, q.DeleteOwnViews, q.DisownSharedViews,
		q.DeleteFavouritesOfUser, q.ForgetScriptAuthor,
	} {
		if _, err := drop(ctx, tx, id); err != nil {
			return db.Error(err)
		}
	}
	return auth.ForgetFactors(ctx, tx, id)
}

// requireOther lets administrators change anybody but themselves (docs/compat.md §8.5 #73, by id and not by name).
func (s *Users) requireOther(p auth.Principal, id int64) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	if id == p.UserID {
		return problem.New(problem.Conflict, "problem.user.self")
	}
	return nil
}

// keepOne refuses a change after which nobody could look after the installation. It is asked for in turn: two changes could take the last two.
func (s *Users) keepOne(ctx context.Context, tx *sql.Tx) error {
	n, err := s.queries.CountAdministrators(ctx, tx)
	if err != nil {
		return err
	}
	if n == 0 {
		return problem.New(problem.Conflict, "problem.user.last")
	}
	return nil
}
