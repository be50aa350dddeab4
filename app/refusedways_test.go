package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/db"
)

// office adds the directory of [directorytest.NewLDAP] to a sign-in file.
func office(t *testing.T, l *directorytest.LDAP, group string) directory.Config {
	t.Helper()
	return signInFile(t, strings.NewReplacer("SERVER", l.URL, "PASSWORD", directorytest.Password, "GROUP", group).Replace(`
ldap:
  - name: office
    url: SERVER
    insecure: true
    bind_dn: cn=punctual,dc=example,dc=com
    bind_password: PASSWORD
    users: {base: "ou=people,dc=example,dc=com"}
    groups: {base: "ou=groups,dc=example,dc=com"}
    rules:
      - {claim: groups, value: GROUP, rights: {orders: [run]}}
`))
}

// addSecond gives who is logged in an app with codes, and returns its secret and the recovery codes.
func (b *browser) addSecond(password string) (secret string, recovery []string) {
	b.t.Helper()
	form := b.get("/profile/second/code").document(b.t)
	secret, code := codeAt(b.t, form)
	token, _ := form.Find(`input[name="token"]`).Attr("value")
	added := b.post("/profile/second/code", url.Values{"token": {token}, "code": {code}, "old_password": {password}})
	if added.status != http.StatusOK {
		b.t.Fatalf("a second factor: %d %.500s", added.status, added.document(b.t).Find("main").Text())
	}
	for _, li := range added.document(b.t).Find(".recovery-codes li").EachIter() {
		recovery = append(recovery, li.Text())
	}
	return secret, recovery
}

// TestEveryWayInThatIsRefusedIsOnRecord tries them all.
func TestEveryWayInThatIsRefusedIsOnRecord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		a := start(t, o)
		orders(t, a)
		admin := open(t, a).mustLogin()
		var want []string
		refused := func(line string, do func(b *browser) answer, status int) {
			t.Helper()
			if got := do(open(t, a)); got.status != status {
				t.Errorf("%s: %d, want %d: %.300s", line, got.status, status, got.body)
			}
			want = append(want, line)
			if all := audited(t, a, "login_refused"); len(all) != len(want) || all[len(all)-1] != line {
				t.Errorf("after %q:\n%s", line, strings.Join(all, "\n"))
				want = all
			}
		}
		signIn := func(b *browser) answer { return b.signIn() }

		// At a provider.
		p.SetUser(member("anna", "all"))
		refused(`anna 127.0.0.1 user anna {"provider":"company","reason":"unruled"}`, signIn, http.StatusForbidden)
		p.SetUser(member("admin", "ops"))
		refused(`admin 127.0.0.1 user admin {"provider":"company","reason":"taken"}`, signIn, http.StatusConflict)
		p.SetUser(nil)
		refused(`company 127.0.0.1 user company {"provider":"company","reason":"denied"}`, signIn, http.StatusForbidden)
		refused(`company 127.0.0.1 user company {"provider":"company","reason":"stale"}`, func(b *browser) answer { return b.get("/sign-in/company/callback?code=x") }, http.StatusBadRequest)
		p.SetUser(member("bob", "ops"))
		p.Twist(func(claims map[string]any) { claims["nonce"] = "another" })
		refused(`company 127.0.0.1 user company {"provider":"company","reason":"untrue"}`, signIn, http.StatusBadRequest)
		p.Twist(nil)
		open(t, a).signIn()
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET disabled = 1 WHERE username = 'bob'"); err != nil {
			t.Fatal(err)
		}
		refused(`bob 127.0.0.1 user bob {"provider":"company","reason":"disabled"}`, signIn, http.StatusForbidden)

		// A service account, by a password that nobody gave it.
		if got := admin.post("/tokens", url.Values{"name": {"ci"}, "scope": {"view"}, "days": {"7"}}); got.status != http.StatusOK {
			t.Fatalf("a token: %d", got.status)
		}
		if got := admin.post("/tokens/accounts", url.Values{"name": {"robot"}, "right": {"1.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("a service account: %d %.300s", got.status, got.body)
		}
		refused(`robot 127.0.0.1 user robot {"reason":"wrong"}`, func(b *browser) answer { return b.login("robot", "!") }, http.StatusUnprocessableEntity)

		// A token.
		token := makeToken(t, admin, url.Values{"name": {"deploy"}, "scope": {"view"}, "days": {"7"}})
		call := func(token string) func(*browser) answer {
			return func(*browser) answer {
				status, _ := bearer(t, a, token, "listJobs", "{}")
				return answer{status: status}
			}
		}
		if got := call(token)(nil); got.status != http.StatusOK {
			t.Fatalf("the token: %d", got.status)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_api_token SET revoked_at = 1 WHERE name = 'deploy'"); err != nil {
			t.Fatal(err)
		}
		refused(`admin 127.0.0.1 apitoken deploy {"reason":"revoked"}`, call(token), http.StatusUnauthorized)
		unknown := auth.NewAPIToken()
		refused(` 127.0.0.1 apitoken `+auth.APITokenHint(unknown)+` {"reason":"unknown"}`, call(unknown), http.StatusUnauthorized)
		refused(` 127.0.0.1 apitoken  {"reason":"form"}`, call("pnc_nonsense"), http.StatusUnauthorized)

		// A password that was right, and what comes after it.
		refused(`admin 127.0.0.1 user admin {"reason":"wrong"}`, func(*browser) answer {
			return admin.post("/profile/password", url.Values{"old_password": {"wrong"}, "password": {"my-own-lamp-otter"}, "repeat": {"my-own-lamp-otter"}})
		}, http.StatusUnprocessableEntity)
		_, recovery := admin.addSecond(testPassword)
		second := func(form url.Values) func(*browser) answer {
			return func(b *browser) answer {
				b.login("admin", testPassword)
				return b.post("/login/second", form)
			}
		}
		refused(`admin 127.0.0.1 user admin {"reason":"step"}`, func(b *browser) answer {
			return b.do("POST", "/xxl-job-admin/login", url.Values{"userName": {"admin"}, "password": {testPassword}})
		}, http.StatusForbidden)
		refused(`admin 127.0.0.1 user admin {"reason":"code"}`, second(url.Values{"code": {"000000"}}), http.StatusUnprocessableEntity)
		if got := second(url.Values{"code": {recovery[0]}})(open(t, a)); got.location() != "/" {
			t.Fatalf("a recovery code: %d", got.status)
		}
		refused(`admin 127.0.0.1 user admin {"reason":"recovery"}`, second(url.Values{"code": {recovery[0]}}), http.StatusUnprocessableEntity)
		refused(`admin 127.0.0.1 user admin {"reason":"passkey"}`, second(url.Values{"credential": {`{"id":"x"}`}}), http.StatusUnprocessableEntity)
		if page := admin.get("/audit?action=login_refused").document(t).Find("tbody").Text(); !strings.Contains(page, "anna") || !strings.Contains(page, "deploy") {
			t.Errorf("the page: %s", page)
		}
	})
}

// TestGuessesOfASecondFactorAreLimited mixes codes, recovery codes and passkeys, which count together; the right code is not taken then.
func TestGuessesOfASecondFactorAreLimited(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.TrustProxy = true
		a := start(t, o)
		b := open(t, a)
		b.loginFrom("192.0.2.1", "admin", testPassword)
		_, recovery := b.addSecond(testPassword)
		thief := open(t, a)
		thief.loginFrom("203.0.113.9", "admin", testPassword)
		guesses := []url.Values{{"code": {"000000"}}, {"code": {"aaaa-bbbb-cccc-dddd"}}, {"credential": {`{"id":"x"}`}}}
		for i := range 5 {
			if got := thief.post("/login/second", guesses[i%len(guesses)]); got.status != http.StatusUnprocessableEntity {
				t.Errorf("guess %d: %d", i, got.status)
			}
		}
		if got := thief.post("/login/second", url.Values{"code": {recovery[0]}}); got.status != http.StatusTooManyRequests {
			t.Errorf("after five: %d", got.status)
		}
		if got := audited(t, a, "login_refused"); len(got) != 4 || !strings.HasSuffix(got[3], `{"reason":"toomany"}`) {
			t.Errorf("on record: %q", got)
		}
		// The owner, at a device of theirs.
		if got := b.loginFrom("192.0.2.1", "admin", testPassword); got.location() != "/login/second" {
			t.Fatalf("the owner: %d %s", got.status, got.location())
		}
		if got := b.post("/login/second", url.Values{"code": {recovery[0]}}); got.location() != "/" {
			t.Errorf("the owner's code: %d", got.status)
		}
	})
}

// TestTheCommandLineIsOnRecord resets a password and a second factor.
func TestTheCommandLineIsOnRecord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.addSecond(testPassword)
		if o.DatabaseURL == "" { // the commands need the embedded database for themselves
			if err := a.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ResetPassword(t.Context(), o, "admin", ""); err != nil {
			t.Fatal(err)
		}
		if err := ResetSecondFactor(t.Context(), o, "admin"); err != nil {
			t.Fatal(err)
		}
		if o.DatabaseURL == "" {
			again := testOptions(t)
			again.DataDir = o.DataDir
			a = start(t, again)
		}
		wantAudited(t, a, "password", "command line  user admin ")
		if got := audited(t, a, "second"); len(got) != 2 || got[1] != "command line  user admin " {
			t.Errorf("second factor: %q", got)
		}
	})
}

// TestASecondFactorIsTheMatterOfWhoKnowsThePassword is about people of a provider and of a directory.
func TestASecondFactorIsTheMatterOfWhoKnowsThePassword(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		l, p := directorytest.NewLDAP(t), directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		o.SignIn.LDAP = office(t, l, "ops").LDAP
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.giveCode(t)
		orders(t, a)

		// A provider's: nothing is offered, and nothing can be added.
		p.SetUser(member("anna", "ops"))
		anna := open(t, a)
		anna.signIn()
		for _, path := range []string{"/profile", "/profile/second"} {
			page := anna.get(path).document(t).Find("main")
			if page.Find(`a[href^="/profile/second/"]`).Length() != 0 || !strings.Contains(page.Text(), "set up and asked for there") {
				t.Errorf("%s: %s", path, page.Text())
			}
		}
		for _, path := range []string{"/profile/second/code", "/profile/second/passkey"} {
			if got := anna.get(path); got.location() != "/profile/second" {
				t.Errorf("%s: %d", path, got.status)
			}
		}
		for _, path := range []string{"/profile/second/code", "/profile/second/passkey", "/profile/second/recovery", "/profile/second/1/remove"} {
			if got := anna.post(path, url.Values{"token": {"x"}, "code": {"000000"}, "old_password": {"-"}}); got.status != http.StatusConflict {
				t.Errorf("POST %s: %d", path, got.status)
			}
		}
		row, err := db.New().GetUserByName(t.Context(), a.pool, "anna")
		if err != nil {
			t.Fatal(err)
		}
		if page := admin.get(fmt.Sprintf("/users/%d/edit", row.ID)).document(t).Find("main").Text(); !strings.Contains(page, "asked for at company") {
			t.Errorf("the form of her user: %s", page)
		}
		// Whoever must have one has the provider's.
		admin.set(url.Values{"second_factor": {"all"}})
		if got := open(t, a).signIn(); got.location() != "/jobs" {
			t.Errorf("a provider's user where everybody must have one: %d %s", got.status, got.location())
		}
		admin.set(url.Values{"second_factor": {"nobody"}})

		// A directory's: the password is the directory's, and so it is proved there.
		jonas := open(t, a)
		if got := jonas.login("jonas", directorytest.Password); got.location() != "/" {
			t.Fatalf("jonas: %d %.300s", got.status, got.body)
		}
		form := jonas.get("/profile/second/code").document(t)
		_, code := codeAt(t, form)
		token, _ := form.Find(`input[name="token"]`).Attr("value")
		if got := jonas.post("/profile/second/code", url.Values{"token": {token}, "code": {code}, "old_password": {"wrong"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a wrong password of the directory's: %d", got.status)
		}
		_, recovery := jonas.addSecond(directorytest.Password)
		again := open(t, a)
		if got := again.login("jonas", directorytest.Password); got.location() != "/login/second" || again.get("/jobs").status != http.StatusSeeOther {
			t.Errorf("jonas, who has one: %d %s", got.status, got.location())
		}
		if got := again.post("/login/second", url.Values{"code": {recovery[0]}}); got.location() != "/" {
			t.Errorf("his recovery code: %d", got.status)
		}
		l.Stop()
		down := jonas.post("/profile/second/recovery", url.Values{"old_password": {directorytest.Password}})
		if down.status != http.StatusServiceUnavailable || !strings.Contains(down.document(t).Find(".error").Text(), "office cannot be reached") {
			t.Errorf("while the directory is down: %d %s", down.status, down.document(t).Find("main").Text())
		}
	})
}

// TestAProviderShowsThatItAskedForASecondFactor has a file that says by what.
func TestAProviderShowsThatItAskedForASecondFactor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		o.SignIn.OIDC[0].SecondFactor = &directory.SecondFactor{AMR: directory.Values{"mfa", "hwk"}, ACR: directory.Values{"urn:strong"}}
		a := start(t, o)
		orders(t, a)
		admin := open(t, a).mustLogin()
		admin.giveCode(t)
		try := func(what string, more map[string]any, in bool, groups ...string) {
			t.Helper()
			p.SetUser(member("anna", groups...))
			p.Twist(func(claims map[string]any) {
				maps.Copy(claims, more)
			})
			got := open(t, a).signIn()
			if in && got.location() != "/jobs" || !in && (got.status != http.StatusForbidden || !strings.Contains(got.body, "without a second factor")) {
				t.Errorf("%s: %d %s %.400s", what, got.status, got.location(), got.document(t).Find("main").Text())
			}
		}
		asks := func() string {
			return mustURL(t, open(t, a).get("/sign-in/company").location()).Query().Get("acr_values")
		}
		weak, strong := map[string]any{"amr": []string{"pwd"}, "acr": "0"}, map[string]any{"amr": []string{"pwd", "mfa"}}
		try("while nobody must have one", weak, true, "ops")
		if asked := asks(); asked != "" {
			t.Errorf("the provider is asked for %q for nobody", asked)
		}
		admin.set(url.Values{"second_factor": {"admins"}})
		if asked := asks(); asked != "urn:strong" {
			t.Errorf("the provider is asked for %q", asked)
		}
		try("a user where administrators must", weak, true, "ops")
		try("an administrator", weak, false, "chiefs")
		try("an administrator without claims", nil, false, "chiefs")
		try("an administrator, with amr", strong, true, "chiefs")
		admin.set(url.Values{"second_factor": {"all"}})
		try("a user", weak, false, "ops")
		try("a user, with acr", map[string]any{"acr": "urn:strong"}, true, "ops")
		lines := audited(t, a, "login_refused")
		if len(lines) == 0 || lines[0] != `anna 127.0.0.1 user anna {"provider":"company","reason":"weak"}` {
			t.Errorf("on record: %q", lines)
		}
	})
}
