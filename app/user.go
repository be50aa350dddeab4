package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Migrate opens the database, brings it up to date and closes it. It returns where it is.
func Migrate(ctx context.Context, o Options) (string, error) {
	o, err := o.withDefaults()
	if err != nil {
		return "", err
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return "", err
	}
	return pool.String(), errors.Join(migrate(ctx, pool), pool.Close())
}

// migrate brings a database up to date. That it was written in another zone is a wrong setting.
func migrate(ctx context.Context, pool *db.Pool) error {
	err := pool.Migrate(ctx)
	if _, off := errors.AsType[*db.ZoneError](err); off {
		return &OptionsError{Err: err}
	}
	return err
}

// zoneWithOffset names a zone, with what it is ahead of UTC now.
func zoneWithOffset(zone *time.Location, now time.Time) string {
	return zone.String() + " " + now.In(zone).Format("UTC-07:00")
}

// ResetPassword gives a user a new password, a random one if it is empty, and ends their sessions. It returns the password.
func ResetPassword(ctx context.Context, o Options, name, password string) (string, error) {
	if password == "" {
		password = auth.NewPassword()
	}
	switch err := auth.CheckPassword(password, name); {
	case errors.Is(err, auth.ErrPasswordWeak):
		return "", wrong("%w: choose one that is on no list of common passwords, such as some unrelated words", err)
	case err != nil:
		return "", wrong("the password must have %d to %d characters", auth.MinPasswordBytes, auth.MaxPasswordBytes)
	}
	err := withService(ctx, o, func(service *manage.Service, by auth.Principal, pool *db.Pool) error {
		user, err := userNamed(ctx, pool, name)
		if err != nil {
			return err
		}
		if user.Provider != "" {
			return wrong("%s signs in through %s and has no password here", name, user.Provider)
		}
		account, err := db.New().IsServiceAccount(ctx, pool, user.ID)
		if err != nil {
			return fmt.Errorf("find user: %w", db.Error(err))
		}
		if account > 0 {
			return wrong("%s is a service account: it has API tokens, and nobody logs in as it", name)
		}
		_, err = service.Users.ResetPassword(ctx, by, user.ID, password)
		return err
	})
	return password, err
}

// ResetSecondFactor drops the second factors and recovery codes of a user, and ends their sessions.
func ResetSecondFactor(ctx context.Context, o Options, name string) error {
	return withService(ctx, o, func(service *manage.Service, by auth.Principal, pool *db.Pool) error {
		user, err := userNamed(ctx, pool, name)
		if err != nil {
			return err
		}
		return service.Users.ResetSecond(ctx, by, user.ID)
	})
}

// TokenRequest says which token a command is to make.
type TokenRequest struct {
	Account string // a service account, which is made if there is nobody of that name
	Name    string
	Scope   []string
	Days    int // until it expires; 0: never
}

// TokenAccount is the field of a [TokenRequest] that a refusal is about when it is about no other of [manage.APITokenInput].
const TokenAccount = "account"

// CreateToken makes an API token with nobody signed in, also before the first start of an admin: the first one, with which the rest of an
// installation is set up. It is a service account's, since whoever has a token is taken for its owner in the audit log. An account is made
// with its token or not at all: one that a refused wish left would be there for less than the next one asks for.
func CreateToken(ctx context.Context, o Options, r TokenRequest) (token string, err error) {
	in := manage.APITokenInput{Name: r.Name, Days: r.Days}.Scoped(r.Scope)
	err = withService(ctx, o, func(service *manage.Service, by auth.Principal, pool *db.Pool) error {
		return pool.Together(ctx, func(ctx context.Context) error {
			var err error
			if in.Owner, err = accountFor(ctx, service, by, pool, r.Account, in.Admin); err != nil {
				return err
			}
			_, token, err = service.APITokens.Create(ctx, by, in)
			return err
		})
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// accountFor is the service account with a name. One that is made for the scope admin is an administrator; what there is stays as it is.
func accountFor(ctx context.Context, service *manage.Service, by auth.Principal, pool *db.Pool, name string, admin bool) (int64, error) {
	user, err := db.New().GetUserByName(ctx, pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		if name == administratorName { // the first start could not make its administrator then, and nobody could sign in
			return 0, wrong("the name %s is kept for the first administrator: take another one for a service account", name)
		}
		id, err := service.APITokens.CreateAccount(ctx, by, name, admin)
		if refused, ok := errors.AsType[*problem.Error](err); ok {
			for i := range refused.Fields {
				refused.Fields[i].Name = TokenAccount // and not that of the token
			}
		}
		return id, err
	} else if err != nil {
		return 0, fmt.Errorf("find user: %w", err)
	}
	account, err := db.New().IsServiceAccount(ctx, pool, user.ID)
	if err != nil {
		return 0, fmt.Errorf("find user: %w", db.Error(err))
	}
	if account == 0 {
		return 0, wrong("%s is a person: whoever has a token is taken for its owner, so take a name that is not taken, for a service account", name)
	}
	return user.ID, nil
}

// userNamed is the user that a command is about.
func userNamed(ctx context.Context, pool *db.Pool, name string) (db.GetUserByNameRow, error) {
	user, err := db.New().GetUserByName(ctx, pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return user, wrong("there is no user %q", name)
	} else if err != nil {
		return user, fmt.Errorf("find user: %w", err)
	}
	return user, nil
}

func openPool(ctx context.Context, o Options) (*db.Pool, error) {
	return db.Open(ctx, db.Config{
		URL: o.DatabaseURL, DataDir: o.DataDir, Zone: o.Zone, MaxConns: o.MaxConns, Logger: o.Logger, Unsafe: o.UnsafeDB, ReadOnly: o.readOnly, Existing: o.existing,
	})
}
