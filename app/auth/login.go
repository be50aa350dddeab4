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
	// ErrTooManyLogins means that too many attempts failed lately for this name, or from this address, or are under way.
	ErrTooManyLogins = errors.New("too many failed logins")
	// ErrDisabled means that the password was right, but an administrator has shut the user out.
	ErrDisabled = errors.New("the user is disabled")
)

// Failed logins are counted in the database, by where they come from. Who comes from a device or an address at which the user has
// logged in before has attempts of their own; everybody else shares those of the name. So strangers can try few passwords on a
// name, however many addresses they have, and cannot lock its owner out.
const (
	attemptsHere       = 10 // of a name at one address, on one device, or in one session
	pauseHere          = 30 * time.Second
	attemptsOnName     = 30 // of a name from all places where it has not logged in before
	namePause          = 30 * time.Second
	attemptsPerAddress = 30 // of an address, which may stand for a whole office, on names that have not logged in there before
	addressPause       = 5 * time.Second
)

// A right password costs no attempt: behind one address there may be a hundred programs that log in when they are deployed. They
// are bounded by themselves, in each process: this is about its work and not about guessing.
const (
	loginsPerAddress = 300
	loginPause       = time.Second
	maxLimiters      = 10_000
	// maxUnderWay bounds the logins without a device's cookie that are looked at at a time, and with them what an attack
	// takes of the database.
	maxUnderWay = 200
)

// Attempt is somebody who says who they are.
type Attempt struct {
	Name     string
	Password string
	Address  string
	Device   string // the id of [Places.Device]; empty for none
	Session  string // of somebody who is logged in and proves who they are once more
}

// Logins checks names and passwords.
type Logins struct {
	pool      *db.Pool
	queries   *db.Queries
	passwords *Passwords
	places    *Places
	now       func() time.Time
	attempts  attempts
	logins    *limiters // all logins of an address
	underWay  chan struct{}

	elsewhere      Elsewhere // nil: nowhere
	onlyBreakGlass bool
}

// NewLogins makes the login over a database.
func NewLogins(pool *db.Pool, passwords *Passwords, places *Places, now func() time.Time) *Logins {
	return &Logins{
		pool: pool, queries: db.New(), passwords: passwords, places: places, now: now,
		attempts: attempts{pool: pool, queries: db.New()},
		logins:   newLimiters(loginPause, loginsPerAddress, maxLimiters),
		underWay: make(chan struct{}, maxUnderWay),
	}
}

// Check says whose name and password these are: of somebody who wants to log in ([SignIns.Admit] goes on from there), or who is
// logged in and proves who they are once more. A password kept in one of XXL-JOB's hashes is hashed anew on the way,
// once there is no way back to its admin any more. The errors
// are [ErrWrongLogin], [ErrTooManyLogins], [ErrDisabled], or the database's.
func (l *Logins) Check(ctx context.Context, a Attempt) (Principal, error) {
	now := l.now()
	a.Name = strings.TrimSpace(a.Name)
	if !l.logins.allow(addressKey(a.Address), now) {
		return Principal{}, ErrTooManyLogins
	}
	if a.Device == "" && a.Session == "" {
		select {
		case l.underWay <- struct{}{}:
			defer func() { <-l.underWay }()
		default:
			return Principal{}, ErrTooManyLogins
		}
	}
	u, err := l.find(ctx, a.Name)
	if err != nil {
		return Principal{}, err
	}
	limits, known, err := l.limitsOf(ctx, u.ID, a)
	if err != nil {
		return Principal{}, err
	}
	ok, err := l.attempts.take(ctx, nameID(a.Name), limits, now)
	if err != nil {
		return Principal{}, err
	}
	if !ok {
		return Principal{}, ErrTooManyLogins
	}
	if p, asked, err := l.ask(ctx, u, a.Name, a.Password); asked {
		switch {
		case err == nil:
			l.attempts.forget(ctx, limits[0])
			l.attempts.giveBack(ctx, limits[1:])
		case !errors.Is(err, ErrWrongLogin): // it was no guess
			l.attempts.giveBack(ctx, limits)
		}
		return p, err
	}
	ok, err = l.fits(ctx, u, a.Password, known)
	switch {
	case errors.Is(err, errBusy):
		l.attempts.giveBack(ctx, limits)
		return Principal{}, ErrTooManyLogins
	case err != nil:
		return Principal{}, err
	case !ok:
		return Principal{}, ErrWrongLogin
	}
	l.attempts.forget(ctx, limits[0])
	l.attempts.giveBack(ctx, limits[1:])
	if u.Disabled != 0 {
		return Principal{}, ErrDisabled
	}
	if err := l.opens(ctx, u); err != nil {
		return Principal{}, err
	}
	return NewPrincipal(u.ID, u.Username, u.Role, u.Permission), nil
}

// find is the user of a name, without an id if there is none. To MySQL's collations é is e, and what is not printed is nothing: whoever
// guesses would have attempts of their own for each way to write a name.
func (l *Logins) find(ctx context.Context, name string) (db.GetUserByNameRow, error) {
	u, err := l.queries.GetUserByName(ctx, l.pool, name)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return u, fmt.Errorf("find user: %w", err)
	}
	if nameKey(u.Username) != nameKey(name) {
		return db.GetUserByNameRow{}, nil
	}
	return u, nil
}

// limitsOf are what an attempt counts towards, that of the place itself first; known says that the user was there before.
func (l *Logins) limitsOf(ctx context.Context, userID int64, a Attempt) (limits []limit, known bool, err error) {
	name, address := nameKey(a.Name), addressKey(a.Address)
	here := func(what, which string) []limit {
		return []limit{{key: what + "|" + which + "|" + name, burst: attemptsHere, pause: pauseHere}}
	}
	if a.Session != "" {
		return here("session", a.Session), true, nil
	}
	byDevice, byAddress, err := l.places.known(ctx, userID, a.Device, a.Address)
	if err != nil {
		return nil, false, err
	}
	if byDevice {
		return here("device", a.Device), true, nil
	}
	limits = here("address", address)
	if byAddress {
		return limits, true, nil
	}
	return append(limits,
		limit{key: "name|" + name, burst: attemptsOnName, pause: namePause},
		limit{key: "network|" + address, burst: attemptsPerAddress, pause: addressPause}), false, nil
}

// fits checks a password against a user's, or wastes the same time for a name that does not exist.
func (l *Logins) fits(ctx context.Context, u db.GetUserByNameRow, password string, known bool) (bool, error) {
	if u.ID == 0 {
		return false, l.passwords.waste(ctx, password, known)
	}
	ok, old, err := l.passwords.check(ctx, u.Password, password, known)
	switch {
	case err != nil:
		return false, err
	case !ok && len(u.Password) <= 64: // an old hash is checked too fast, which would tell that the name exists
		return false, l.passwords.waste(ctx, password, known)
	case !ok:
		return false, nil
	case old:
		l.upgrade(ctx, u, password)
	}
	return true, nil
}

// upgrade replaces an old hash, unless an old admin may still need it. That it fails is no reason to refuse the login: the next one
// tries again.
func (l *Logins) upgrade(ctx context.Context, u db.GetUserByNameRow, password string) {
	if form, err := l.passwords.keptForm(ctx); err != nil || form != "" {
		return
	}
	fresh, err := l.passwords.Hash(ctx, password)
	if err != nil {
		return
	}
	_, _ = l.queries.SetUserPassword(ctx, l.pool, db.SetUserPasswordParams{ID: u.ID, NewPassword: fresh, OldPassword: u.Password})
}

// Clean deletes what the limits and the places do not need any more.
func (l *Logins) Clean(ctx context.Context) error {
	return errors.Join(l.attempts.clean(ctx, l.now()), l.places.Clean(ctx))
}
