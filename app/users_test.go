package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// TestUsersInTheConsole is an administrator who lets somebody in, changes what they may do, and shuts them out again.
func TestUsersInTheConsole(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		if got := b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
		if boxes := b.get("/users/new").document(t).Find(`input[name="right"]`).Length(); boxes != 5 {
			t.Errorf("%d boxes for one executor", boxes)
		}
		bad := b.post("/users", url.Values{"name": {"Ann"}, "password": {"short"}, "right": {"1.run", "x", "1.nothing"}})
		if doc := bad.document(t); bad.status != http.StatusUnprocessableEntity || doc.Find(".field .error").Length() != 2 || doc.Find(`input[value="1.run"][checked]`).Length() != 1 {
			t.Errorf("a refused form: %d, %d errors", bad.status, doc.Find(".field .error").Length())
		}
		gone := b.post("/users", url.Values{"name": {"jonas"}, "role": {"user"}, "state": {"active"}, "right": {"1.run", "99.view"}})
		if said := gone.document(t).Find(".field .error").Text(); gone.status != http.StatusUnprocessableEntity || !strings.Contains(said, "99") {
			t.Errorf("rights in an executor that is not there: %d %q", gone.status, said)
		}
		made := b.post("/users", url.Values{"name": {"jonas"}, "role": {"user"}, "state": {"active"}, "right": {"1.run"}})
		password, _ := made.document(t).Find("#made-password").Attr("value")
		if made.status != http.StatusOK || len(password) < 20 {
			t.Fatalf("created: %d, password %q", made.status, password)
		}
		row := func(name string) *goquery.Selection {
			return b.get("/users?q=" + name).document(t).Find("tbody tr").First()
		}
		id, _ := row("jonas").Attr("id")
		user := "/users/" + strings.TrimPrefix(id, "user-")

		jonas := open(t, a)
		if got := jonas.login("jonas", password); got.status != http.StatusSeeOther {
			t.Fatalf("login: %d", got.status)
		}
		other := open(t, a)
		other.login("jonas", password)
		profile := jonas.get("/profile").document(t)
		if rights := profile.Find("table.rights .tick .icon").Length(); rights != 2 || profile.Find(".session-list li").Length() != 2 {
			t.Errorf("%d rights, %d sessions", rights, profile.Find(".session-list li").Length())
		}
		if got := jonas.post("/profile/password", url.Values{"old_password": {"wrong"}, "password": {"my-own-lamp-otter"}, "repeat": {"my-own-lamp-otter"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a wrong old password: %d", got.status)
		}
		if got := jonas.post("/profile/password", url.Values{"old_password": {password}, "password": {"my-own-lamp-otter"}, "repeat": {"my-own-lamp-otter"}}); got.status != http.StatusSeeOther {
			t.Errorf("a new password: %d", got.status)
		}
		if here, there := jonas.get("/profile").status, other.get("/profile").status; here != http.StatusOK || there != http.StatusSeeOther {
			t.Errorf("after the change: %d here, %d elsewhere", here, there)
		}
		other.login("jonas", "my-own-lamp-otter")
		session, _ := jonas.get("/profile").document(t).Find(`.session-list input[name="session"]`).Attr("value")
		if got := b.post("/profile/sessions/end", url.Values{"session": {session}}); got.status != http.StatusSeeOther || other.get("/profile").status != http.StatusOK {
			t.Error("somebody else ends the session")
		}
		if jonas.post("/profile/sessions/end", url.Values{"session": {session}}); other.get("/profile").status != http.StatusSeeOther {
			t.Error("the session goes on")
		}

		version := b.version(user + "/edit")
		change := url.Values{"role": {"user"}, "state": {"disabled"}, "version": {version}}
		if got := b.post(user, change); got.status != http.StatusSeeOther || jonas.get("/jobs").status != http.StatusSeeOther {
			t.Errorf("disabled: %d", got.status)
		}
		if got := jonas.login("jonas", "my-own-lamp-otter"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "disabled") {
			t.Errorf("a disabled user logs in: %d", got.status)
		}
		if got := b.post(user, change); got.status != http.StatusUnprocessableEntity {
			t.Errorf("saved from an old page: %d", got.status)
		}
		if row("jonas").Find(".badge.online").Length() != 0 {
			t.Error("the list calls a disabled user active")
		}
		reset := b.do("POST", user+"/password", url.Values{"password": {""}}, "HX-Request", "true")
		if strings.Contains(reset.body, "<html") || !strings.Contains(reset.body, "made-password") {
			t.Errorf("reset in the dialog: %d %s", reset.status, reset.body)
		}

		// Everything of that is in the audit log, and no password.
		log := b.get("/audit?kind=user&user=admin").document(t)
		if n := log.Find("tbody tr").Length(); n != 4 { // login, create, disable, reset
			t.Errorf("%d entries: %s", n, log.Find("tbody").Text())
		}
		href, _ := b.get("/audit?kind=user&action=update").document(t).Find("tbody a.title").Attr("href")
		entry := b.get(href)
		if doc := entry.document(t); doc.Find("table.audited ins").Length() != 1 || doc.Find("table.audited tbody tr").Length() != 2 || !strings.Contains(entry.body, "127.0.0.1") {
			t.Errorf("the entry of the change: %s", doc.Find("main").Text())
		}
		for _, page := range []string{"/audit", href} {
			if got := b.get(page); strings.Contains(got.body, password) || strings.Contains(got.body, "argon2") {
				t.Errorf("%s shows a password", page)
			}
		}
		if got := b.post(user+"/delete", url.Values{}); got.status != http.StatusSeeOther || row("jonas").Find(".title").Length() != 0 {
			t.Errorf("deleted: %d", got.status)
		}
		if got := b.get(user + "/edit"); got.status != http.StatusNotFound {
			t.Errorf("a deleted user: %d", got.status)
		}
		me, _ := row("admin").Attr("id")
		if got := b.post("/users/"+strings.TrimPrefix(me, "user-")+"/delete", url.Values{}); got.status != http.StatusConflict {
			t.Errorf("oneself: %d", got.status)
		}
	})
}

// TestLooksBelongToTheUser: language and theme follow somebody from browser to browser, and nobody else.
func TestLooksBelongToTheUser(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		looks := func(b *browser, path string) string {
			html := b.get(path).document(t).Find("html")
			return html.AttrOr("lang", "") + " " + html.AttrOr("data-theme", "")
		}
		choose := func(b *browser, field, value string) {
			t.Helper()
			if got := b.post("/preferences", url.Values{field: {value}, "next": {"/profile"}}); got.header.Get("Location") != "/profile" {
				t.Errorf("choose %s: %d", value, got.status)
			}
		}
		b := open(t, a).mustLogin()
		choose(b, "lang", "zh-CN")
		choose(b, "theme", "dark")
		elsewhere := open(t, a)
		if got := looks(elsewhere, "/login"); got != "en auto" {
			t.Errorf("a browser nobody chose anything in: %s", got)
		}
		elsewhere.mustLogin()
		if got := looks(elsewhere, "/jobs"); got != "zh-CN dark" {
			t.Errorf("the same user in another browser: %s", got)
		}
		choose(elsewhere, "theme", "auto")
		choose(elsewhere, "lang", "xx") // none of ours: as before
		if got := looks(b, "/jobs"); got != "zh-CN auto" {
			t.Errorf("changed elsewhere: %s", got)
		}
		ann := normalUser(t, a)
		if got := looks(ann, "/jobs"); got != "en auto" {
			t.Errorf("another user: %s", got)
		}
		// Somebody who never chose has what the browser was told before the login.
		choose(ann, "theme", "light")
		stranger := open(t, a)
		choose(stranger, "lang", "zh-CN")
		stranger.login("ann", testPassword)
		if got := looks(stranger, "/jobs"); got != "zh-CN light" {
			t.Errorf("chosen before the login: %s", got)
		}
	})
}

// TestTheMarksOfTheJobFormLeadToTheHelpPage to sections that are there.
func TestTheMarksOfTheJobFormLeadToTheHelpPage(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
	help := b.get("/help").document(t)
	marks := b.get("/jobs/new").document(t).Find("a.more")
	if marks.Length() < 7 {
		t.Errorf("%d marks", marks.Length())
	}
	marks.Each(func(_ int, s *goquery.Selection) {
		section, ok := strings.CutPrefix(s.AttrOr("href", ""), "/help#")
		if !ok || help.Find("section#"+section).Length() != 1 {
			t.Errorf("a mark leads to %s", s.AttrOr("href", ""))
		}
	})
}

// TestAChangeOfAUserCanBeTakenBack disables somebody and takes their rights away, and undoes both from the message about it.
func TestAChangeOfAUserCanBeTakenBack(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
	b.post("/users", url.Values{"name": {"jonas"}, "password": {"long-lamp-otter-1"}, "role": {"user"}, "state": {"active"}, "right": {"1.run", "1.glue"}})
	state := func() string {
		doc := b.get("/users/2/edit").document(t)
		said := doc.Find(`[name="state"] option[selected], [name="state"][checked]`).AttrOr("value", "")
		doc.Find(`[name="right"][checked]`).Each(func(_ int, s *goquery.Selection) { said += " " + s.AttrOr("value", "") })
		return said
	}
	before := state()
	if !strings.HasPrefix(before, "active") || !strings.Contains(before, "1.glue") {
		t.Fatalf("at first: %s", before)
	}
	if got := b.post("/users/2", url.Values{"role": {"user"}, "state": {"disabled"}, "version": {b.version("/users/2/edit")}}); got.status != http.StatusSeeOther {
		t.Fatalf("disable: %d", got.status)
	}
	undo := b.get("/users").document(t).Find("#toasts .undo")
	if now := state(); now != "disabled" || undo.Length() != 1 {
		t.Fatalf("disabled: %s, %d offers", now, undo.Length())
	}
	form := url.Values{}
	undo.Find("input").Each(func(_ int, s *goquery.Selection) { form.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
	if got := b.post(undo.AttrOr("action", ""), form); got.status != http.StatusSeeOther || state() != before {
		t.Errorf("undone: %d, %s; want %s", got.status, state(), before)
	}
	// Offered once more after somebody else's change, it would overwrite that.
	b.post("/users/2", url.Values{"role": {"admin"}, "state": {"active"}, "version": {b.version("/users/2/edit")}})
	if got := b.post("/users/2", form); got.status != http.StatusUnprocessableEntity {
		t.Errorf("undone over another change: %d", got.status)
	}
	// A new password cannot be taken back.
	b.get("/users")
	b.post("/users/2", url.Values{"role": {"user"}, "state": {"disabled"}, "password": {"long-lamp-otter-2"}, "version": {b.version("/users/2/edit")}})
	if n := b.get("/users").document(t).Find("#toasts .undo").Length(); n != 0 {
		t.Errorf("%d offers after a new password", n)
	}
}

// TestAnyPasswordFitsIntoTheLoginForm: a browser cuts what is pasted into a field at its maxlength without a word, and the longest password
// that somebody may choose would then be a wrong one.
func TestAnyPasswordFitsIntoTheLoginForm(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	long := strings.Repeat("lamp-otter-", 90)
	open(t, a).mustLogin().post("/users", url.Values{"name": {"jonas"}, "password": {long}, "role": {"user"}, "state": {"active"}})
	b := open(t, a)
	if most, bounded := b.get("/login").document(t).Find("#password").Attr("maxlength"); bounded {
		t.Errorf("at most %s characters of %d can be typed", most, len(long))
	}
	if got := b.login("jonas", long); got.status != http.StatusSeeOther {
		t.Errorf("log in: %d", got.status)
	}
}
