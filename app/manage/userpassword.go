package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// ResetPassword gives a user a new password, a random one that is returned if none was chosen, and logs them out.
func (s *Users) ResetPassword(ctx context.Context, p auth.Principal, id int64, chosen string) (made string, err error) {
	if err := s.requireOther(p, id); err != nil {
		return "", err
	}
	if chosen != "" {
		if fields := checkPassword(chosen); len(fields) > 0 {
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
	fields := checkPassword(chosen)
	if len(fields) == 0 && chosen != repeat {
		fields = append(fields, problem.Field{Name: UserRepeat, Key: "user.error.repeat"})
	}
	if len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	who, err := s.cfg.Logins.Check(ctx, auth.Attempt{Name: p.Name, Password: old, Address: p.Address, Session: p.Session})
	switch {
	case errors.Is(err, auth.ErrWrongLogin), err == nil && who.UserID != p.UserID:
		return problem.InvalidFields(problem.Field{Name: UserOldPassword, Key: "user.error.old"})
	case errors.Is(err, auth.ErrTooManyLogins):
		return problem.New(problem.TooMany, "login.error.toomany")
	case err != nil:
		return err
	}
	if err := s.setPassword(ctx, p, p.UserID, chosen, p.Session); err != nil {
		return fmt.Errorf("change password: %w", err)
	}
	return nil
}

// setPassword writes a password and ends the sessions of its user but the one to keep.
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
		if _, err := s.queries.ResetUserPassword(ctx, tx, db.ResetUserPasswordParams{ID: id, NewPassword: hash}); err != nil {
			return err
		}
		if _, err := s.queries.DeleteOtherSessions(ctx, tx, db.DeleteOtherSessionsParams{UserID: id, KeepID: keep}); err != nil {
			return err
		}
		if err := auth.ForgetAttempts(ctx, tx, u.Name); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionPassword, Kind: ObjectUser, ID: id, Name: u.Name})
	})
}

// checkPassword judges a password that somebody chose. Upstream takes 4 to 20 characters; ours are longer.
func checkPassword(password string) []problem.Field {
	switch {
	case len(password) < auth.MinPasswordBytes:
		return []problem.Field{{Name: UserPassword, Key: "user.error.short", Args: []any{"Min", auth.MinPasswordBytes}}}
	case len(password) > auth.MaxPasswordBytes:
		return []problem.Field{{Name: UserPassword, Key: "job.error.too_long", Args: []any{"Max", auth.MaxPasswordBytes}}}
	}
	return nil
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
		if _, err := s.queries.DeleteOtherSessions(ctx, tx, db.DeleteOtherSessionsParams{UserID: id, KeepID: keep}); err != nil {
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
	rows, err := s.queries.CountSessionsByUser(ctx, s.cfg.Pool, s.cfg.Now().UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", db.Error(err))
	}
	for _, r := range rows {
		if r.UserID == id {
			return r.Sessions, nil
		}
	}
	return 0, nil
}
