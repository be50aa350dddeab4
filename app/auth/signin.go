package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
)

// Way is how somebody showed who they are.
type Way string

const (
	WayPassword  Way = "password"  // one that is kept here
	WayDirectory Way = "directory" // name and password, asked of a directory (LDAP)
	WayProvider  Way = "provider"  // an identity provider vouches for them (OIDC)
)

// SignIn is somebody who has shown who they are and wants a session. It is not yet one: see [SignIns.Admit].
type SignIn struct {
	Who      Principal
	Way      Way
	Provider string // which provider or directory; empty for [WayPassword]
	Remember bool   // they asked to stay logged in
	Address  string // where they are
	Second   Second // what was shown besides, so far
}

// Second is which second factor was shown at a sign-in, as the audit log names it.
type Second string

const (
	SecondNone     Second = ""
	SecondUnknown  Second = "unknown"  // it is the provider's matter, and nothing says what it asked for
	SecondProvider Second = "provider" // the provider's ID token shows one
	SecondCode     Second = FactorCode
	SecondPasskey  Second = FactorPasskey
	SecondRecovery Second = "recovery"
)

// seconds are the numbers by which sign-ins that are under way and sessions keep them.
var seconds = []Second{SecondNone, SecondUnknown, SecondProvider, SecondCode, SecondPasskey, SecondRecovery}

func strength(second Second) int64 { return int64(slices.Index(seconds, second)) }

// Step is what somebody still has to do before they have a session.
type Step string

// The steps, in the order in which they are asked for.
const (
	StepNone     Step = ""         // nothing: the session is open
	StepSecond   Step = "second"   // show the second factor
	StepSetup    Step = "setup"    // set one up
	StepPassword Step = "password" // choose another password
)

// ErrNoSignIn means that a request belongs to no sign-in that is under way.
var ErrNoSignIn = errors.New("no sign-in is under way")

// ErrStepDue means that a program cannot log in so: there is a step that only a person can take, in the console.
var ErrStepDue = errors.New("logging in needs another step, which only the console offers")

// SignInConfig is what sign-ins are made of.
type SignInConfig struct {
	Pool     *db.Pool
	Sessions *Sessions
	Places   *Places
	Now      func() time.Time
	Policy   func() Policy
	// Opened is told of every session that was opened: the audit log wants to know.
	Opened func(ctx context.Context, in SignIn)
}

// SignIns make sessions. Every way to show who one is ends here, and nothing else opens a session, so that what is asked for
// besides (a second factor, a new password) is asked for in every way.
type SignIns struct {
	cfg     SignInConfig
	queries *db.Queries
}

// NewSignIns makes sign-ins.
func NewSignIns(cfg SignInConfig) *SignIns { return &SignIns{cfg: cfg, queries: db.New()} }

// Admit opens a session in the console's cookie, or says which step is still to be taken; the browser then holds a cookie by
// which the step knows of this sign-in ([SignIns.Pending]).
func (s *SignIns) Admit(w http.ResponseWriter, r *http.Request, in SignIn) (Step, error) {
	step, err := s.due(r.Context(), in)
	if err != nil {
		return step, err
	}
	if step != StepNone {
		return step, s.suspend(w, r, in)
	}
	return StepNone, s.open(w, r, in)
}

// Continue opens the session of a sign-in of which a step was taken, or says which is the next. A form that was sent twice, as by a double
// click, gets a session each time: the browser lets go of the first answer, and with it of the session.
func (s *SignIns) Continue(w http.ResponseWriter, r *http.Request, p *Pending) (Step, error) {
	step, err := s.due(r.Context(), p.SignIn)
	if err != nil || step != StepNone {
		return step, err
	}
	if err := s.end(r.Context(), p); err != nil {
		return StepNone, err
	}
	http.SetCookie(w, pendingCookie(r, ""))
	return StepNone, s.open(w, r, p.SignIn)
}

// end leaves a sign-in for [endedLife]. One that somebody else has ended meanwhile, as by a reset of the password, is [ErrNoSignIn].
func (s *SignIns) end(ctx context.Context, p *Pending) error {
	now := s.cfg.Now()
	n, err := s.queries.EndSignIn(ctx, s.cfg.Pool, db.EndSignInParams{ID: p.id, UntilMs: now.Add(endedLife).UnixMilli()})
	if err == nil && n == 0 { // it has ended before, or is not there
		_, err = s.queries.GetSignIn(ctx, s.cfg.Pool, db.GetSignInParams{ID: p.id, NowMs: now.UnixMilli()})
	}
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound):
		return ErrNoSignIn
	case err != nil:
		return fmt.Errorf("end sign-in: %w", err)
	}
	return nil
}

func (s *SignIns) open(w http.ResponseWriter, r *http.Request, in SignIn) error {
	if err := s.cfg.Sessions.start(w, r, in); err != nil {
		return err
	}
	s.opened(r.Context(), in)
	// Where somebody logs in is known from now on; that it could not be kept is no reason to keep them out.
	_ = s.cfg.Places.keepDevice(w, r, in.Who.UserID)
	return nil
}

// AdmitProgram opens a session in one of the former cookies. It is [ErrStepDue] if that takes more than what was shown.
func (s *SignIns) AdmitProgram(w http.ResponseWriter, r *http.Request, in SignIn, cookie string) error {
	step, err := s.due(r.Context(), in)
	if err != nil {
		return err
	}
	if step != StepNone {
		return ErrStepDue
	}
	if err := s.cfg.Sessions.openFormer(w, r, in, cookie); err != nil {
		return err
	}
	s.opened(r.Context(), in)
	return nil
}

// due says which step is the next.
func (s *SignIns) due(ctx context.Context, in SignIn) (Step, error) {
	u, err := s.queries.GetUserDue(ctx, s.cfg.Pool, in.Who.UserID)
	if err != nil {
		return StepNone, fmt.Errorf("find what is left to do for a session: %w", db.Error(err))
	}
	if in.Way != WayProvider && in.Second == SecondNone { // at a provider it is the provider's matter
		n, err := s.queries.CountFactors(ctx, s.cfg.Pool, in.Who.UserID)
		switch {
		case err != nil:
			return StepNone, fmt.Errorf("count second factors: %w", db.Error(err))
		case n > 0:
			return StepSecond, nil
		case s.cfg.Policy().NeedsSecond(u.Role):
			return StepSetup, nil
		}
	}
	if in.Way == WayPassword && u.PasswordDue != 0 && s.cfg.Policy().ChangeGiven {
		return StepPassword, nil
	}
	return StepNone, nil
}

func (s *SignIns) opened(ctx context.Context, in SignIn) {
	// When and where somebody was here last is worth knowing, but no reason to keep them out.
	_ = s.cfg.Places.keep(ctx, in.Who.UserID, addressPlace(in.Address))
	_ = s.queries.SetUserLogin(ctx, s.cfg.Pool, db.SetUserLoginParams{ID: in.Who.UserID, LoginAt: s.cfg.Now().UnixMilli()})
	if s.cfg.Opened != nil {
		in.Who.Address = in.Address
		s.cfg.Opened(ctx, in)
	}
}
