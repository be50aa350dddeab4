package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// loginFrom logs in from an address that a proxy tells.
func (b *browser) loginFrom(address, name, password string) answer {
	b.t.Helper()
	return b.do("POST", "/login", url.Values{"name": {name}, "password": {password}}, "X-Forwarded-For", address)
}

// still is a clock that does not go on: no attempt to log in comes back however long a busy machine takes for the others.
func still() func() time.Time {
	now := time.Now()
	return func() time.Time { return now }
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
		o.TrustProxy, o.loginNow = true, still()
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
		o.TrustProxy, o.loginNow = true, still()
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
			again.DataDir, again.TrustProxy, again.loginNow = o.DataDir, true, o.loginNow
			a = start(t, again)
		}
		if got := open(t, a).loginFrom("203.0.113.10", "admin", fresh); got.status != http.StatusSeeOther {
			t.Errorf("after the reset: %d", got.status)
		}
	})
}

// set changes settings.
func (b *browser) set(values url.Values) {
	b.t.Helper()
	if got := b.post("/settings", values); got.status != http.StatusSeeOther {
		b.t.Fatalf("settings: %d %s", got.status, got.body)
	}
}

// TestAGivenPasswordIsChangedFirst logs in with one that an administrator gave: there is no session before another is chosen.
func TestAGivenPasswordIsChangedFirst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.set(url.Values{"password_change_given": {"on"}})
		const given, own = "given-lamp-otter-1", "own-lamp-otter-2"
		if got := b.post("/users", url.Values{"name": {"jonas"}, "password": {given}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		jonas := open(t, a)
		got := jonas.post("/login", url.Values{"name": {"jonas"}, "password": {given}, "next": {"/runs"}})
		step := got.header.Get("Location")
		if got.status != http.StatusSeeOther || step != "/login/password?next=%2Fruns" {
			t.Fatalf("login: %d %s", got.status, step)
		}
		if got := jonas.get("/jobs"); got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/login") {
			t.Errorf("before the step there is a session: %d", got.status)
		}
		program := open(t, a)
		if got := program.post("/xxl-job-admin/login", url.Values{"userName": {"jonas"}, "password": {given}}); !strings.Contains(got.body, `"code":`) || strings.Contains(got.body, `"code":200`) {
			t.Errorf("a program gets in without the step: %s", got.body)
		}
		if n := jonas.get(step).document(t).Find(`input[autocomplete="new-password"]`).Length(); n != 2 {
			t.Errorf("%d fields", n)
		}
		for what, password := range map[string]string{"the same": given, "a common one": "password1"} {
			if got := jonas.post(step, url.Values{"password": {password}, "repeat": {password}}); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d", what, got.status)
			}
		}
		if got := jonas.post(step, url.Values{"password": {own}, "repeat": {own}}); got.status != http.StatusSeeOther || got.header.Get("Location") != "/runs" {
			t.Fatalf("chosen: %d %s", got.status, got.header.Get("Location"))
		}
		if got := jonas.get("/runs"); got.status != http.StatusOK {
			t.Errorf("after the step: %d", got.status)
		}
		if got := open(t, a).login("jonas", own); got.header.Get("Location") != "/" {
			t.Errorf("the next login: %s", got.header.Get("Location"))
		}
		if got := jonas.get("/login/password"); got.header.Get("Location") != "/" {
			t.Errorf("the step with a session: %s", got.header.Get("Location"))
		}
		if got := open(t, a).get("/login/password"); got.header.Get("Location") != "/login" {
			t.Errorf("the step without a login: %s", got.header.Get("Location"))
		}
		// A reset ends what began with the password of before.
		users := b.get("/users?q=jonas").document(t)
		row, _ := users.Find("tbody tr").First().Attr("id")
		begun := open(t, a)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET password_due = 1 WHERE username = 'jonas'"); err != nil {
			t.Fatal(err)
		}
		if got := begun.login("jonas", own); got.header.Get("Location") != "/login/password" {
			t.Fatalf("login: %s", got.header.Get("Location"))
		}
		if got := b.post("/users/"+strings.TrimPrefix(row, "user-")+"/password", url.Values{"password": {given}}); got.status != http.StatusSeeOther {
			t.Fatalf("reset: %d", got.status)
		}
		if got := begun.post("/login/password", url.Values{"password": {"theirs-lamp-otter"}, "repeat": {"theirs-lamp-otter"}}); got.header.Get("Location") != "/login" {
			t.Errorf("a sign-in with the old password goes on: %d %s", got.status, got.header.Get("Location"))
		}
	})
}

// TestAnAdministratorEndsASessionOfSomebody sees where a user is logged in and ends one of two sessions.
func TestAnAdministratorEndsASessionOfSomebody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.TrustProxy = true
		a := start(t, o)
		b := open(t, a).mustLogin()
		const password = "given-lamp-otter-1"
		if got := b.post("/users", url.Values{"name": {"jonas"}, "password": {password}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		one, two := open(t, a), open(t, a)
		one.loginFrom("192.0.2.1", "jonas", password)
		two.loginFrom("192.0.2.2", "jonas", password)
		row, _ := b.get("/users?q=jonas").document(t).Find("tbody tr").First().Attr("id")
		user := "/users/" + strings.TrimPrefix(row, "user-")
		list := b.get(user + "/edit").document(t).Find(".session-list li")
		if list.Length() != 2 {
			t.Fatalf("%d sessions", list.Length())
		}
		for i := range list.Length() {
			if item := list.Eq(i); strings.Contains(item.Text(), "192.0.2.1") {
				session, _ := item.Find(`input[name="session"]`).Attr("value")
				if got := one.post(user+"/sessions/end", url.Values{"session": {session}}); got.status != http.StatusForbidden {
					t.Errorf("a user does it: %d", got.status)
				}
				if got := b.post(user+"/sessions/end", url.Values{"session": {session}}); got.status != http.StatusSeeOther {
					t.Errorf("end: %d", got.status)
				}
			}
		}
		if one, two := one.get("/jobs").status, two.get("/jobs").status; one != http.StatusSeeOther || two != http.StatusOK {
			t.Errorf("after it: %d and %d", one, two)
		}
	})
}

// TestNobodyStaysLoggedIn forbids it by setting.
func TestNobodyStaysLoggedIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a)
		remembers := func() bool {
			b := open(t, a)
			return b.get("/login").document(t).Find(`input[name="remember"]`).Length() == 1
		}
		stays := func() bool {
			got := open(t, a).post("/login", url.Values{"name": {"admin"}, "password": {testPassword}, "remember": {"on"}})
			for _, c := range got.header.Values("Set-Cookie") {
				if strings.HasPrefix(c, "punctual=") && strings.Contains(c, "Max-Age") {
					return true
				}
			}
			return false
		}
		if !remembers() || !stays() {
			t.Error("it is not offered")
		}
		b.mustLogin().set(url.Values{"session_remember_days": {"0"}})
		if remembers() || stays() {
			t.Error("it is offered")
		}
	})
}

// TestAnOpenPageDoesNotKeepItsSessionAlive looks at what the requests of an open page do to the time of the last use.
func TestAnOpenPageDoesNotKeepItsSessionAlive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		past := time.Now().Add(-time.Hour).UnixMilli()
		seen := func() (at int64) {
			if err := a.pool.QueryRowContext(t.Context(), "SELECT seen_at FROM punctual_session").Scan(&at); err != nil {
				t.Fatal(err)
			}
			return at
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_session SET seen_at = ?", past); err != nil {
			t.Fatal(err)
		}
		b.watch("/runs/events")
		for _, path := range []string{"/", "/jobs", "/nodes", "/runs"} {
			if got := b.do("GET", path, nil, "HX-Request", "true", "Punctual-Live", "1"); got.status != http.StatusOK {
				t.Errorf("%s: %d", path, got.status)
			}
		}
		if seen() != past {
			t.Error("an open page counts as use")
		}
		if b.get("/jobs"); seen() == past {
			t.Error("a click does not count as use")
		}
	})
}

// TestAPasswordThatIsChosenTwiceAtOnceLogsIn sends the step's form twice, as a double click does: the browser shows the second answer, and has
// let go of the first with the session in it.
func TestAPasswordThatIsChosenTwiceAtOnceLogsIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.loginNow = still()
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.set(url.Values{"password_change_given": {"on"}})
		const given, own = "given-lamp-otter-1", "own-lamp-otter-2"
		for _, name := range []string{"jonas", "irina"} {
			if got := b.post("/users", url.Values{"name": {name}, "password": {given}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		begin := func(name string) (first, second *browser) {
			first, second = open(t, a), open(t, a)
			if got := first.login(name, given); got.header.Get("Location") != "/login/password" {
				t.Fatalf("login: %d %s", got.status, got.header.Get("Location"))
			}
			home, err := url.Parse(first.base)
			if err != nil {
				t.Fatal(err)
			}
			second.http.Jar.SetCookies(home, first.http.Jar.Cookies(home))
			return first, second
		}
		chosen := url.Values{"password": {own}, "repeat": {own}}
		for _, again := range []url.Values{chosen, nil} { // the form, and the page
			first, second := begin("jonas")
			if got := first.post("/login/password", chosen); got.header.Get("Location") != "/" {
				t.Fatalf("chosen: %d %s", got.status, got.body)
			}
			method := "GET"
			if again != nil {
				method = "POST"
			}
			if got := second.do(method, "/login/password", again); got.header.Get("Location") != "/" || second.get("/jobs").status != http.StatusOK {
				t.Errorf("%s once more: %d to %q", method, got.status, got.header.Get("Location"))
			}
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET password_due = 1, password = (SELECT password FROM (SELECT password FROM xxl_job_user WHERE username = 'irina') AS i) WHERE username = 'jonas'"); err != nil {
				t.Fatal(err)
			}
		}
		first, second := begin("irina")
		var both sync.WaitGroup
		for _, one := range []*browser{first, second} {
			both.Go(func() {
				if got := one.post("/login/password", chosen); got.header.Get("Location") != "/" {
					t.Errorf("both at once: %d to %q", got.status, got.header.Get("Location"))
				}
			})
		}
		both.Wait()
		if first.get("/jobs").status != http.StatusOK && second.get("/jobs").status != http.StatusOK {
			t.Error("neither of two at once has a session")
		}
		// It is known for a moment only, and not once something else has ended it.
		first, late := begin("jonas")
		if got := first.post("/login/password", chosen); got.header.Get("Location") != "/" {
			t.Fatalf("chosen: %d %s", got.status, got.body)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_sign_in SET expires_at = expires_at - 10000"); err != nil {
			t.Fatal(err)
		}
		if got := late.post("/login/password", chosen); got.header.Get("Location") != "/login" || late.get("/jobs").status != http.StatusSeeOther {
			t.Errorf("later: %d to %q", got.status, got.header.Get("Location"))
		}
	})
}
