package manage

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Directories are the use cases of people who are known elsewhere: at a provider (OpenID Connect) or in a directory (LDAP). Each
// sign-in makes them a user here, or brings theirs up to date: their name, role and rights are what the rules say of them then.
type Directories struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
	users   *Users
}

// Offer is a way to sign in without a password here.
type Offer struct {
	Name  string // in addresses
	Label string // for people
}

// Offers lists the providers.
func (s *Directories) Offers() []Offer {
	var list []Offer
	for _, p := range s.cfg.Directories.Providers() {
		list = append(list, Offer{Name: p.Name(), Label: p.Label()})
	}
	return list
}

// Unnamed are how many people came in through each provider or directory that the sign-in file does not name any more, by its name: they
// cannot sign in, and nobody asks about them, while their sessions and API tokens go on.
func (s *Directories) Unnamed(all []User) map[string]int {
	named := make(map[string]bool)
	for _, p := range s.cfg.Directories.Providers() {
		named[p.Name()] = true
	}
	for _, l := range s.cfg.Directories.LDAP() {
		named[l.Name()] = true
	}
	people := make(map[string]int)
	for _, u := range all {
		if u.Provider != "" && !u.Disabled && !named[u.Provider] {
			people[u.Provider]++
		}
	}
	return people
}

// HasLDAP says whether a name and a password can be those of a directory.
func (s *Directories) HasLDAP() bool { return s.cfg.Directories.HasLDAP() }

// AsksForPasswords says whether a form for a name and a password is for everybody, and not for break-glass administrators alone.
func (s *Directories) AsksForPasswords() bool {
	return !s.cfg.Directories.OnlyBreakGlass() || s.cfg.Directories.HasLDAP()
}

// Begin starts a sign-in at a provider. The browser goes to the address and keeps the flow until it comes back to callback.
func (s *Directories) Begin(provider, callback, next string) (directory.Flow, string, error) {
	p, ok := s.cfg.Directories.Provider(provider)
	if !ok {
		return directory.Flow{}, "", &problem.Error{Kind: problem.NotFound}
	}
	f, address, err := p.Begin(callback, next, s.cfg.Settings.SignIn().NeedsSecond(auth.RoleAdmin))
	return f, address, s.Explain(err)
}

// Finish says who came back from a provider, and what it tells of a second factor. The errors are problems, and [auth.ErrDisabled].
func (s *Directories) Finish(ctx context.Context, provider string, f directory.Flow, callback string, answer url.Values) (auth.Principal, auth.Second, error) {
	p, ok := s.cfg.Directories.Provider(provider)
	if !ok {
		return auth.Principal{}, "", &problem.Error{Kind: problem.NotFound}
	}
	id, err := p.Finish(ctx, f, callback, answer)
	if err != nil {
		return auth.Principal{}, "", s.Explain(err)
	}
	if err := s.use(ctx, provider, f); err != nil {
		return auth.Principal{}, "", s.Explain(err)
	}
	who, err := s.enrol(ctx, id)
	switch {
	case !p.TellsSecond():
		return who, auth.SecondUnknown, err
	case id.Weak:
		return who, auth.SecondNone, err
	}
	return who, auth.SecondProvider, err
}

// use marks a sign-in as used, on all admins at once.
func (s *Directories) use(ctx context.Context, provider string, f directory.Flow) error {
	sum := sha256.Sum256([]byte(f.State))
	n, err := s.queries.UseSignIn(ctx, s.cfg.Pool, db.UseSignInParams{ID: hex.EncodeToString(sum[:]), UsedAt: s.cfg.Now().UnixMilli()})
	if err != nil {
		return fmt.Errorf("mark sign-in as used: %w", db.Error(err))
	}
	if n == 0 {
		return &directory.Error{Reason: directory.Stale, Provider: provider, Err: errors.New("it was used before")}
	}
	return nil
}

// Clean forgets used sign-ins that are too old to be used again anyway.
func (s *Directories) Clean(ctx context.Context) error {
	_, err := s.queries.DeleteUsedSignInsBefore(ctx, s.cfg.Pool, s.cfg.Now().Add(-2*directory.FlowLife-time.Hour).UnixMilli())
	return db.Error(err)
}

// CheckPassword asks the directories whose name and password these are. The errors are problems, [auth.ErrWrongLogin] and
// [auth.ErrDisabled].
func (s *Directories) CheckPassword(ctx context.Context, name, password string) (auth.Principal, error) {
	id, err := s.cfg.Directories.Check(ctx, name, password)
	if err != nil {
		return auth.Principal{}, s.Explain(err)
	}
	return s.enrol(ctx, id)
}

// Explain makes a problem of why a sign-in failed.
func (s *Directories) Explain(err error) error {
	fault, ok := errors.AsType[*directory.Error](err)
	if !ok || errors.Is(err, auth.ErrDisabled) {
		return err
	}
	kind := problem.Forbidden
	switch fault.Reason {
	case directory.Down:
		kind = problem.Unavailable
	case directory.Stale, directory.Untrue:
		kind = problem.Malformed
	case directory.Taken, directory.BadName:
		kind = problem.Conflict
	case directory.Denied, directory.Unruled, directory.Weak:
	}
	label := fault.Provider
	if p, ok := s.cfg.Directories.Provider(fault.Provider); ok {
		label = p.Label()
	}
	return problem.New(kind, "signin.error."+string(fault.Reason), "Provider", label, "Name", fault.Name).Because(err)
}

// enrol makes a user of somebody who is known elsewhere, or brings theirs up to date.
func (s *Directories) enrol(ctx context.Context, id directory.Identity) (p auth.Principal, err error) {
	known, err := s.queries.GetUserByIdentity(ctx, s.cfg.Pool, id.Key)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return auth.Principal{}, fmt.Errorf("find user: %w", err)
	}
	var refused error
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		refused = nil
		if _, err := s.queries.HoldUser(ctx, tx, known.ID); err != nil { // or what an administrator does at this moment would be undone
			return err
		}
		row, err := s.queries.GetUserByIdentity(ctx, tx, id.Key)
		if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		if row.ID != 0 && row.Disabled == disabledHere {
			refused = &directory.Error{Reason: directory.Denied, Provider: id.Provider, Name: id.Name, Err: auth.ErrDisabled}
			return nil
		}
		if !id.In {
			refused = &directory.Error{Reason: directory.Unruled, Provider: id.Provider, Name: id.Name}
			if row.ID == 0 {
				return nil
			}
			return s.shutOut(ctx, tx, id, row.ID)
		} else if id.Weak && s.cfg.Settings.SignIn().NeedsSecond(role(id.Grant.Admin, id.Grant.Auditor)) {
			refused = &directory.Error{Reason: directory.Weak, Provider: id.Provider, Name: id.Name}
			if row.ID == 0 {
				return nil
			}
		}
		p, err = s.keep(ctx, tx, id, row.ID, active)
		return err
	})
	switch {
	case err != nil:
		return auth.Principal{}, s.Explain(fmt.Errorf("enrol user: %w", err))
	case refused != nil:
		return auth.Principal{}, s.Explain(refused)
	}
	return p, nil
}

// noPassword stands where others have the hash of theirs, and is none of any.
const noPassword = "-"

// keep writes what is said of somebody: of a new user (0), or of one who was here before. state says whether they may come in.
func (s *Directories) keep(ctx context.Context, tx *sql.Tx, id directory.Identity, userID, state int64) (auth.Principal, error) {
	in := UserInput{Admin: id.Grant.Admin, Auditor: id.Grant.Auditor, Rights: make(map[int64]auth.Rights)}
	if !in.Admin {
		var err error
		if in.Rights, err = s.rights(ctx, tx, id.Grant); err != nil {
			return auth.Principal{}, err
		}
	}
	list, finer := split(in)
	entry := Entry{Action: ActionCreate, Kind: ObjectUser, ID: userID}
	name, taken := id.Name, &directory.Error{Reason: directory.Taken, Provider: id.Provider, Name: id.Name}
	owner, err := s.queries.GetUserByName(ctx, tx, id.Name)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return auth.Principal{}, err
	}
	if userID == 0 {
		if owner.ID != 0 {
			return auth.Principal{}, taken
		}
		entry.ID, err = s.queries.InsertUser(ctx, tx, db.InsertUserParams{
			Username: name, Password: noPassword, Role: role(in.Admin, in.Auditor), Permission: db.Text(list), Provider: id.Provider, IdentityKey: id.Key,
			DirectoryID: id.ID,
		})
		if err = db.Error(err); errors.Is(err, db.ErrDuplicate) {
			return auth.Principal{}, taken // at this moment; the next sign-in finds them, if it was they
		} else if err != nil {
			return auth.Principal{}, err
		}
		if err := forgetUser(ctx, tx, entry.ID); err != nil {
			return auth.Principal{}, err
		}
	} else {
		old, err := s.users.read(ctx, tx, userID)
		if err != nil {
			return auth.Principal{}, err
		}
		if owner.ID != 0 && owner.ID != userID {
			name = old.Name // the new one is somebody else's
		}
		entry.Action, entry.Before = ActionUpdate, old.snapshot()
		_, err = s.queries.UpdateProviderUser(ctx, tx, db.UpdateProviderUserParams{
			ID: userID, Username: name, Role: role(in.Admin, in.Auditor), Permission: db.Text(list), Provider: id.Provider, DirectoryID: id.ID, Disabled: state,
		})
		if err != nil {
			return auth.Principal{}, err
		}
	}
	if err := s.users.grant(ctx, tx, entry.ID, finer); err != nil {
		return auth.Principal{}, err
	}
	if err := s.join(ctx, tx, entry.ID, id.Grant.Teams); err != nil {
		return auth.Principal{}, err
	}
	now, err := s.users.read(ctx, tx, entry.ID)
	if err != nil {
		return auth.Principal{}, err
	}
	entry.Name, entry.After = now.Name, now.snapshot()
	if err := s.audit.Record(ctx, tx, auth.Principal{Name: id.Provider}, entry); err != nil {
		return auth.Principal{}, err
	}
	p := auth.NewPrincipal(now.ID, now.Name, role(now.Admin, now.Auditor), "")
	for group, r := range now.Rights {
		p = p.Grant(group, r)
	}
	for _, team := range now.Teams {
		for group, r := range team.Rights {
			p = p.Grant(group, r)
		}
	}
	p.Provider = id.Provider
	return p, nil
}

// join puts somebody into the teams that the rules name, and takes them out of the others that rules had put them into. Where somebody
// put them by hand they stay.
func (s *Directories) join(ctx context.Context, tx *sql.Tx, userID int64, names []string) error {
	if _, err := s.queries.DeleteRuledTeamsOfUser(ctx, tx, userID); err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	teams, err := s.queries.ListTeams(ctx, tx, maxTeams)
	if err != nil {
		return fmt.Errorf("list teams: %w", db.Error(err))
	}
	for _, name := range names {
		i := slices.IndexFunc(teams, func(t db.Team) bool { return strings.EqualFold(t.Name, name) })
		if i < 0 {
			s.cfg.Logger.Warn("a rule for sign-ins names a team that there is not", "team", name)
			continue
		}
		if err := s.queries.InsertTeamMember(ctx, tx, db.InsertTeamMemberParams{TeamID: teams[i].ID, UserID: userID, Ruled: 1}); err != nil {
			return err
		}
	}
	return nil
}

// rights are those of a grant in the groups that there are. A name that none has is said in the log: it may be misspelt.
func (s *Directories) rights(ctx context.Context, tx *sql.Tx, g directory.Grant) (map[int64]auth.Rights, error) {
	if len(g.Rights) == 0 {
		return make(map[int64]auth.Rights), nil
	}
	groups, err := s.queries.ListGroups(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", db.Error(err))
	}
	for name := range g.Rights {
		if name != directory.Everything && !slices.ContainsFunc(groups, func(group db.Group) bool { return group.AppName == name }) {
			s.cfg.Logger.Warn("a rule for sign-ins names an executor that there is not", "group", name)
		}
	}
	return rightsIn(groups, g), nil
}

// rightsIn are the rights that a grant gives in groups.
func rightsIn(groups []db.Group, g directory.Grant) map[int64]auth.Rights {
	rights := make(map[int64]auth.Rights)
	for _, group := range groups {
		if r := (g.Rights[group.AppName] | g.Rights[directory.Everything]).Normal(); r != 0 {
			rights[group.ID] = r
		}
	}
	return rights
}
