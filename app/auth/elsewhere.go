package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/db"
)

// ErrPasswordClosed means that the password was right, but that people come in through a provider or a directory: a password that
// is kept here opens for break-glass administrators only.
var ErrPasswordClosed = errors.New("passwords that are kept here open for break-glass administrators only")

// Elsewhere is where people are known who have no password here.
type Elsewhere interface {
	// CheckPassword says whose name and password these are. The error is [ErrWrongLogin] if nobody's, or says why nobody knows.
	CheckPassword(ctx context.Context, name, password string) (Principal, error)
}

// Ask has those who are not known by a password of this installation looked for elsewhere; nil: nowhere. onlyBreakGlass closes the
// passwords that are kept here to everybody but break-glass administrators.
func (l *Logins) Ask(e Elsewhere, onlyBreakGlass bool) {
	l.elsewhere, l.onlyBreakGlass = e, onlyBreakGlass
}

// ask looks elsewhere for whom has a name and a password; asked is false if it is u's own password here that counts.
func (l *Logins) ask(ctx context.Context, u db.GetUserByNameRow, name, password string) (p Principal, asked bool, err error) {
	if u.ID != 0 && u.Provider == "" {
		return Principal{}, false, nil
	}
	if l.elsewhere == nil {
		return Principal{}, u.Provider != "", ErrWrongLogin
	}
	p, err = l.elsewhere.CheckPassword(ctx, name, password)
	return p, true, err
}

// opens says whether the password that is kept here opens for a user. As long as no administrator is marked, every one of those
// that are kept here is as good as marked: nobody shuts themselves out.
func (l *Logins) opens(ctx context.Context, u db.GetUserByNameRow) error {
	if !l.onlyBreakGlass || u.Role == RoleAdmin && u.BreakGlass != 0 {
		return nil
	}
	marked, err := l.queries.CountBreakGlass(ctx, l.pool)
	if err != nil {
		return fmt.Errorf("count break-glass administrators: %w", db.Error(err))
	}
	if u.Role == RoleAdmin && marked == 0 {
		return nil
	}
	return ErrPasswordClosed
}
