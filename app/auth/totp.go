package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"strconv"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

const (
	codeDigits = 6
	// codeStep is how long a code of an app counts. One before and one after count too, for clocks that differ.
	codeStep = 30 * time.Second
	codeSkew = 1
)

// CodeSetup is what somebody types or scans into their app.
type CodeSetup struct {
	Secret string // base32
	URL    string // the same as otpauth: address
	Token  string // comes back with the first code
}

// codeSetup is what a token says.
type codeSetup struct {
	UserID int64
	Secret string
	Begun  int64 // epoch ms
}

// SetUpCode begins with an app's codes. Nothing is kept before one of them was shown.
func (f *Factors) SetUpCode(p Principal, issuer string) (CodeSetup, error) {
	secret := make([]byte, 20)
	_, _ = rand.Read(secret) // never fails: the program ends when there is no randomness
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: p.Name, Secret: secret, Period: uint(codeStep / time.Second), Digits: otp.DigitsSix})
	if err != nil {
		return CodeSetup{}, fmt.Errorf("make a secret for codes: %w", err)
	}
	return f.codeSetup(p.UserID, key.Secret(), key.URL())
}

func (f *Factors) codeSetup(userID int64, secret, url string) (CodeSetup, error) {
	token, err := f.codec.Encode(FactorCode, codeSetup{UserID: userID, Secret: secret, Begun: f.now().UnixMilli()})
	if err != nil {
		return CodeSetup{}, fmt.Errorf("sign a secret for codes: %w", err)
	}
	return CodeSetup{Secret: secret, URL: url, Token: token}, nil
}

// AgainCode is the setup that a token began, for a second try.
func (f *Factors) AgainCode(p Principal, issuer, token string) (CodeSetup, error) {
	var s codeSetup
	if f.codec.Decode(FactorCode, token, &s) != nil || s.UserID != p.UserID || !f.timely(s.Begun) {
		return CodeSetup{}, ErrSetupExpired
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s.Secret)
	if err != nil {
		return CodeSetup{}, ErrSetupExpired
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: p.Name, Secret: raw, Period: uint(codeStep / time.Second), Digits: otp.DigitsSix})
	if err != nil {
		return CodeSetup{}, fmt.Errorf("read a secret for codes: %w", err)
	}
	return CodeSetup{Secret: s.Secret, URL: key.URL(), Token: token}, nil
}

// AddCode keeps the app whose first code is shown with the token of [Factors.SetUpCode]; of one that is kept already the code is worth nothing.
func (f *Factors) AddCode(ctx context.Context, p Principal, token, code, name string) error {
	var s codeSetup
	if f.codec.Decode(FactorCode, token, &s) != nil || s.UserID != p.UserID || !f.timely(s.Begun) {
		return ErrSetupExpired
	}
	step, err := f.stepOf(s.Secret, plainCode(code))
	if err != nil {
		return err
	}
	rows, err := f.queries.ListFactors(ctx, f.pool, p.UserID)
	if err != nil {
		return fmt.Errorf("read second factors: %w", db.Error(err))
	}
	for _, row := range rows {
		if have, err := f.opened(string(row.Secret), p.UserID); row.Kind == FactorCode && err == nil && have == s.Secret {
			return ErrWrongCode
		}
	}
	secret := s.Secret
	if f.seal != nil {
		secret = f.seal.Close([]byte(secret), factorPurpose(p.UserID))
	}
	return f.add(ctx, p.UserID, FactorCode, name, secret, step)
}

// takeCode takes a code of one of a user's apps. The step of time that it is of is not taken again, nor one before. If none has the
// code and one could not be asked, the error says that; it is a wrong code all the same if another could.
func (f *Factors) takeCode(ctx context.Context, userID int64, code string) error {
	rows, err := f.queries.ListFactors(ctx, f.pool, userID)
	if err != nil {
		return fmt.Errorf("read second factors: %w", db.Error(err))
	}
	var sealed error
	asked := false
	for _, row := range rows {
		if row.Kind != FactorCode {
			continue
		}
		secret, err := f.opened(string(row.Secret), userID)
		if err != nil {
			sealed = err
			f.unopened.Do(func() {
				f.logger.Error("codes of apps cannot be checked: put the secret key back, or reset the second factor of whoever has lost the recovery codes too", "user_id", userID, "error", err)
			})
			continue
		}
		asked = true
		step, err := f.stepOf(secret, code)
		if err != nil {
			continue
		}
		n, err := f.queries.UseCode(ctx, f.pool, db.UseCodeParams{ID: row.ID, Step: step, UsedAt: f.now().UnixMilli()})
		if err != nil {
			return fmt.Errorf("take a code: %w", db.Error(err))
		}
		if n > 0 {
			return nil
		}
	}
	switch {
	case sealed == nil:
		return ErrWrongCode
	case asked:
		return fmt.Errorf("%w: %w", ErrWrongCode, sealed)
	}
	return sealed
}

// stepOf is the step of time that a code is of, among those that count now.
func (f *Factors) stepOf(secret, code string) (int64, error) {
	now := f.now()
	for skew := -codeSkew; skew <= codeSkew; skew++ {
		at := now.Add(time.Duration(skew) * codeStep)
		want, err := totp.GenerateCodeCustom(secret, at, totp.ValidateOpts{Period: uint(codeStep / time.Second), Digits: otp.DigitsSix})
		if err != nil {
			return 0, fmt.Errorf("read a secret for codes: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return at.Unix() / int64(codeStep/time.Second), nil
		}
	}
	return 0, ErrWrongCode
}

// opened is a stored secret. What was kept before there was a secret key stands open.
func (f *Factors) opened(text string, userID int64) (string, error) {
	if !seal.Sealed(text) {
		return text, nil
	}
	if f.seal == nil {
		return "", fmt.Errorf("%w: there is none", ErrFactorSealed)
	}
	plain, err := f.seal.Open(text, factorPurpose(userID))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrFactorSealed, err)
	}
	return string(plain), nil
}

func factorPurpose(userID int64) string { return "second factor " + strconv.FormatInt(userID, 10) }
