package manage

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
)

// The names of the fields of second factors.
const (
	FactorCode = "code"
	FactorKey  = "credential"
)

// factorTurn is the kind of what is done to second factors: recovery codes go by how many of them there are.
const factorTurn = "factor"

// What else than a factor of one kind a change of second factors is about.
const (
	factorCodes = "codes" // the recovery codes, made anew
	factorAll   = "all"   // everything, reset by somebody else
)

// factorSnapshot is a second factor in the audit log.
func factorSnapshot(kind, name string) Snapshot {
	s := Snapshot{"factor": kind}
	if name = strings.TrimSpace(name); name != "" {
		s["name"] = cut(name, 64)
	}
	return s
}

// HasSecondHere says whether people of a provider show a second factor here: whoever types a password here does, their own ("") or a
// directory's. That of somebody who signs in at a provider is the provider's matter, and asked for there.
func (s *Users) HasSecondHere(provider string) bool {
	return provider == "" || s.cfg.Directories.Checks(provider)
}

// requireSecondHere refuses what is the matter of somebody's provider.
func (s *Users) requireSecondHere(p auth.Principal) error {
	if p.Zero() {
		return forbidden()
	}
	if !s.HasSecondHere(p.Provider) {
		return problem.New(problem.Conflict, "second.provider", "Provider", p.Provider)
	}
	return nil
}

// Prove asks somebody who is logged in for their password before they change their second factors: for their own, or the one that
// their directory knows.
func (s *Users) Prove(ctx context.Context, p auth.Principal, password string) error {
	if err := s.requireSecondHere(p); err != nil {
		return err
	}
	return s.prove(ctx, p, password)
}

// prove checks the password of somebody who is logged in.
func (s *Users) prove(ctx context.Context, p auth.Principal, password string) error {
	who, err := s.cfg.Logins.Check(ctx, auth.Attempt{Name: p.Name, Password: password, Address: p.Address, Session: p.Session})
	if err == nil && who.UserID != p.UserID {
		err = auth.ErrWrongLogin
	}
	s.audit.LoginRefused(ctx, p, err)
	switch {
	case errors.Is(err, auth.ErrWrongLogin):
		return problem.InvalidFields(problem.Field{Name: UserOldPassword, Key: "user.error.old"})
	case errors.Is(err, auth.ErrPasswordClosed):
		return problem.InvalidFields(problem.Field{Name: UserOldPassword, Key: "login.error.closed"})
	case errors.Is(err, auth.ErrTooManyLogins):
		return problem.New(problem.TooMany, "login.error.toomany")
	}
	return err
}

// AddCode gives somebody an app's codes as a second factor, and recovery codes with the first one.
func (s *Users) AddCode(ctx context.Context, p auth.Principal, token, code, name string) (codes []string, err error) {
	if err := s.requireSecondHere(p); err != nil {
		return nil, err
	}
	return s.add(ctx, p, FactorCode, factorSnapshot(auth.FactorCode, name), func(ctx context.Context) error { return s.cfg.Factors.AddCode(ctx, p, token, code, name) })
}

// AddPasskey gives somebody a passkey as a second factor, and recovery codes with the first one.
func (s *Users) AddPasskey(r *http.Request, p auth.Principal, token, answer, name string) (codes []string, err error) {
	if err := s.requireSecondHere(p); err != nil {
		return nil, err
	}
	return s.add(r.Context(), p, FactorKey, factorSnapshot(auth.FactorPasskey, name), func(ctx context.Context) error {
		return s.cfg.Factors.AddPasskey(r.WithContext(ctx), p, token, answer, name)
	})
}

// factorProblem is what is wrong with a field.
func factorProblem(err error, field string) error {
	switch {
	case errors.Is(err, auth.ErrWrongCode):
		key := "second.error.code"
		if field == FactorKey {
			key = "second.error.credential"
		}
		return problem.InvalidFields(problem.Field{Name: field, Key: key})
	case errors.Is(err, auth.ErrSetupExpired):
		return problem.InvalidFields(problem.Field{Name: field, Key: "second.error.expired"})
	case errors.Is(err, auth.ErrManyFactors):
		return problem.InvalidFields(problem.Field{Name: field, Key: "second.error.many"})
	}
	return err
}

// add gives somebody a second factor more, whose field is told of what is wrong, and recovery codes if they have none.
func (s *Users) add(ctx context.Context, p auth.Principal, field string, added Snapshot, keep func(context.Context) error) (codes []string, err error) {
	err = s.cfg.Pool.InTurn(ctx, factorTurn, func(ctx context.Context, tx *sql.Tx) error {
		codes = nil // of a try before
		if err := keep(ctx); err != nil {
			return factorProblem(err, field)
		}
		if p.Session != "" { // and not at a login
			if err := s.cfg.Sessions.Renew(ctx, tx, p); err != nil {
				return err
			}
		}
		n, err := s.queries.CountRecoveryCodes(ctx, tx, p.UserID)
		if err != nil {
			return err
		}
		if n == 0 {
			if codes, err = s.cfg.Factors.NewCodes(ctx, tx, p.UserID); err != nil {
				return err
			}
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionSecond, Kind: ObjectUser, ID: p.UserID, Name: p.Name, After: added})
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// NewRecoveryCodes makes somebody's recovery codes anew; the old ones are worth nothing any more.
func (s *Users) NewRecoveryCodes(ctx context.Context, p auth.Principal) (codes []string, err error) {
	err = s.cfg.Pool.InTurn(ctx, factorTurn, func(ctx context.Context, tx *sql.Tx) error {
		n, err := s.queries.CountFactors(ctx, tx, p.UserID)
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.New(problem.Conflict, "second.error.none")
		}
		if codes, err = s.cfg.Factors.NewCodes(ctx, tx, p.UserID); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionSecond, Kind: ObjectUser, ID: p.UserID, Name: p.Name, After: factorSnapshot(factorCodes, "")})
	})
	return codes, err
}

// RemoveFactor drops one of somebody's second factors.
func (s *Users) RemoveFactor(ctx context.Context, p auth.Principal, id int64) error {
	return s.cfg.Pool.InTurn(ctx, factorTurn, func(ctx context.Context, tx *sql.Tx) error {
		have, err := s.queries.ListFactors(ctx, tx, p.UserID)
		if err != nil {
			return err
		}
		var before Snapshot
		for _, f := range have {
			if f.ID == id {
				before = factorSnapshot(f.Kind, f.Name)
			}
		}
		removed, err := s.cfg.Factors.Remove(ctx, tx, p.UserID, id)
		if err != nil || !removed {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionSecond, Kind: ObjectUser, ID: p.UserID, Name: p.Name, Before: before})
	})
}

// ResetSecond drops all second factors of somebody who has lost theirs, and ends their sessions.
func (s *Users) ResetSecond(ctx context.Context, p auth.Principal, id int64) error {
	if err := s.requireOther(p, id); err != nil {
		return err
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		u, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := auth.ForgetFactors(ctx, tx, id); err != nil {
			return err
		}
		if err := auth.ForgetAttempts(ctx, tx, u.Name); err != nil {
			return err
		}
		if err := s.endSessions(ctx, tx, id, ""); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionSecond, Kind: ObjectUser, ID: id, Name: u.Name, Before: factorSnapshot(factorAll, "")})
	})
	return during("reset second factor", err)
}
