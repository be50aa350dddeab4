package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
)

// giveCode sets a second factor up in somebody's profile.
func (b *browser) giveCode(t *testing.T) {
	t.Helper()
	form := b.get("/profile/second/code").document(t)
	_, code := codeAt(t, form)
	token, _ := form.Find(`input[name="token"]`).Attr("value")
	if got := b.post("/profile/second/code", url.Values{"token": {token}, "code": {code}, "old_password": {testPassword}}); got.status != http.StatusOK {
		t.Fatalf("set up: %d %.300s", got.status, got.document(t).Find("main").Text())
	}
}

// TestSessionsWithoutASecondFactorEndWhereOneIsRequired, also those that are remembered for a month: of whom it is required of, at once, and the page
// that requires it says how many before.
func TestSessionsWithoutASecondFactorEndWhereOneIsRequired(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		o.SignIn.OIDC[0].SecondFactor = &directory.SecondFactor{AMR: directory.Values{"mfa"}}
		a := start(t, o)
		orders(t, a)
		root := open(t, a).mustLogin()
		if got := root.post("/users", url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d", got.status)
		}
		note := func() string { return root.get("/settings").document(t).Find("#setting-second_factor .help").Text() }
		if got := note(); !strings.Contains(got, "yours among them: 1 of administrators, 1 in all") {
			t.Errorf("the page says %q", got)
		}
		forgotten, jonas, program := open(t, a), open(t, a), loggedIn(t, a)
		forgotten.post("/login", url.Values{"name": {"admin"}, "password": {testPassword}, "remember": {"on"}})
		jonas.login("jonas", testPassword)
		provider := func(groups, amr string) *browser {
			t.Helper()
			p.SetUser(member(groups, groups))
			p.Twist(func(claims map[string]any) { claims["amr"] = []string{amr} })
			b := open(t, a)
			if got := b.signIn(); got.location() != "/jobs" {
				t.Fatalf("sign in: %d %.300s", got.status, got.body)
			}
			return b
		}
		weak, chief := provider("chiefs", "pwd"), provider("chiefs", "mfa")
		has := func(what string, b *browser, session bool) {
			t.Helper()
			if got := b.get("/jobs"); (got.status == http.StatusOK) != session {
				t.Errorf("%s: %d, has a session %t", what, got.status, !session)
			}
		}
		root.giveCode(t)
		// Since root has a second factor now, the other two of that user are without, as is the one in which the provider told of none.
		if got := note(); strings.Contains(got, "yours") || !strings.Contains(got, "3 of administrators, 4 in all") {
			t.Errorf("then the page says %q", got)
		}
		has("before it is required", forgotten, true)
		root.set(url.Values{"second_factor": {"admins"}})
		has("who has shown one", root, true)
		has("an administrator who has not", forgotten, false)
		if got := program.post("/xxl-job-admin/jobinfo/pageList", url.Values{"jobGroup": {"0"}, "triggerStatus": {"-1"}}); got.status != http.StatusFound {
			t.Errorf("a program that has not: %d", got.status)
		}
		has("one of a provider that told of none", weak, false)
		has("one of a provider that told of one", chief, true)
		has("a user", jonas, true)
		if n := root.get("/profile").document(t).Find(".session-list li").Length(); n != 1 {
			t.Errorf("the profile lists %d sessions", n)
		}
		if got := note(); !strings.Contains(got, "0 of administrators, 1 in all") {
			t.Errorf("while administrators must, the page says %q", got)
		}
		root.set(url.Values{"second_factor": {"all"}})
		has("a user, of whom one is required too", jonas, false)
		if got := note(); strings.Contains(got, "Open sessions") {
			t.Errorf("while everybody must, the page says %q", got)
		}
		if got := jonas.login("jonas", testPassword); got.location() != "/login/setup" {
			t.Errorf("the next login leads to %q", got.location())
		}
	})
}

// TestWhoBecomesAnAdministratorShowsASecondFactor in every session of theirs: one at a provider began without while none was required of them.
func TestWhoBecomesAnAdministratorShowsASecondFactor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		o.SignIn.OIDC[0].SecondFactor = &directory.SecondFactor{AMR: directory.Values{"mfa"}}
		a := start(t, o)
		orders(t, a)
		root := open(t, a).mustLogin()
		root.giveCode(t)
		root.set(url.Values{"second_factor": {"admins"}})
		signIn := func(group, amr string) *browser {
			t.Helper()
			p.SetUser(member("anna", group))
			p.Twist(func(claims map[string]any) { claims["amr"] = []string{amr} })
			b := open(t, a)
			if got := b.signIn(); got.location() != "/jobs" {
				t.Fatalf("sign in: %d %.300s", got.status, got.body)
			}
			return b
		}
		forgotten := signIn("watch", "pwd")
		if got := forgotten.get("/jobs"); got.status != http.StatusOK {
			t.Fatalf("a user: %d", got.status)
		}
		chief := signIn("chiefs", "mfa")
		if got := chief.get("/users"); got.status != http.StatusOK {
			t.Errorf("an administrator who has shown one: %d", got.status)
		}
		if got := forgotten.get("/users"); got.status != http.StatusSeeOther {
			t.Errorf("a session of theirs without one: %d", got.status)
		}
		if again := signIn("chiefs", "mfa"); again.get("/users").status != http.StatusOK || chief.get("/users").status != http.StatusOK {
			t.Error("a further sign-in ends the session before it")
		}
	})
}

// TestAFileThatSaysWhatTellsOfASecondFactor holds for sessions that are open, too: of them nobody knows whether there was one.
func TestAFileThatSaysWhatTellsOfASecondFactor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		a := start(t, o)
		orders(t, a)
		root := open(t, a).mustLogin()
		root.giveCode(t)
		root.set(url.Values{"second_factor": {"admins"}})
		p.SetUser(member("anna", "chiefs"))
		chief := open(t, a)
		if got := chief.signIn(); got.location() != "/jobs" {
			t.Fatalf("sign in: %d %.300s", got.status, got.body)
		}
		if got := chief.get("/users"); got.status != http.StatusOK {
			t.Fatalf("while it is the provider's matter: %d", got.status)
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Listener, o.SignIn = testOptions(t).Listener, company(t, p)
		o.SignIn.OIDC[0].SecondFactor = &directory.SecondFactor{AMR: directory.Values{"mfa"}}
		next := start(t, o)
		chief.base = open(t, next).base
		if got := chief.get("/users"); got.status != http.StatusSeeOther {
			t.Errorf("once the file says what tells of one: %d", got.status)
		}
		root.base = chief.base
		if got := root.get("/users"); got.status != http.StatusOK {
			t.Errorf("who has shown one here: %d", got.status)
		}
	})
}
