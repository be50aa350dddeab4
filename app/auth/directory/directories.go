package directory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
)

// Directories are everybody who is asked.
type Directories struct {
	cfg       Config
	providers []*Provider
	ldap      []*LDAP
}

// New makes what a file describes; the zero Config is a file that names nobody.
func New(cfg Config, now func() time.Time) (*Directories, error) {
	d := &Directories{cfg: cfg}
	for _, o := range cfg.OIDC {
		p, err := NewProvider(o, now)
		if err != nil {
			return nil, err
		}
		d.providers = append(d.providers, p)
	}
	for _, l := range cfg.LDAP {
		d.ldap = append(d.ldap, NewLDAP(l))
	}
	return d, nil
}

// Configured says whether anybody is asked at all.
func (d *Directories) Configured() bool { return d.cfg.Configured() }

// OnlyBreakGlass says that of the passwords that are kept here only those of break-glass administrators open.
func (d *Directories) OnlyBreakGlass() bool { return d.cfg.Passwords == PasswordsBreakGlass }

// Checks says whether a directory of that name checks its people's passwords, which they type here.
func (d *Directories) Checks(name string) bool {
	return slices.ContainsFunc(d.ldap, func(l *LDAP) bool { return l.Name() == name })
}

// Tells says whether a provider of that name tells of a second factor at each sign-in.
func (d *Directories) Tells(name string) bool {
	p, ok := d.Provider(name)
	return ok && p.TellsSecond()
}

// HasLDAP says whether a name and a password can be those of a directory.
func (d *Directories) HasLDAP() bool { return len(d.ldap) > 0 }

// LDAP are the directories, in the order of the file.
func (d *Directories) LDAP() []*LDAP { return d.ldap }

// Providers are those of OpenID Connect, in the order of the file.
func (d *Directories) Providers() []*Provider { return d.providers }

// Provider is the one of a name.
func (d *Directories) Provider(name string) (*Provider, bool) {
	for _, p := range d.providers {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}

// Check asks the LDAP directories, in the order of the file, who has a name and a password. The first that knows the name
// decides. Each gets its share of the time that is left, so that one that says nothing leaves some for the next. The error is
// [auth.ErrWrongLogin] or an [Error].
func (d *Directories) Check(ctx context.Context, name, password string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	end, _ := ctx.Deadline()
	var down error
	for i, l := range d.ldap {
		share, stop := context.WithTimeout(ctx, time.Until(end)/time.Duration(len(d.ldap)-i))
		who, err := l.check(share, name, password)
		stop()
		switch fault, _ := errors.AsType[*Error](err); {
		case errors.Is(err, errUnknown):
		case fault != nil && fault.Reason == Down:
			down = err // another may know them
		default:
			return who, err
		}
	}
	if down != nil {
		return Identity{}, down
	}
	return Identity{}, auth.ErrWrongLogin
}
