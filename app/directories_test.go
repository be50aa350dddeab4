package app

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/link"
)

// signInFile reads a sign-in file.
func signInFile(t *testing.T, text string) directory.Config {
	t.Helper()
	cfg, err := directory.Parse([]byte(text), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// company is a sign-in file with a provider.
func company(t *testing.T, p *directorytest.OIDC) directory.Config {
	t.Helper()
	secret, err := json.Marshal(directorytest.ClientSecret)
	if err != nil {
		t.Fatal(err)
	}
	return signInFile(t, fmt.Sprintf(`
oidc:
  - name: company
    label: Company account
    issuer: %s
    client_id: %s
    client_secret: %s
    insecure: true
    rules:
      - {claim: groups, value: ops, rights: {orders: [run], nowhere: [view]}}
      - {claim: groups, value: watch, rights: {"*": [view]}}
      - {claim: groups, value: chiefs, role: admin}
      - {claim: groups, value: nights, teams: [night shift, Nowhere]}
`, p.URL, directorytest.ClientID, secret))
}

// member is somebody in groups at the provider.
func member(name string, groups ...string) map[string]any {
	return map[string]any{"sub": "sub-of-" + name, "preferred_username": name, "groups": groups}
}

// location is where an answer leads.
func (a answer) location() string { return a.header.Get("Location") }

// toProvider begins a sign-in and returns the path with which the provider sends the browser back.
func (b *browser) toProvider(next string) string {
	b.t.Helper()
	return b.toProviderNamed("company", next)
}

func (b *browser) toProviderNamed(name, next string) string {
	b.t.Helper()
	begun := b.get("/sign-in/" + name + "?next=" + url.QueryEscape(next))
	if begun.status != http.StatusSeeOther {
		b.t.Fatalf("begin: %d %.300s", begun.status, begun.body)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(begun.location())
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	back, found := strings.CutPrefix(resp.Header.Get("Location"), b.base)
	if !found || !strings.HasPrefix(back, "/sign-in/"+name+"/callback?") {
		b.t.Fatalf("the provider answers %d, %q", resp.StatusCode, resp.Header.Get("Location"))
	}
	return back
}

func (b *browser) signIn() answer {
	b.t.Helper()
	return b.get(b.toProvider("/jobs"))
}

// orders makes two groups, of which the second is nobody's, with a job each.
func orders(t *testing.T, a *App) (mine, theirs objects) {
	t.Helper()
	var ids [2]int64
	for i, name := range []string{"orders", "stock"} {
		id, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: name, Title: name})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id
	}
	return things(t, a, ids[0], "plain"), things(t, a, ids[1], secret)
}

// provided is an admin whose users sign in through a provider, with a group that its rules open, and another.
type provided struct {
	*directorytest.OIDC
	t            *testing.T
	a            *App
	admin        *browser
	mine, theirs objects
}

func newProvided(t *testing.T, o Options) *provided {
	t.Helper()
	p := directorytest.NewOIDC(t)
	o.SignIn = company(t, p)
	a := start(t, o)
	mine, theirs := orders(t, a)
	return &provided{OIDC: p, t: t, a: a, admin: open(t, a).mustLogin(), mine: mine, theirs: theirs}
}

// annIn signs Ann in, as a member of groups.
func (p *provided) annIn(groups ...string) *browser {
	p.t.Helper()
	p.SetUser(member("ann.li@example.com", groups...))
	b := open(p.t, p.a)
	if got := b.signIn(); got.status != http.StatusSeeOther {
		p.t.Fatalf("sign in: %d %q %.300s", got.status, got.location(), got.body)
	}
	return b
}

// annsPage is the page of Ann's account.
func (p *provided) annsPage() string {
	p.t.Helper()
	u, err := db.New().GetUserByName(p.t.Context(), p.a.pool, "ann.li@example.com")
	if err != nil {
		p.t.Fatal(err)
	}
	return "/users/" + strconv.FormatInt(u.ID, 10)
}

// TestPeopleSignInThroughAProvider, with the rights of the rules, and without a password.
func TestPeopleSignInThroughAProvider(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := newProvided(t, o)
		ann := open(t, p.a)
		way, _ := ann.get("/login?next=/runs").document(t).Find(".ways a").First().Attr("href")
		if way != "/sign-in/company?next=%2Fruns" {
			t.Errorf("the login page leads to %q", way)
		}
		p.SetUser(member("ann.li@example.com", "all", "ops"))
		if got := ann.signIn(); got.status != http.StatusSeeOther || got.location() != "/jobs" {
			t.Fatalf("sign in: %d %q %.300s", got.status, got.location(), got.body)
		}
		if got := ann.get("/jobs").body; !strings.Contains(got, "plain") || strings.Contains(got, secret) {
			t.Error("the rights are not those of the rules")
		}
		if run := ann.get(fmt.Sprintf("/jobs/%d/run", p.mine.job)).status; run != http.StatusOK {
			t.Errorf("run: %d", run)
		}
		if got := ann.get(fmt.Sprintf("/jobs/%d/edit", p.mine.job)).status; got != http.StatusForbidden {
			t.Errorf("edit: %d", got)
		}
		if profile := ann.get("/profile").document(t); profile.Find(`input[name="password"]`).Length() != 0 || !strings.Contains(profile.Text(), "company") {
			t.Error("the profile offers a password")
		}
		if got := ann.post("/profile/password", url.Values{"old_password": {"-"}, "password": {"my-own-password"}, "repeat": {"my-own-password"}}); got.status != http.StatusConflict {
			t.Errorf("a password of one's own: %d", got.status)
		}
		if got := open(t, p.a).login("ann.li@example.com", "-"); got.status != http.StatusUnprocessableEntity {
			t.Errorf("the placeholder of a password: %d", got.status)
		}
	})
}

// TestAnotherGroupAtTheProviderIsOtherRights at the next sign-in, and open streams go with them.
func TestAnotherGroupAtTheProviderIsOtherRights(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := newProvided(t, o)
		ann := p.annIn("ops")
		p.SetUser(member("ann.li@example.com", "watch"))
		if got := ann.signIn(); got.status != http.StatusSeeOther {
			t.Fatalf("sign in again: %d", got.status)
		}
		if got := ann.get("/jobs").body; !strings.Contains(got, "plain") || !strings.Contains(got, secret) {
			t.Error("the new group is not there")
		}
		list := ann.watch("/runs/events")
		list.until(t, secret)
		p.SetUser(member("ann.li@example.com", "ops"))
		second := open(t, p.a)
		if got := second.signIn(); got.status != http.StatusSeeOther {
			t.Fatalf("sign in elsewhere: %d", got.status)
		}
		list.until(t, "event: gone")
		things(t, p.a, p.theirs.group, secret+"2")
		list.quiet(t, "the list", 2*time.Second)
	})
}

// TestWhomNoRuleLetsIn: she is refused, and out everywhere, until one does. The audit log has each change.
func TestWhomNoRuleLetsIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := newProvided(t, o)
		ann, second := p.annIn("ops"), p.annIn("ops")
		p.SetUser(member("ann.li@example.com", "all"))
		if got := open(t, p.a).signIn(); got.status != http.StatusForbidden || !strings.Contains(got.body, "no rule here lets you in") {
			t.Errorf("without a rule: %d %.300s", got.status, got.body)
		}
		if first, second := ann.get("/jobs").status, second.get("/jobs").status; first != http.StatusSeeOther || second != http.StatusSeeOther {
			t.Errorf("her sessions: %d, %d", first, second)
		}
		if rights := p.admin.get(p.annsPage() + "/edit").document(t).Find("table.rights .tick .icon").Length(); rights != 0 {
			t.Errorf("%d rights are left", rights)
		}
		p.SetUser(nil)
		if got := ann.signIn(); got.status != http.StatusForbidden || !strings.Contains(got.body, "Company account did not let you in") {
			t.Errorf("closed at the provider: %d %.300s", got.status, got.body)
		}
		p.annIn("ops")
		p.annIn("watch")
		log := p.admin.get("/audit?kind=user").document(t).Find("tbody").Text()
		if strings.Count(log, "company") < 4 {
			t.Errorf("the audit log says too little of what the provider changed: %s", log)
		}
	})
}

// TestWhatIsDecidedHereOfWhoComesThroughAProvider: what she may do is not, and whether she may come is.
func TestWhatIsDecidedHereOfWhoComesThroughAProvider(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := newProvided(t, o)
		ann := p.annIn("ops")
		of := p.annsPage()
		form := p.admin.get(of + "/edit").document(t)
		if form.Find(`input[name="right"], input[name="role"], input[name="break_glass"]`).Length() != 0 || form.Find("table.rights .tick .icon").Length() != 2 {
			t.Errorf("the form of somebody of a provider: %s", form.Find("form.form").Text())
		}
		if got := p.admin.post(of+"/password", url.Values{"password": {testPassword}}); got.status != http.StatusConflict {
			t.Errorf("a password for her: %d", got.status)
		}
		if got := p.admin.post(of, url.Values{"state": {"disabled"}, "role": {"admin"}, "right": {"2.glue"}, "version": {p.admin.version(of + "/edit")}}); got.status != http.StatusSeeOther {
			t.Errorf("disable: %d", got.status)
		}
		if got := ann.signIn(); got.status != http.StatusForbidden || !strings.Contains(got.body, "disabled") {
			t.Errorf("disabled here: %d", got.status)
		}
		row, err := db.New().GetUserByName(t.Context(), p.a.pool, "ann.li@example.com")
		if err != nil || row.Role != 0 || row.Disabled == 0 {
			t.Errorf("a form made %+v, %v", row, err)
		}
	})
}

// TestANameFromAProviderIsNobodyElses, and somebody's new one goes along, unless it is taken.
func TestANameFromAProviderIsNobodyElses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := newProvided(t, o)
		p.annIn("ops")
		for name, subject := range map[string]string{"Admin": "x", "ann.li@example.com": "somebody else"} {
			p.SetUser(map[string]any{"sub": subject, "preferred_username": name, "groups": []string{"chiefs"}})
			b := open(t, p.a)
			if got := b.signIn(); got.status != http.StatusConflict || !strings.Contains(got.body, "already another user called "+name) || b.get("/jobs").status != http.StatusSeeOther {
				t.Errorf("%s: %d %.300s", name, got.status, got.body)
			}
		}
		p.SetUser(member("chen", "chiefs"))
		chen := open(t, p.a)
		chen.signIn()
		renamed := member("chen", "chiefs")
		renamed["preferred_username"] = "陈晨"
		p.SetUser(renamed)
		if chen.signIn(); chen.get("/users").status != http.StatusOK || !strings.Contains(chen.get("/profile").body, "陈晨") {
			t.Error("the new name of an administrator is not there")
		}
		renamed["preferred_username"] = "admin"
		p.SetUser(renamed)
		if chen.signIn(); !strings.Contains(chen.get("/profile").body, "陈晨") {
			t.Error("a taken name was taken")
		}
	})
}

// TestTheLastAdministratorWithAPasswordStays, since the provider may be away.
func TestTheLastAdministratorWithAPasswordStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := newProvided(t, o)
		p.SetUser(member("chen", "chiefs"))
		chen := open(t, p.a)
		chen.signIn()
		me, err := db.New().GetUserByName(t.Context(), p.a.pool, "admin")
		if err != nil {
			t.Fatal(err)
		}
		if got := chen.post(fmt.Sprintf("/users/%d/delete", me.ID), nil); got.status != http.StatusConflict {
			t.Errorf("the last administrator with a password is deleted: %d", got.status)
		}
	})
}

func TestASignInIsGoodOnceAndInItsBrowser(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		a := start(t, o)
		orders(t, a)
		p.SetUser(member("anna", "ops"))
		stale := func(what string, b *browser, got answer) {
			t.Helper()
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, "Begin again") || b.get("/jobs").status != http.StatusSeeOther {
				t.Errorf("%s: %d %.300s", what, got.status, got.body)
			}
		}
		b, other := open(t, a), open(t, a)
		back := b.toProvider("/jobs")
		stale("in another browser", other, other.get(back))
		stale("without a state", other, other.get("/sign-in/company/callback?code=x"))
		stale("with the state of another", b, b.get(strings.Replace(back, "state=", "state=A", 1)))

		cookies := b.http.Jar.Cookies(mustURL(t, b.base+"/sign-in/company/callback"))
		if len(cookies) != 1 || strings.Contains(cookies[0].Value, "anna") {
			t.Fatalf("cookies: %v", cookies)
		}
		if got := b.get(back); got.status != http.StatusSeeOther || got.location() != "/jobs" {
			t.Fatalf("the right one: %d", got.status)
		}
		for _, left := range b.http.Jar.Cookies(mustURL(t, b.base+"/sign-in/company/callback")) {
			if strings.HasPrefix(left.Name, "punctual_sign_in") {
				t.Errorf("a cookie that is left: %v", left)
			}
		}
		thief := open(t, a)
		stale("a second time", thief, thief.do("GET", back, nil, "Cookie", cookies[0].String()))

		// The mark in the database, with a code that would be good.
		again := thief.toProvider("/")
		state := mustURL(t, b.base+again).Query().Get("state")
		sum := sha256.Sum256([]byte(state))
		if n, err := db.New().UseSignIn(t.Context(), a.pool, db.UseSignInParams{ID: hex.EncodeToString(sum[:]), UsedAt: time.Now().UnixMilli()}); n != 1 {
			t.Fatal(n, err)
		}
		stale("a sign-in that another admin has seen", thief, thief.get(again))

		for what, twist := range map[string]map[string]any{
			"another issuer": {"iss": "https://elsewhere.example.com"}, "another audience": {"aud": "another"}, "another nonce": {"nonce": "another"},
			"expired": {"exp": time.Now().Add(-time.Hour).Unix()},
		} {
			p.Twist(func(claims map[string]any) { maps.Copy(claims, twist) })
			b := open(t, a)
			if got := b.signIn(); got.status != http.StatusBadRequest || !strings.Contains(got.body, "could not be verified") || b.get("/jobs").status != http.StatusSeeOther {
				t.Errorf("%s: %d %.300s", what, got.status, got.body)
			}
		}
		p.Twist(nil)
		if got := open(t, a).get(open(t, a).toProvider("/")); got.status != http.StatusBadRequest {
			t.Errorf("a sign-in that somebody else began: %d", got.status)
		}
		fresh := open(t, a)
		if got := fresh.get(fresh.toProvider("https://evil.example.com/")); got.location() != "/" {
			t.Errorf("leads on to %q", got.location())
		}
		if got := open(t, a).get("/sign-in/nowhere"); got.status != http.StatusSeeOther || got.location() != link.Login {
			t.Errorf("a provider that there is not: %d, on to %q", got.status, got.location())
		}
		p.Close()
		if got := open(t, a).signInDown(); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "cannot be reached") {
			t.Errorf("down: %d %.300s", got.status, got.body)
		}
		if got := open(t, a).login("admin", testPassword); got.status != http.StatusSeeOther {
			t.Errorf("the administrator's password: %d", got.status)
		}
	})
}

// signInDown begins a sign-in whose end the provider does not live to see.
func (b *browser) signInDown() answer {
	b.t.Helper()
	begun := b.get("/sign-in/company")
	state := mustURL(b.t, begun.location()).Query().Get("state")
	return b.get("/sign-in/company/callback?code=x&state=" + state)
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestADirectoryAndBreakGlassAdministrators(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		l := directorytest.NewLDAP(t)
		o.SignIn = office(t, l, "ops")
		o.SignIn.Passwords = directory.PasswordsBreakGlass
		a := start(t, o)
		admin := open(t, a).mustLogin()
		orders(t, a)
		for _, form := range []url.Values{
			{"name": {"robert"}, "password": {testPassword}, "role": {"user"}},
			{"name": {"second"}, "password": {testPassword}, "role": {"admin"}},
		} {
			form.Set("state", "active")
			if got := admin.post("/users", form); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %.300s", got.status, got.body)
			}
		}
		says := func(what string, got answer, status int, text string) {
			t.Helper()
			if got.status != status || !strings.Contains(got.body, text) {
				t.Errorf("%s: %d, want %d with %q: %.300s", what, got.status, status, text, got.body)
			}
		}
		jonas := open(t, a)
		says("a wrong password", jonas.login("jonas", "wrong"), http.StatusUnprocessableEntity, "is wrong. If it is that of your company account, it is reset there")
		says("an empty password", jonas.login("jonas", ""), http.StatusUnprocessableEntity, "is wrong")
		says("no rule", open(t, a).login("ann", directorytest.Password), http.StatusForbidden, "no rule here lets you in")
		says("jonas", jonas.login("jonas", directorytest.Password), http.StatusSeeOther, "")
		if got := jonas.get("/jobs").body; !strings.Contains(got, "plain") || strings.Contains(got, secret) {
			t.Error("the rights are not those of the rules")
		}
		program := open(t, a).do("POST", "/xxl-job-admin/login", url.Values{"userName": {"jonas"}, "password": {directorytest.Password}})
		says("jonas, as a program", program, http.StatusOK, `"code":200`)

		says("a local user", open(t, a).login("robert", testPassword), http.StatusUnprocessableEntity, "break-glass administrators only")
		says("a local user with a wrong password", open(t, a).login("robert", "wrong"), http.StatusUnprocessableEntity, "is wrong")
		says("a local user, as a program", open(t, a).do("POST", "/xxl-job-admin/login", url.Values{"userName": {"robert"}, "password": {testPassword}}), http.StatusForbidden, "break-glass")
		says("an administrator while nobody is marked", open(t, a).login("second", testPassword), http.StatusSeeOther, "")
		root, err := db.New().GetUserByName(t.Context(), a.pool, "admin")
		if err != nil {
			t.Fatal(err)
		}
		second := open(t, a)
		second.login("second", testPassword)
		path := fmt.Sprintf("/users/%d", root.ID)
		says("mark", second.post(path, url.Values{"role": {"admin"}, "state": {"active"}, "break_glass": {"on"}, "version": {second.version(path + "/edit")}}), http.StatusSeeOther, "")
		if text := second.get("/users").document(t).Find(fmt.Sprintf("#user-%d", root.ID)).Text(); !strings.Contains(text, "Break-glass") {
			t.Errorf("the list does not mark them: %s", text)
		}
		says("another administrator", open(t, a).login("second", testPassword), http.StatusUnprocessableEntity, "break-glass administrators only")
		says("who is marked", open(t, a).login("admin", testPassword), http.StatusSeeOther, "")

		l.Stop()
		says("the directory is down", open(t, a).login("jonas", directorytest.Password), http.StatusServiceUnavailable, "office cannot be reached")
		says("who is marked, while it is down", open(t, a).login("admin", testPassword), http.StatusSeeOther, "")
		a.audit.FlushCounted(t.Context(), true)
		wantAudited(t, a, "login_refused",
			`jonas 127.0.0.1 user jonas {"reason":"wrong"}`, `ann 127.0.0.1 user ann {"provider":"office","reason":"unruled"}`,
			`robert 127.0.0.1 user robert {"reason":"closed"}`, `robert 127.0.0.1 user robert {"reason":"wrong"}`, `second 127.0.0.1 user second {"reason":"closed"}`,
			`jonas 127.0.0.1 user jonas {"reason":"wrong","times":1}`, `robert 127.0.0.1 user robert {"reason":"closed","times":1}`)
	})
}
