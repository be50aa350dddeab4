package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/db"
)

const (
	pendingName = "punctual_sign_in"
	// pendingLife is how long somebody has for the steps that are left.
	pendingLife = 10 * time.Minute
	// endedLife is for how long a sign-in is known whose session is there.
	endedLife = 10 * time.Second
)

// Pending is a sign-in of which a step is left. It is no session: it leads to the pages of its steps and nowhere else.
type Pending struct {
	SignIn
	id        string
	challenge string
}

// ID tells it from others of the same user.
func (p *Pending) ID() string { return p.id }

// suspend keeps a sign-in until its steps are taken.
func (s *SignIns) suspend(w http.ResponseWriter, r *http.Request, in SignIn) error {
	id := rand.Text() + rand.Text()
	err := s.queries.InsertSignIn(r.Context(), s.cfg.Pool, db.InsertSignInParams{
		ID: rowID(id), UserID: in.Who.UserID, Way: string(in.Way), Provider: short(in.Provider, 64), Remember: number(in.Remember), Strong: strength(in.Second),
		Address: short(in.Address, 64), ExpiresAt: s.cfg.Now().Add(pendingLife).UnixMilli(),
	})
	if err != nil {
		return fmt.Errorf("keep sign-in: %w", db.Error(err))
	}
	http.SetCookie(w, pendingCookie(r, id))
	return nil
}

// Pending is the sign-in that a request goes on with; [ErrNoSignIn] if there is none any more.
func (s *SignIns) Pending(r *http.Request) (*Pending, error) {
	cookie, err := r.Cookie(pendingName)
	if err != nil || len(cookie.Value) != idLength {
		return nil, ErrNoSignIn
	}
	row, err := s.queries.GetSignIn(r.Context(), s.cfg.Pool, db.GetSignInParams{ID: rowID(cookie.Value), NowMs: s.cfg.Now().UnixMilli()})
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil, ErrNoSignIn
	} else if err != nil {
		return nil, fmt.Errorf("find sign-in: %w", err)
	}
	who := NewPrincipal(row.UserID, row.Username, row.Role, row.Permission)
	who.Lang, who.Theme, who.Address = row.Lang, row.Theme, row.Address
	return &Pending{
		SignIn: SignIn{Who: who, Way: Way(row.Way), Provider: row.Provider, Remember: row.Remember != 0, Address: row.Address, Second: seconds[min(max(row.Strong, 0), int64(len(seconds)-1))]},
		id:     row.ID, challenge: string(row.Challenge),
	}, nil
}

// Step is what is to be done next for a sign-in.
func (s *SignIns) Step(ctx context.Context, p *Pending) (Step, error) { return s.due(ctx, p.SignIn) }

// Shown notes which second factor was shown, or has just been set up.
func (s *SignIns) Shown(ctx context.Context, p *Pending, second Second) error {
	if err := s.queries.SetSignInStrong(ctx, s.cfg.Pool, db.SetSignInStrongParams{ID: p.id, Strong: strength(second)}); err != nil {
		return fmt.Errorf("note that the second factor was shown: %w", db.Error(err))
	}
	p.Second = second
	return nil
}

// Clean deletes sign-ins that were given up.
func (s *SignIns) Clean(ctx context.Context) error {
	_, err := s.queries.DeleteSignInsBefore(ctx, s.cfg.Pool, s.cfg.Now().UnixMilli())
	return db.Error(err)
}

func pendingCookie(r *http.Request, id string) *http.Cookie {
	c := &http.Cookie{Name: pendingName, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: IsHTTPS(r), MaxAge: int(pendingLife / time.Second)}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
