package auth

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
)

func TestASecondFactorsCodeCountsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		clock := func() time.Time { return now }
		sealing, err := seal.New(make([]byte, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		key := make([]byte, 32)
		places := NewPlaces(pool, key, clock)
		f := NewFactors(pool, key, sealing, places, clock, slog.New(slog.DiscardHandler))
		p := Principal{UserID: addUser(t, pool, "ann", weakHash, RoleAdmin, ""), Name: "ann"}
		r := httptest.NewRequest(http.MethodPost, "/login/second", nil)
		setup, err := f.SetUpCode(p, "Punctual")
		if err != nil || !strings.HasPrefix(setup.URL, "otpauth://totp/Punctual:ann?") {
			t.Fatalf("%+v, %v", setup, err)
		}
		code := func() string {
			text, err := totp.GenerateCode(setup.Secret, now)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		// wrong is a code that is none of those of now.
		wrong := func() string {
			right := make(map[string]bool)
			for steps := -2; steps <= 2; steps++ {
				text, err := totp.GenerateCode(setup.Secret, now.Add(time.Duration(steps)*codeStep))
				if err != nil {
					t.Fatal(err)
				}
				right[text] = true
			}
			for n := 0; ; n++ {
				if text := fmt.Sprintf("%06d", n); !right[text] {
					return text
				}
			}
		}
		for what, try := range map[string]struct {
			who   Principal
			token string
			code  string
			want  error
		}{
			"a wrong code":        {p, setup.Token, wrong(), ErrWrongCode},
			"somebody else":       {Principal{UserID: p.UserID + 1}, setup.Token, code(), ErrSetupExpired},
			"a token of nobody's": {p, "x", code(), ErrSetupExpired},
		} {
			if err := f.AddCode(t.Context(), try.who, try.token, try.code, ""); !errors.Is(err, try.want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		first := code()
		if err := f.AddCode(t.Context(), p, setup.Token, first[:3]+" "+first[3:], " phone "); err != nil { // as apps show it
			t.Fatal(err)
		}
		rows, err := db.New().ListFactors(t.Context(), pool, p.UserID)
		if err != nil || len(rows) != 1 || rows[0].Name != "phone" || strings.Contains(string(rows[0].Secret), setup.Secret) {
			t.Fatalf("kept %+v, %v", rows, err)
		}
		show := func(what, code string, want error) {
			t.Helper()
			if _, err := f.ShowCode(r, p, code); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		show("the code of the setup again", code(), ErrWrongCode)
		now = now.Add(codeStep)
		fresh := code()
		show("the next one", fresh[:3]+" "+fresh[3:], nil)
		show("the same again", fresh, ErrWrongCode)
		old := fresh
		now = now.Add(codeStep)
		show("another one", code(), nil)
		show("one of before, which the clock would still allow", old, ErrWrongCode)
		codes, err := f.NewCodes(t.Context(), pool, p.UserID)
		if err != nil || len(codes) != recoveryCodes {
			t.Fatal(codes, err)
		}
		show("a recovery code", strings.ToUpper(codes[0]), nil)
		show("the same again", codes[0], ErrWrongCode)
		for range attemptsOnFactor - 1 {
			show("a wrong one", wrong(), ErrWrongCode)
		}
		now = now.Add(codeStep)
		show("after too many", code(), ErrTooManyLogins)
		now = now.Add(factorPause)
		show("after a pause", code(), nil)
		if _, left, err := f.List(t.Context(), p.UserID); err != nil || left != recoveryCodes-1 {
			t.Errorf("%d recovery codes left, %v", left, err)
		}
		if removed, err := f.Remove(t.Context(), pool, p.UserID+1, rows[0].ID); err != nil || removed {
			t.Errorf("somebody else removes it: %v, %v", removed, err)
		}
		if removed, err := f.Remove(t.Context(), pool, p.UserID, rows[0].ID); err != nil || !removed {
			t.Errorf("removed: %v, %v", removed, err)
		}
		if list, left, err := f.List(t.Context(), p.UserID); err != nil || left != 0 || len(list) != 0 {
			t.Errorf("with the last one go the recovery codes: %d, %v", left, err)
		}
	})
}

// TestASetUpEndsByTheClockOfAllAdmins, and not by that of the machine that is asked.
func TestASetUpEndsByTheClockOfAllAdmins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		f := NewFactors(nil, make([]byte, 32), nil, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		p := Principal{UserID: 1, Name: "ann"}
		setup, err := f.SetUpCode(p, "Punctual")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // the next request comes to an admin whose machine is ahead
		now = now.Add(setupLife)
		if _, err := f.AgainCode(p, "Punctual", setup.Token); err != nil {
			t.Errorf("in time: %v", err)
		}
		now = now.Add(time.Second)
		if _, err := f.AgainCode(p, "Punctual", setup.Token); !errors.Is(err, ErrSetupExpired) {
			t.Errorf("too late: %v", err)
		}
	})
}

// TestAGuessCountsBesideASealedApp: a user has an app whose secret cannot be opened any more, and another one. A wrong code is a guess at that.
func TestAGuessCountsBesideASealedApp(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		clock := func() time.Time { return now }
		p := Principal{UserID: addUser(t, pool, "ann", weakHash, RoleAdmin, ""), Name: "ann"}
		r := httptest.NewRequest(http.MethodPost, "/login/second", nil)
		key := make([]byte, 32)
		places := NewPlaces(pool, key, clock)
		var f *Factors
		var secret string
		for _, fill := range []byte{1, 2} { // the key of before, and the one of now
			sealing, err := seal.New(bytes.Repeat([]byte{fill}, seal.KeyBytes))
			if err != nil {
				t.Fatal(err)
			}
			f = NewFactors(pool, key, sealing, places, clock, slog.New(slog.DiscardHandler))
			setup, err := f.SetUpCode(p, "Punctual")
			if err != nil {
				t.Fatal(err)
			}
			secret = setup.Secret
			code, err := totp.GenerateCode(secret, now)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.AddCode(t.Context(), p, setup.Token, code, ""); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(codeStep)
		right, err := totp.GenerateCode(secret, now)
		if err != nil {
			t.Fatal(err)
		}
		guess := 0
		for range attemptsOnFactor {
			text := fmt.Sprintf("%06d", guess)
			for step, _ := f.stepOf(secret, text); step != 0; step, _ = f.stepOf(secret, text) { // by chance one that counts
				guess++
				text = fmt.Sprintf("%06d", guess)
			}
			guess++
			if _, err := f.ShowCode(r, p, text); !errors.Is(err, ErrWrongCode) || !errors.Is(err, ErrFactorSealed) {
				t.Errorf("a guess: %v", err)
			}
		}
		if _, err := f.ShowCode(r, p, right); !errors.Is(err, ErrTooManyLogins) {
			t.Errorf("after %d guesses: %v", attemptsOnFactor, err)
		}
		now = now.Add(attemptsOnFactor * factorPause)
		if right, err = totp.GenerateCode(secret, now); err != nil {
			t.Fatal(err)
		}
		if _, err := f.ShowCode(r, p, right); err != nil {
			t.Errorf("the right code after a pause: %v", err)
		}
	})
}
