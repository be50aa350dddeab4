package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
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
	return pool.String(), errors.Join(pool.Migrate(ctx), pool.Close())
}

// ResetPassword gives a user a new password, a random one if it is empty, and ends their sessions. It returns the password.
func ResetPassword(ctx context.Context, o Options, name, password string) (_ string, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return "", err
	}
	if password == "" {
		password = auth.NewPassword()
	}
	switch err := auth.CheckPassword(password, name); {
	case errors.Is(err, auth.ErrPasswordWeak):
		return "", wrong("%w: choose one that is on no list of common passwords, such as some unrelated words", err)
	case err != nil:
		return "", wrong("the password must have %d to %d characters", auth.MinPasswordBytes, auth.MaxPasswordBytes)
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := pool.Migrate(ctx); err != nil {
		return "", err
	}
	q := db.New()
	user, err := q.GetUserByName(ctx, pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return "", wrong("there is no user %q", name)
	} else if err != nil {
		return "", fmt.Errorf("find user: %w", err)
	}
	if user.Provider != "" {
		return "", wrong("%s signs in through %s and has no password here", name, user.Provider)
	}
	service, err := q.IsServiceAccount(ctx, pool, user.ID)
	if err != nil {
		return "", fmt.Errorf("find user: %w", db.Error(err))
	}
	if service > 0 {
		return "", wrong("%s is a service account: it has API tokens, and nobody logs in as it", name)
	}
	hash, err := auth.NewPasswords(1).Hash(ctx, password)
	if err != nil {
		return "", err
	}
	n, err := q.SetUserPassword(ctx, pool, db.SetUserPasswordParams{ID: user.ID, NewPassword: hash, OldPassword: user.Password})
	if err != nil {
		return "", fmt.Errorf("set password: %w", db.Error(err))
	}
	if n == 0 {
		return "", errors.New("the password was changed by somebody else just now; try again")
	}
	if err := q.SetPasswordDue(ctx, pool, db.SetPasswordDueParams{ID: user.ID, PasswordDue: 1}); err != nil {
		return "", fmt.Errorf("note that the password was given: %w", db.Error(err))
	}
	if _, err := q.DeleteSignInsOfUser(ctx, pool, user.ID); err != nil {
		return "", fmt.Errorf("end sign-ins: %w", db.Error(err))
	}
	if err := auth.ForgetAttempts(ctx, pool, user.Username); err != nil {
		return "", err
	}
	return password, auth.NewSessions(pool, make([]byte, 32), make([]byte, 32), time.Now, auth.DefaultPolicy).EndAll(ctx, user.ID)
}

// ResetSecondFactor drops the second factors and recovery codes of a user, and ends their sessions.
func ResetSecondFactor(ctx context.Context, o Options, name string) (err error) {
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := pool.Migrate(ctx); err != nil {
		return err
	}
	user, err := db.New().GetUserByName(ctx, pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return wrong("there is no user %q", name)
	} else if err != nil {
		return fmt.Errorf("find user: %w", err)
	}
	return pool.Tx(ctx, func(tx *sql.Tx) error {
		if err := auth.ForgetFactors(ctx, tx, user.ID); err != nil {
			return err
		}
		if err := auth.ForgetAttempts(ctx, tx, user.Username); err != nil {
			return err
		}
		_, err := db.New().DeleteSessionsOfUser(ctx, tx, user.ID)
		return db.Error(err)
	})
}

func openPool(ctx context.Context, o Options) (*db.Pool, error) {
	return db.Open(ctx, db.Config{
		URL: o.DatabaseURL, DataDir: o.DataDir, Zone: o.Zone, MaxConns: o.MaxConns, Logger: o.Logger, Unsafe: o.UnsafeDB, ReadOnly: o.readOnly,
	})
}
