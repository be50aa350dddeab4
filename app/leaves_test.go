package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestWhoDeletesAUserIsToldWhatTheyLeave, and of whom was deleted or disabled nothing goes on: not in two browsers, not by a token, not a login of
// the command line that was let in and not fetched yet.
func TestWhoDeletesAUserIsToldWhatTheyLeave(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		root := open(t, a).mustLogin()
		if got := root.post("/users", url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"admin"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d", got.status)
		}
		row, _ := root.get("/users?q=jonas").document(t).Find("tbody tr").First().Attr("id")
		user := "/users/" + strings.TrimPrefix(row, "user-")
		asked := func() string { t.Helper(); return root.get(user + "/delete").document(t).Find(".panel").Text() }
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET author = 'jonas b.'"); err != nil { // somebody else
			t.Fatal(err)
		}
		if got := asked(); strings.Contains(got, "owner") || strings.Contains(got, "waits") || strings.Contains(got, "API token") {
			t.Errorf("of who leaves nothing it says %s", got)
		}
		one, other := open(t, a), open(t, a)
		for _, b := range []*browser{one, other} {
			b.login("jonas", testPassword)
		}
		_, editor, _ := one.script(t, "theirs")
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET author = 'jonas'"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.pool.ExecContext(t.Context(), "REPLACE INTO punctual_group (app_name, script_review) SELECT app_name, 1 FROM xxl_job_group"); err != nil {
			t.Fatal(err)
		}
		if got := one.post(editor, url.Values{"source": {"echo theirs"}, "remark": {"a change"}}); got.location() != editor+"/waiting" {
			t.Fatalf("propose: %d", got.status)
		}
		token := makeToken(t, one, url.Values{"name": {"laptop"}, "scope": {"admin"}, "days": {"7"}})
		program := &caller{t: t, base: a.Welcome().URL}
		var login askedDevice
		program.json(http.StatusCreated, &login, "POST", "/device-logins", `{"program":"punctual"}`)
		if got := other.post("/device", url.Values{"code": {login.Code}, "name": {"punctual"}, "days": {"7"}, "scope": {"view"}}); got.status != http.StatusOK {
			t.Fatalf("let in: %d", got.status)
		}
		text := asked()
		for _, want := range []string{"1 API token of theirs counts", "as its owner", "1 change of a script by them waits"} {
			if !strings.Contains(text, want) && !strings.Contains(text, strings.Replace(want, "as its owner", "as their owner", 1)) {
				t.Errorf("it does not say %q: %s", want, text)
			}
		}
		is := func(what string, session, counts int) {
			t.Helper()
			for _, b := range []*browser{one, other} {
				if got := b.get("/jobs"); got.status != session {
					t.Errorf("%s: a session: %d, want %d", what, got.status, session)
				}
			}
			for _, path := range []string{"/api/v1/jobs", "/api/v1/whoami"} {
				if got := open(t, a).do("GET", path, nil, "Authorization", "Bearer "+token); got.status != counts {
					t.Errorf("%s: the token at %s: %d, want %d", what, path, got.status, counts)
				}
			}
			if got := open(t, a).do("POST", "/mcp", nil, "Authorization", "Bearer "+token); counts == http.StatusUnauthorized && got.status != http.StatusUnauthorized {
				t.Errorf("%s: an assistant: %d", what, got.status)
			}
		}
		is("while they are here", http.StatusOK, http.StatusOK)
		edited := func(state string) {
			t.Helper()
			if got := root.post(user, url.Values{"state": {state}, "role": {"admin"}, "version": {root.version(user + "/edit")}}); got.status != http.StatusSeeOther {
				t.Fatalf("%s: %d", state, got.status)
			}
		}
		edited("disabled")
		is("disabled", http.StatusSeeOther, http.StatusUnauthorized)
		if got := root.post(user+"/delete", url.Values{}); got.status != http.StatusSeeOther {
			t.Fatalf("delete: %d", got.status)
		}
		is("deleted", http.StatusSeeOther, http.StatusUnauthorized)
		var taken takenDevice
		if program.json(http.StatusOK, &taken, "POST", "/device-logins/token", fmt.Sprintf(`{"device_code":%q}`, login.Device)); taken.State != "refused" || taken.Token != "" {
			t.Errorf("a login of the command line that was let in: %+v", taken)
		}
		// Their change is left, and another may decide about it.
		page := root.get(editor + "/waiting").document(t)
		if got := root.post(editor+"/waiting", url.Values{"version": {page.Find(`input[name="version"]`).AttrOr("value", "")}, "decision": {"approve"}}); got.location() != editor {
			t.Errorf("approve what they left: %d %.200s", got.status, got.body)
		}
	})
}
