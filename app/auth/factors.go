package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/securecookie"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

// Kinds of second factors.
const (
	FactorCode    = "totp"    // codes of an app
	FactorPasskey = "passkey" // WebAuthn
)

// What showing or adding a second factor can end in, besides success and a database's error.
var (
	// ErrWrongCode is a wrong code, one that was taken already, or a passkey that is nobody's.
	ErrWrongCode = errors.New("wrong code or passkey")
	// ErrWrongPasskey and ErrWrongRecovery are kinds of ErrWrongCode.
	ErrWrongPasskey  = fmt.Errorf("%w: the passkey could not be checked", ErrWrongCode)
	ErrWrongRecovery = fmt.Errorf("%w: no recovery code that is left", ErrWrongCode)
	// ErrFactorSealed means that an app's codes cannot be checked, since their secret was sealed with a secret key that is not there
	// any more. Recovery codes and passkeys are not sealed.
	ErrFactorSealed = errors.New("the secret of a second factor is sealed with another secret key")
	// ErrSetupExpired means that too much time passed between the question and its answer.
	ErrSetupExpired = errors.New("the second factor was not set up in time")
	// ErrManyFactors means that a user has as many as there may be.
	ErrManyFactors = errors.New("too many second factors")
)

const (
	// maxFactors bounds the second factors of one user.
	maxFactors = 20
	// attemptsOnFactor and factorPause bound guessing by somebody who knows the password: three of a million codes are right at
	// any time, so that a day of guesses finds one in 250 days on average.
	attemptsOnFactor = 5
	factorPause      = time.Minute
	// setupLife is how long somebody has to set up a second factor.
	setupLife = 10 * time.Minute
)

// Factor is a second factor of a user.
type Factor struct {
	ID        int64
	Kind      string
	Name      string
	CreatedAt int64 // epoch ms
	UsedAt    int64 // epoch ms; 0 if never
}

// Factors keep the second factors of users: codes of an app, passkeys, and recovery codes for the day when these are lost.
type Factors struct {
	pool     *db.Pool
	queries  *db.Queries
	seal     *seal.Seal // nil without a secret key
	codec    *securecookie.SecureCookie
	places   *Places
	attempts attempts
	now      func() time.Time
	unopened sync.Once // says once in a process that secrets are sealed with another key
	logger   *slog.Logger
}

// NewFactors keeps second factors in a database. The key signs what a form carries from a question to its answer; sealing may be
// nil.
func NewFactors(pool *db.Pool, signKey []byte, sealing *seal.Seal, places *Places, now func() time.Time, logger *slog.Logger) *Factors {
	return &Factors{
		logger: logger, pool: pool, queries: db.New(), seal: sealing, places: places, now: now, attempts: attempts{pool: pool, queries: db.New()},
		codec: securecookie.New(signKey, nil).MaxAge(0).MaxLength(16 << 10), // which goes by the machine's clock
	}
}

// timely reports whether a question of then may still be answered.
func (f *Factors) timely(begun int64) bool {
	return f.now().Sub(time.UnixMilli(begun)).Abs() <= setupLife
}

// List are a user's second factors, and how many recovery codes are left.
func (f *Factors) List(ctx context.Context, userID int64) (list []Factor, codes int64, err error) {
	rows, err := f.queries.ListFactors(ctx, f.pool, userID)
	if err != nil {
		return nil, 0, fmt.Errorf("list second factors: %w", db.Error(err))
	}
	for _, r := range rows {
		list = append(list, Factor{ID: r.ID, Kind: r.Kind, Name: r.Name, CreatedAt: r.CreatedAt, UsedAt: r.UsedAt})
	}
	codes, err = f.queries.CountRecoveryCodes(ctx, f.pool, userID)
	if err != nil {
		return nil, 0, fmt.Errorf("count recovery codes: %w", db.Error(err))
	}
	return list, codes, nil
}

// add keeps a second factor.
func (f *Factors) add(ctx context.Context, userID int64, kind, name, secret string, step int64) error {
	n, err := f.queries.CountFactors(ctx, f.pool, userID)
	if err != nil {
		return fmt.Errorf("count second factors: %w", db.Error(err))
	}
	if n >= maxFactors {
		return ErrManyFactors
	}
	_, err = f.queries.InsertFactor(ctx, f.pool, db.InsertFactorParams{
		UserID: userID, Kind: kind, Name: short(strings.TrimSpace(name), 64), Secret: db.Text(secret), LastStep: step, CreatedAt: f.now().UnixMilli(),
	})
	if err != nil {
		return fmt.Errorf("keep second factor: %w", db.Error(err))
	}
	return nil
}

// Remove drops one second factor, and with the last of them the recovery codes; false if the user has no such one.
func (f *Factors) Remove(ctx context.Context, tx db.DBTX, userID, id int64) (bool, error) {
	n, err := f.queries.DeleteFactor(ctx, tx, db.DeleteFactorParams{ID: id, UserID: userID})
	if err != nil || n == 0 {
		return false, db.Error(err)
	}
	left, err := f.queries.CountFactors(ctx, tx, userID)
	if err == nil && left == 0 {
		_, err = f.queries.DeleteRecoveryCodes(ctx, tx, userID)
	}
	return true, db.Error(err)
}

// ForgetFactors drops all second factors of a user, and what was asked of them.
func ForgetFactors(ctx context.Context, tx db.DBTX, userID int64) error {
	q := db.New()
	for _, drop := range []func(context.Context, db.DBTX, int64) (int64, error){q.DeleteFactorsOfUser, q.DeleteRecoveryCodes, q.DeleteSignInsOfUser} {
		if _, err := drop(ctx, tx, userID); err != nil {
			return fmt.Errorf("drop second factors: %w", db.Error(err))
		}
	}
	return nil
}

// limited takes an attempt at the second factor of a user, and gives it back after a success. Who comes from a device at which the
// user has logged in before has attempts of their own.
func (f *Factors) limited(r *http.Request, p Principal, show func() error) error {
	ctx := r.Context()
	l := limit{key: "second|" + strconv.FormatInt(p.UserID, 10), burst: attemptsOnFactor, pause: factorPause}
	device := f.places.Device(r)
	byDevice, _, err := f.places.known(ctx, p.UserID, device, "")
	if err != nil {
		return err
	}
	if byDevice {
		l.key += "|" + device
	}
	ok, err := f.attempts.take(ctx, nameID(p.Name), []limit{l}, f.now())
	if err != nil {
		return err
	}
	if !ok {
		return ErrTooManyLogins
	}
	err = show()
	switch {
	case err == nil:
		f.attempts.forget(ctx, l)
	case !errors.Is(err, ErrWrongCode): // it was no guess
		f.attempts.giveBack(ctx, []limit{l})
	}
	return err
}

// ShowCode is somebody who shows a code of their app, or one of their recovery codes. It says which.
func (f *Factors) ShowCode(r *http.Request, p Principal, code string) (shown Second, err error) {
	code, shown = plainCode(code), SecondRecovery
	if len(code) == codeDigits {
		shown = SecondCode
	}
	return shown, f.limited(r, p, func() error {
		if shown == SecondCode {
			return f.takeCode(r.Context(), p.UserID, code)
		}
		n, err := f.queries.UseRecoveryCode(r.Context(), f.pool, db.UseRecoveryCodeParams{UserID: p.UserID, Hash: recoveryHash(p.UserID, code)})
		if err != nil {
			return fmt.Errorf("take recovery code: %w", db.Error(err))
		}
		if n == 0 {
			return ErrWrongRecovery
		}
		return nil
	})
}

// plainCode is a code without what apps and people put between its letters.
func plainCode(code string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || c == '-' || c == '\t' {
			return -1
		}
		return c
	}, strings.ToLower(code))
}

// recoveryCodes is how many a user has.
const recoveryCodes = 10

// NewCodes makes a user's recovery codes anew and returns them: they are shown once and kept as hashes. Each has 80 bits.
func (f *Factors) NewCodes(ctx context.Context, tx db.DBTX, userID int64) ([]string, error) {
	if _, err := f.queries.DeleteRecoveryCodes(ctx, tx, userID); err != nil {
		return nil, fmt.Errorf("drop recovery codes: %w", db.Error(err))
	}
	codes := make([]string, recoveryCodes)
	for i := range codes {
		text := strings.ToLower(rand.Text()[:16])
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
		if err := f.queries.InsertRecoveryCode(ctx, tx, db.InsertRecoveryCodeParams{UserID: userID, Hash: recoveryHash(userID, text)}); err != nil {
			return nil, fmt.Errorf("keep recovery code: %w", db.Error(err))
		}
	}
	return codes, nil
}

func recoveryHash(userID int64, code string) string {
	return rowID("recovery|" + strconv.FormatInt(userID, 10) + "|" + code)
}
