package app

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
)

// everywhere makes a test's listener look as if others reached it.
func everywhere(o Options) Options {
	o.Listener = bound{o.Listener, &net.TCPAddr{IP: net.IPv4zero, Port: o.Listener.Addr().(*net.TCPAddr).Port}}
	return o
}

func TestANewInstallationDoesNotBeginWithAKnownToken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o = unmade(t, o)
		for name, change := range map[string]func(*Options){
			"XXL-JOB's":     func(o *Options) { o.AccessToken = "default_token" },
			"a common word": func(o *Options) { o.AccessToken = "changeme" },
			"a short one":   func(o *Options) { o.AccessToken = "x1" },
			"none, for all": func(o *Options) { *o = everywhere(*o); o.AccessToken, o.NoAccessToken = "", true },
		} {
			with := o
			change(&with)
			a, err := New(t.Context(), with)
			if _, ok := errors.AsType[*OptionsError](err); !ok {
				t.Errorf("%s: %v", name, err)
				_ = a.Stop(t.Context())
			}
		}
		// One that has users works with it, and says so on every page of an administrator.
		first, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := first.passwords.Hash(t.Context(), testPassword)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.New().InsertUser(t.Context(), first.pool, db.InsertUserParams{Username: "admin", Password: hash, Role: 1}); err != nil {
			t.Fatal(err)
		}
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.AccessToken = "default_token"
		o.Listener = testOptions(t).Listener
		a := start(t, o)
		root := open(t, a).mustLogin()
		if got := root.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
		for _, path := range []string{"/", "/jobs", "/executors/token"} {
			if alert := root.get(path).document(t).Find("main > .notice.error"); alert.Length() != 1 || !strings.Contains(alert.Find("a").AttrOr("href", ""), "/executors/token#groups") {
				t.Errorf("%s has no banner", path)
			}
		}
		if href := root.get("/executors/token").document(t).Find("#groups tbody a.button").AttrOr("href", ""); !strings.HasSuffix(href, "/token/rotate") {
			t.Errorf("the way out leads to %q", href)
		}
		if got := root.post("/users", url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.body)
		}
		mina := open(t, a)
		mina.login("mina", testPassword)
		if got := mina.get("/jobs"); got.status != http.StatusOK || got.document(t).Find("main > .notice.error").Length() != 0 {
			t.Errorf("everybody is told: %d", got.status)
		}
	})
}

func TestANewInstallationThatOthersReachBeginsWithoutScripts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o = everywhere(unmade(t, o))
		a := start(t, o)
		if a.held.Glue() {
			t.Error("scripts are on")
		}
		root := open(t, a).mustLogin()
		if got := root.post("/settings", url.Values{"glue": {"on"}}); got.status != http.StatusSeeOther || !a.held.Glue() {
			t.Errorf("an administrator switches them on: %d %v", got.status, a.held.Glue())
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Listener = testOptions(t).Listener
		again := start(t, everywhere(o))
		if !again.held.Glue() {
			t.Error("a later start switches them off again")
		}
	})
	t.Run("on this machine alone", func(t *testing.T) {
		if a := start(t, testOptions(t)); !a.held.Glue() {
			t.Error("scripts are off")
		}
	})
	t.Run("behind a proxy on this machine", func(t *testing.T) {
		for _, o := range []Options{{TrustProxy: true}, {TrustedProxies: "127.0.0.1, 10.0.0.0/8"}} {
			behind := testOptions(t)
			behind.TrustProxy, behind.TrustedProxies = o.TrustProxy, o.TrustedProxies
			if a := start(t, behind); a.held.Glue() {
				t.Errorf("scripts are on: %t %q", o.TrustProxy, o.TrustedProxies)
			}
			behind = unmade(t, testOptions(t))
			behind.AccessToken, behind.NoAccessToken, behind.TrustProxy, behind.TrustedProxies = "", true, o.TrustProxy, o.TrustedProxies
			if a, err := New(t.Context(), behind); err == nil {
				t.Errorf("it begins without an access token: %t %q", o.TrustProxy, o.TrustedProxies)
				_ = a.Stop(t.Context())
			}
		}
	})
}
