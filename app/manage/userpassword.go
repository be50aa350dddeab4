package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// ResetPassword gives a user a new password, a random one that is returned if none was chosen, and logs them out.
func (s *Users) ResetPassword(ctx context.Context, p auth.Principal, id int64, chosen string) (made string, err error) {
	if err := s.requireOther(p, id); err != nil {
		return "", err
	}
	if chosen != "" {
		u, err := s.read(ctx, s.cfg.Pool, id)
		if err != nil {
			return "", err
		}
		if fields := checkPassword(chosen, u.Name); len(fields) > 0 {
			return "", problem.InvalidFields(fields...)
		}
	} else {
		made = auth.NewPassword()
		chosen = made
	}
	if err := s.setPassword(ctx, p, id, chosen, ""); err != nil {
		return "", fmt.Errorf("reset password: %w", err)
	}
	return made, nil
}

// ChangePassword changes somebody's own password, which ends their other sessions.
func (s *Users) ChangePassword(ctx context.Context, p auth.Principal, old, chosen, repeat string) error {
	if p.Zero() {
		return forbidden()
	}
	if p.Provider != "" {
		return problem.New(problem.Conflict, "problem.user.provider", "Provider", p.Provider)
	}
	if fields := checkChosen(chosen, repeat, p.Name); len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	if err := s.prove(ctx, p, old); err != nil {
		return err
	}
	if err := s.setPassword(ctx, p, p.UserID, chosen, p.Session); err != nil {
		return fmt.Errorf("change password: %w", err)
	}
	return nil
}

// ChooseOwn is the password that somebody chooses at the login, in the place of one that somebody else gave them. p was just shown to
// be them, in a sign-in that goes on then; the password must be another than before.
func (s *Users) ChooseOwn(ctx context.Context, p auth.Principal, signIn, chosen, repeat string) error {
	if fields := checkChosen(chosen, repeat, p.Name); len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	_, err := s.cfg.Logins.Check(ctx, auth.Attempt{Name: p.Name, Password: chosen, Address: p.Address, Session: p.Name})
	switch {
	case err == nil:
		return problem.InvalidFields(problem.Field{Name: UserPassword, Key: "user.error.same"})
	case errors.Is(err, auth.ErrTooManyLogins):
		return problem.New(problem.TooMany, "login.error.toomany")
	case !errors.Is(err, auth.ErrWrongLogin):
		return err
	}
	if err := s.setPassword(ctx, p, p.UserID, chosen, signIn); err != nil {
		return fmt.Errorf("choose password: %w", err)
	}
	return nil
}

func checkChosen(chosen, repeat, name string) []problem.Field {
	fields := checkPassword(chosen, name)
	if len(fields) == 0 && chosen != repeat {
		fields = append(fields, problem.Field{Name: UserRepeat, Key: "user.error.repeat"})
	}
	return fields
}

// setPassword writes a password and ends the sessions and sign-ins of its user but the one to keep, in which it was chosen.
func (s *Users) setPassword(ctx context.Context, p auth.Principal, id int64, chosen, keep string) error {
	hash, err := s.cfg.Passwords.Hash(ctx, chosen)
	if err != nil {
		return err
	}
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		u, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		if u.Provider != "" {
			return problem.New(problem.Conflict, "problem.user.provider", "Provider", u.Provider)
		}
		if err := s.refuseService(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.queries.ResetUserPassword(ctx, tx, db.ResetUserPasswordParams{ID: id, NewPassword: hash}); err != nil {
			return err
		}
		if err := s.endSessions(ctx, tx, id, keep); err != nil {
			return err
		}
		if err := s.passwordChanged(ctx, tx, p, u, keep); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionPassword, Kind: ObjectUser, ID: id, Name: u.Name})
	})
}

// passwordChanged is what follows from every new password: its user may try it, sign-ins that began with the old one end, and one
// that somebody else gave is to be replaced.
func (s *Users) passwordChanged(ctx context.Context, tx *sql.Tx, by auth.Principal, u User, keep string) error {
	due := int64(0)
	if by.UserID != u.ID {
		due = 1
	}
	if err := s.queries.SetPasswordDue(ctx, tx, db.SetPasswordDueParams{ID: u.ID, PasswordDue: due}); err != nil {
		return err
	}
	if _, err := s.queries.DeleteOtherSignIns(ctx, tx, db.DeleteOtherSignInsParams{UserID: u.ID, KeepID: keep}); err != nil {
		return err
	}
	return auth.ForgetAttempts(ctx, tx, u.Name)
}

// checkPassword judges a password that somebody chose. Upstream takes 4 to 20 characters; ours are longer, and none that a list of
// common ones has.
func checkPassword(password, name string) []problem.Field {
	err := auth.CheckPassword(password, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, auth.ErrPasswordShort):
		return []problem.Field{{Name: UserPassword, Key: "user.error.short", Args: []any{"Min", auth.MinPasswordBytes}}}
	case errors.Is(err, auth.ErrPasswordLong):
		return []problem.Field{{Name: UserPassword, Key: "job.error.too_long", Args: []any{"Max", auth.MaxPasswordBytes}}}
	}
	return []problem.Field{{Name: UserPassword, Key: "user.error.weak"}}
}

// SetLooks keeps the language and the theme that somebody chose for themselves; an empty one stays as it is. It is theirs
// alone, so the audit log does not hear of it.
func (s *Users) SetLooks(ctx context.Context, p auth.Principal, lang, theme string) error {
	if p.Zero() {
		return forbidden()
	}
	if lang != "" {
		if err := s.queries.SetUserLang(ctx, s.cfg.Pool, db.SetUserLangParams{ID: p.UserID, Lang: lang}); err != nil {
			return fmt.Errorf("keep language: %w", db.Error(err))
		}
	}
	if theme != "" {
		if err := s.queries.SetUserTheme(ctx, s.cfg.Pool, db.SetUserThemeParams{ID: p.UserID, Theme: theme}); err != nil {
			return fmt.Errorf("keep theme: %w", db.Error(err))
		}
	}
	return nil
}

// SetZone keeps the time zone in which somebody wants to see times; "" is the installation's. It is theirs alone too.
func (s *Users) SetZone(ctx context.Context, p auth.Principal, zone string) error {
	if p.Zero() {
		return forbidden()
	}
	if _, err := jobspec.Location(zone); err != nil { // no name of one is longer than the column
		return problem.InvalidFields(problem.Field{Name: "time_zone", Key: jobspec.CodeZone, Args: []any{"Value", zone}})
	}
	if err := s.queries.SetUserZone(ctx, s.cfg.Pool, db.SetUserZoneParams{ID: p.UserID, TimeZone: zone}); err != nil {
		return fmt.Errorf("keep time zone: %w", db.Error(err))
	}
	return nil
}

// SetPreferences keeps how somebody wants the console. That is theirs alone too.
func (s *Users) SetPreferences(ctx context.Context, p auth.Principal, prefs auth.Preferences) error {
	if p.Zero() {
		return forbidden()
	}
	text := prefs.Text()
	if len(text) > maxPreferences {
		return &problem.Error{Kind: problem.Malformed}
	}
	if err := s.queries.SetUserPreferences(ctx, s.cfg.Pool, db.SetUserPreferencesParams{ID: p.UserID, Preferences: text}); err != nil {
		return fmt.Errorf("keep preferences: %w", db.Error(err))
	}
	return nil
}

// maxPreferences is the size of the column.
const maxPreferences = 2000

// endSessions ends the sessions of a user but the one to keep, and what programs they have let in that have not come for their tokens: until they do
// these are in no list, in which somebody could find what a stolen session has given away.
func (s *Users) endSessions(ctx context.Context, tx *sql.Tx, id int64, keep string) error {
	if _, err := s.queries.DeleteOtherSessions(ctx, tx, db.DeleteOtherSessionsParams{UserID: id, KeepID: keep}); err != nil {
		return err
	}
	_, err := s.queries.ForgetWhoLetIn(ctx, tx, id)
	return err
}

// SignOut ends every session of a user, or of the principal themselves all but the one in use.
func (s *Users) SignOut(ctx context.Context, p auth.Principal, id int64) error {
	keep := ""
	if id == p.UserID && !p.Zero() {
		keep = p.Session
	} else if err := requireAdmin(p); err != nil {
		return err
	}
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		u, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := s.endSessions(ctx, tx, id, keep); err != nil {
			return err
		}
		if _, err := s.queries.DeleteOtherSignIns(ctx, tx, db.DeleteOtherSignInsParams{UserID: id}); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionSignOut, Kind: ObjectUser, ID: id, Name: u.Name})
	})
}

// CountSessions is how many sessions a user has open.
func (s *Users) CountSessions(ctx context.Context, p auth.Principal, id int64) (int64, error) {
	if err := requireAdmin(p); err != nil {
		return 0, err
	}
	counts, err := s.cfg.Sessions.Count(ctx)
	return counts[id], err
}

// Sessions are those of a user, the one used last first: one's own, or for administrators anybody's.
func (s *Users) Sessions(ctx context.Context, p auth.Principal, id int64) ([]db.Session, error) {
	if id != p.UserID || p.Zero() {
		if err := requireAdmin(p); err != nil {
			return nil, err
		}
	}
	return s.cfg.Sessions.ListOf(ctx, id)
}

// EndSession ends one session of a user. That it had ended already is no fault.
func (s *Users) EndSession(ctx context.Context, p auth.Principal, id int64, session string) error {
	if id != p.UserID || p.Zero() {
		if err := requireAdmin(p); err != nil {
			return err
		}
	}
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		u, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		n, err := s.queries.DeleteSessionOfUser(ctx, tx, db.DeleteSessionOfUserParams{ID: session, UserID: id})
		if err != nil || n == 0 {
			return err
		}
		if _, err := s.queries.ForgetWhoLetIn(ctx, tx, id); err != nil { // which session did is not known
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionSignOut, Kind: ObjectUser, ID: id, Name: u.Name})
	})
}
