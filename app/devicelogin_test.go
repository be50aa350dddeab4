package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
)

type askedDevice struct {
	Device string    `json:"device_code"`
	Code   string    `json:"user_code"`
	Path   string    `json:"verification_path"`
	Until  time.Time `json:"expires_at"`
}

type takenDevice struct{ State, Token string }

// TestAProgramIsLetIn by somebody who is signed in, as far as they say, and gets its token once.
func TestAProgramIsLetIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		program := &caller{t: t, base: root.base}
		ask := func() (d askedDevice) {
			program.json(http.StatusCreated, &d, "POST", "/device-logins", `{"program":"punctual on <b>laptop</b>"}`)
			return d
		}
		take := func(d askedDevice) (got takenDevice) {
			program.json(http.StatusOK, &got, "POST", "/device-logins/token", fmt.Sprintf(`{"device_code":%q}`, d.Device))
			return got
		}
		letIn := func(code string, scope ...string) answer {
			return root.post("/device", url.Values{"code": {code}, "name": {"laptop"}, "days": {"7"}, "scope": scope})
		}

		d := ask()
		if got := take(d); got.State != "waiting" || got.Token != "" {
			t.Fatalf("before anybody has answered: %+v", got)
		}
		page := root.get(d.Path).document(t)
		if text := page.Find("main").Text(); !strings.Contains(text, d.Code) || !strings.Contains(text, "punctual on <b>laptop</b>") {
			t.Errorf("the page does not show the program: %s", text)
		}
		if value, _ := page.Find("[name=name]").Attr("value"); value != "punctual on <b>laptop</b>" {
			t.Errorf("the token's name is %q", value)
		}
		if got := open(t, a).get(d.Path); got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/login?next=") {
			t.Errorf("nobody: %d %v", got.status, got.header)
		}
		if got := letIn(strings.ToLower(strings.ReplaceAll(d.Code, "-", " "))); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, d.Code) {
			t.Errorf("without a right: %d", got.status)
		}
		if got := letIn(strings.ToLower(strings.ReplaceAll(d.Code, "-", " ")), "view"); got.status != http.StatusOK {
			t.Fatalf("let in: %d %s", got.status, got.body)
		}
		var tokens []string
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got := take(d); got.Token != "" {
					mu.Lock()
					tokens = append(tokens, got.Token)
					mu.Unlock()
				} else if got.State != "expired" {
					t.Errorf("taken twice: %+v", got)
				}
			})
		}
		all.Wait()
		if len(tokens) != 1 {
			t.Fatalf("%d tokens", len(tokens))
		}
		holder := &caller{t: t, base: root.base, token: tokens[0]}
		if got := holder.do("GET", "/jobs", ""); got.status != http.StatusOK {
			t.Errorf("with the token: %d %s", got.status, got.body)
		}
		if got := holder.do("GET", "/users", ""); got.status != http.StatusForbidden {
			t.Errorf("beyond its scope: %d", got.status)
		}
		if got := letIn(d.Code, "view"); got.status != http.StatusNotFound {
			t.Errorf("let in twice: %d", got.status)
		}
		if got := root.get("/tokens"); !strings.Contains(got.body, "laptop") || !strings.Contains(got.body, auth.APITokenHint(tokens[0])) {
			t.Error("the token is not in the list")
		}

		refused := ask()
		if got := root.post("/device", url.Values{"code": {refused.Code}, "refuse": {"1"}}); got.status != http.StatusOK {
			t.Errorf("keep out: %d", got.status)
		}
		if got := take(refused); got.State != "refused" {
			t.Errorf("kept out: %+v", got)
		}

		late, lateLetIn := ask(), ask()
		letIn(lateLetIn.Code, "view")
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_device_login SET expires_at = 1"); err != nil {
			t.Fatal(err)
		}
		if got := letIn(late.Code, "view"); got.status != http.StatusNotFound {
			t.Errorf("too late: %d", got.status)
		}
		if a, b := take(late), take(lateLetIn); a.State != "expired" || b.State != "expired" || b.Token != "" {
			t.Errorf("too late: %+v, %+v", a, b)
		}
		if got := program.do("POST", "/device-logins/token", `{"device_code":"nothing"}`); got.status != http.StatusNotFound || !strings.Contains(got.body, "device.unknown") {
			t.Errorf("a code of nobody: %d %s", got.status, got.body)
		}
		if got := program.do("POST", "/device-logins/token", fmt.Sprintf(`{"device_code":%q}`, ask().Code)); got.status != http.StatusNotFound {
			t.Errorf("with the code that everybody sees: %d", got.status)
		}
		few := 0
		for range 30 {
			if got := program.do("POST", "/device-logins", `{"program":"flood"}`); got.status == http.StatusCreated {
				few++
			} else if got.status != http.StatusTooManyRequests {
				t.Errorf("a flood: %d %s", got.status, got.body)
			}
		}
		if few != 19 {
			t.Errorf("%d more were let ask, want 19", few)
		}
	})
}
