package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
)

// TestHowSomebodyLoggedInIsOnRecord: by which way, and with which second factor; and the logins without one are found.
func TestHowSomebodyLoggedInIsOnRecord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		l, p := directorytest.NewLDAP(t), directorytest.NewOIDC(t)
		o.SignIn = signInFile(t, strings.Replace(officeFile(t, l), "passwords: break-glass", "passwords: everybody", 1))
		tells, silent := company(t, p).OIDC[0], company(t, p).OIDC[0]
		tells.SecondFactor = &directory.SecondFactor{AMR: directory.Values{"mfa"}}
		silent.Name = "silent"
		o.SignIn.OIDC = []directory.OIDCConfig{tells, silent}
		a := start(t, o)
		orders(t, a)
		const anchor = "cn=anchor,dc=example,dc=com"
		group(t, l, "ops", anchor, true)
		record := func(what, name, facts string) {
			t.Helper()
			got := audited(t, a, "login")
			if want := name + " 127.0.0.1 user " + name + " " + facts; got[len(got)-1] != want {
				t.Errorf("%s: on record %q, want %q", what, got[len(got)-1], want)
			}
		}
		root := open(t, a).mustLogin()
		record("a password alone", "admin", `{"factor":"none","way":"password"}`)
		if got := open(t, a).login("Jonas", directorytest.Password); got.status != http.StatusSeeOther {
			t.Fatalf("directory: %d %.300s", got.status, got.body)
		}
		record("a directory's password", "jonas", `{"factor":"none","provider":"office","way":"directory"}`)
		for _, x := range []struct{ what, way, amr, facts string }{
			{"a provider that shows one", "company", "mfa", `{"factor":"provider","provider":"company","way":"provider"}`},
			{"a provider that shows none", "company", "pwd", `{"factor":"none","provider":"company","way":"provider"}`},
			{"a provider of which nothing is known", "silent", "pwd", `{"factor":"unknown","provider":"silent","way":"provider"}`},
		} {
			p.SetUser(member("anna", "ops"))
			p.Twist(func(claims map[string]any) { claims["amr"] = []string{x.amr} })
			b := open(t, a)
			if got := b.get(b.toProviderNamed(x.way, "/jobs")); got.location() != "/jobs" {
				t.Fatalf("%s: %d %.300s", x.what, got.status, got.body)
			}
			record(x.what, "anna", x.facts)
		}
		form := root.get("/profile/second/code").document(t)
		secret, code := codeAt(t, form)
		token, _ := form.Find(`input[name="token"]`).Attr("value")
		recovery := root.post("/profile/second/code", url.Values{"token": {token}, "code": {code}, "old_password": {testPassword}}).document(t).Find(".recovery-codes li").First().Text()
		for _, x := range []struct{ what, code, facts string }{
			{"a code", codeOf(t, secret, 1), `{"factor":"totp","way":"password"}`}, {"a recovery code", recovery, `{"factor":"recovery","way":"password"}`},
		} {
			b := open(t, a)
			b.login("admin", testPassword)
			if got := b.post("/login/second", url.Values{"code": {x.code}}); got.location() != "/" {
				t.Fatalf("%s: %d", x.what, got.status)
			}
			record(x.what, "admin", x.facts)
		}
		// Who must have one sets it up on the way.
		root.set(url.Values{"second_factor": {"all"}})
		jonas := open(t, a)
		jonas.login("Jonas", directorytest.Password)
		form = jonas.get("/login/setup").document(t)
		_, code = codeAt(t, form)
		token, _ = form.Find(`input[name="token"]`).Last().Attr("value")
		if got := jonas.post("/login/setup", url.Values{"token": {token}, "code": {code}}); got.status != http.StatusOK {
			t.Fatalf("set up: %d", got.status)
		}
		jonas.get("/login/setup")
		record("one that was set up", "jonas", `{"factor":"totp","provider":"office","way":"directory"}`)

		rows := root.get("/audit?action=login_single").document(t).Find("tbody tr")
		if rows.Length() != 3 {
			t.Errorf("%d logins without second factor, want 3: %s", rows.Length(), rows.Text())
		}
		if n := root.get("/audit?action=login").document(t).Find("tbody tr").Length(); n != 8 {
			t.Errorf("%d logins, want 8", n)
		}
		if n := strings.Count(root.get("/audit/export?format=jsonl&action=login_single").body, "\n"); n != 3 {
			t.Errorf("%d logins without second factor in the file, want 3", n)
		}
		c := &caller{t: t, base: root.base, token: makeToken(t, root, url.Values{"name": {"review"}, "scope": {"admin"}, "days": {"7"}})}
		if got := c.do("GET", "/audit?action=login_single", ""); got.status != http.StatusOK || strings.Count(got.body, `"action":"login"`) != 3 {
			t.Errorf("by the API: %d %s", got.status, got.body)
		}
		href, _ := rows.First().Find("a.title").Attr("href")
		if text := root.get(href).document(t).Find("table.audited").Text(); !strings.Contains(text, "Second factor") || !strings.Contains(text, "None") || !strings.Contains(text, "Login at a provider") {
			t.Errorf("the entry says %s", text)
		}
	})
}
