package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
)

// What a login can end in, besides success and a database's error.
var (
	// ErrWrongLogin is a wrong name or a wrong password: the answer must not tell which.
	ErrWrongLogin = errors.New("wrong name or password")
	// ErrTooManyLogins means that too many attempts failed lately for this name or from this address.
	ErrTooManyLogins = errors.New("too many failed logins")
	// ErrDisabled means that the password was right, but an administrator has shut the user out.
	ErrDisabled = errors.New("the user is disabled")
)

// Logins checks names and passwords.
type Logins struct {
	pool      *db.Pool
	queries   *db.Queries
	passwords *Passwords
	now       func() time.Time
	users     *limiters
	addresses *limiters // attempts, which a success gives back
	logins    *limiters // all logins of an address
}

// NewLogins makes the login over a database.
func NewLogins(pool *db.Pool, passwords *Passwords, now func() time.Time) *Logins {
	return &Logins{
		pool: pool, queries: db.New(), passwords: passwords, now: now,
		users:     newLimiters(userPause, attemptsPerUser, maxLimiters),
		addresses: newLimiters(addressPause, attemptsPerAddress, maxLimiters),
		logins:    newLimiters(loginPause, loginsPerAddress, maxLimiters),
	}
}

// Check says whose name and password these are, which come from an address: of somebody who wants to log in ([SignIns.Admit]
// goes on from there), or who is logged in and proves who they are once more. A password kept in one of XXL-JOB's hashes is
// hashed anew on the way. The errors are [ErrWrongLogin], [ErrTooManyLogins], [ErrDisabled], or the database's.
func (l *Logins) Check(ctx context.Context, name, password, address string) (Principal, error) {
	now := l.now()
	name = strings.TrimSpace(name)
	giveBack, ok := l.addresses.take(addressKey(address), now)
	if !ok || !l.logins.allow(addressKey(address), now) || !l.users.allow(nameKey(name), now) {
		return Principal{}, ErrTooManyLogins
	}
	u, err := l.queries.GetUserByName(ctx, l.pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		l.passwords.Waste(ctx, password)
		return Principal{}, ErrWrongLogin
	} else if err != nil {
		return Principal{}, fmt.Errorf("find user: %w", err)
	}
	ok, old, err := l.passwords.Check(ctx, u.Password, password)
	if err != nil {
		return Principal{}, err
	}
	if !ok {
		if len(u.Password) <= 64 {
			l.passwords.Waste(ctx, password) // an old hash is checked too fast, which would tell that the name exists
		}
		return Principal{}, ErrWrongLogin
	}
	l.users.forget(nameKey(name))
	giveBack()
	if old {
		l.upgrade(ctx, u, password)
	}
	if u.Disabled != 0 {
		return Principal{}, ErrDisabled
	}
	return NewPrincipal(u.ID, u.Username, u.Role, u.Permission), nil
}

// upgrade replaces an old hash. That it fails is no reason to refuse the login: the next one tries again.
func (l *Logins) upgrade(ctx context.Context, u db.GetUserByNameRow, password string) {
	fresh, err := l.passwords.Hash(ctx, password)
	if err != nil {
		return
	}
	_, _ = l.queries.SetUserPassword(ctx, l.pool, db.SetUserPasswordParams{ID: u.ID, NewPassword: fresh, OldPassword: u.Password})
}
