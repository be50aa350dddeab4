package app

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// loginFrom logs in from an address that a proxy tells.
func (b *browser) loginFrom(address, name, password string) answer {
	b.t.Helper()
	return b.do("POST", "/login", url.Values{"name": {name}, "password": {password}}, "X-Forwarded-For", address)
}

// attack tries passwords on the administrator from many addresses until strangers are refused.
func attack(t *testing.T, a *App) {
	t.Helper()
	stranger := open(t, a)
	for i := range 100 {
		if stranger.loginFrom(fmt.Sprintf("198.51.100.%d", i), "admin", "wrong-password").status == http.StatusTooManyRequests {
			return
		}
	}
	t.Fatal("strangers may go on for ever")
}

// TestAnAdministratorGetsInDuringAnAttack logs in by the browser's cookie, from a known address, and after a new password.
func TestAnAdministratorGetsInDuringAnAttack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.TrustProxy = true
		a := start(t, o)
		mine := open(t, a)
		if got := mine.loginFrom("192.0.2.1", "admin", testPassword); got.status != http.StatusSeeOther {
			t.Fatalf("before: %d", got.status)
		}
		mine.post("/logout", nil)
		attack(t, a)
		if got := mine.loginFrom("203.0.113.9", "admin", testPassword); got.status != http.StatusSeeOther {
			t.Errorf("with the browser of before, on the road: %d", got.status)
		}
		if got := open(t, a).loginFrom("192.0.2.1", "admin", testPassword); got.status != http.StatusSeeOther {
			t.Errorf("with another browser, in the office: %d", got.status)
		}
		if got := open(t, a).loginFrom("203.0.113.10", "admin", testPassword); got.status != http.StatusTooManyRequests {
			t.Errorf("from where nobody ever logged in: %d", got.status)
		}
		const fresh = "correct horse battery"
		if got := mine.post("/profile/password", url.Values{"old_password": {testPassword}, "password": {fresh}, "repeat": {fresh}}); got.status != http.StatusSeeOther {
			t.Fatalf("a new password: %d %s", got.status, got.body)
		}
		if got := open(t, a).loginFrom("203.0.113.10", "admin", fresh); got.status != http.StatusSeeOther {
			t.Errorf("from there with a new password: %d", got.status)
		}
	})
}

// TestAResetOnTheCommandLineClearsTheLimits resets the password of somebody who is under attack.
func TestAResetOnTheCommandLineClearsTheLimits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.TrustProxy = true
		a := start(t, o)
		attack(t, a)
		if o.DatabaseURL == "" { // the embedded database is open
			if err := a.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		fresh, err := ResetPassword(t.Context(), o, "admin", "")
		if err != nil {
			t.Fatal(err)
		}
		if o.DatabaseURL == "" {
			again := testOptions(t)
			again.DataDir, again.TrustProxy = o.DataDir, true
			a = start(t, again)
		}
		if got := open(t, a).loginFrom("203.0.113.10", "admin", fresh); got.status != http.StatusSeeOther {
			t.Errorf("after the reset: %d", got.status)
		}
	})
}
