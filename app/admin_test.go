package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// normalUser logs somebody in who may use the first group.
func normalUser(t *testing.T, a *App) *browser {
	t.Helper()
	hash, err := auth.NewPasswords(1).Hash(t.Context(), testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.New().InsertUser(t.Context(), a.pool, db.InsertUserParams{Username: "ann", Password: hash, Permission: "1"}); err != nil {
		t.Fatal(err)
	}
	ann := open(t, a)
	if got := ann.login("ann", testPassword); got.status != http.StatusSeeOther {
		t.Fatalf("login: %d", got.status)
	}
	return ann
}

func TestTheNodesPage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		doc := b.get("/nodes").document(t)
		if rows := doc.Find("tbody tr"); rows.Length() != 1 || rows.Find(".badge.online").Length() != 1 || rows.Find(".self").Length() != 1 {
			t.Errorf("this admin is not shown: %s", rows.Text())
		}
		if doc.Find(".figures dd").Length() == 0 || doc.Find(".notice.warning").Length() != 0 {
			t.Error("the load is not shown, or it says that nothing may be sent")
		}
		if got := b.do("GET", "/nodes", nil, "HX-Request", "true"); strings.Contains(got.body, "<html") || !strings.Contains(got.body, `id="results"`) {
			t.Errorf("the part for htmx: %.200s", got.body)
		}
		ann := normalUser(t, a)
		if got := ann.get("/nodes"); got.status != http.StatusForbidden {
			t.Errorf("a normal user: %d", got.status)
		}
		if got := ann.get("/jobs"); strings.Contains(got.body, `href="/nodes"`) {
			t.Error("the navigation leads a normal user to what they may not see")
		}
	})
}

func TestTheExecutorPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.AccessToken = ""
		a := start(t, o)
		b := open(t, a).mustLogin()
		if got := b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders <b>"}, "type": {"manual"}, "addresses": {"http://10.0.0.1:9999 http://10.0.0.2:9999"}}); got.header.Get("Location") != "/executors/1" {
			t.Fatalf("create group: %d %.300s", got.status, got.body)
		}
		page := b.get("/executors/1")
		doc := page.document(t)
		if got := doc.Find(".table tbody tr").Length(); got != 2 {
			t.Errorf("%d addresses", got)
		}
		if token := a.Token(); token == "" || strings.Contains(page.body, token) {
			t.Error("the token is in the page although nobody asked for it")
		}
		shown := b.get("/executors/1?token=show")
		if got := shown.document(t).Find("#token-value").Text(); got != a.Token() {
			t.Errorf("shown: %q", got)
		}
		for _, want := range []string{"xxl.job.executor.accessToken=" + a.Token(), "xxl.job.admin.addresses=" + b.base + "/xxl-job-admin"} {
			if got := shown.document(t).Find("pre#way-java").Text(); !strings.Contains(got, want) {
				t.Errorf("%s lacks %s", got, want)
			}
		}

		// Out of rotation and back, with and without script.
		address := url.Values{"address": {"http://10.0.0.1:9999/"}, "disabled": {"1"}}
		if got := b.do("POST", "/executors/1/addresses", address, "HX-Request", "true"); got.document(t).Find(".badge.disabled").Length() != 1 || strings.Contains(got.body, "<html") {
			t.Errorf("taken out: %d %.300s", got.status, got.body)
		}
		address.Set("disabled", "0")
		if got := b.post("/executors/1/addresses", address); got.header.Get("Location") != "/executors/1" {
			t.Errorf("put back: %d", got.status)
		}
		if got := b.get("/executors/1").document(t).Find(".badge.disabled").Length(); got != 0 {
			t.Error("still out of rotation")
		}

		// Its own token: made, shown, dropped; the installation's rotates with a grace.
		if got := b.post("/executors/1/token/rotate", url.Values{"grace": {"24"}}); got.header.Get("Location") != "/executors/1?token=show#token" {
			t.Errorf("rotate: %d %.300s", got.status, got.body)
		}
		own := b.get("/executors/1?token=show").document(t)
		if token := own.Find("#token-value").Text(); token == a.Token() || token == "" || own.Find(".previous").Length() != 1 {
			t.Errorf("own token %q", token)
		}
		if got := b.post("/executors/1/token/drop", url.Values{}); got.status != http.StatusSeeOther {
			t.Errorf("drop: %d", got.status)
		}
		before := a.Token()
		if got := b.post("/executors/token/rotate", url.Values{"grace": {"1"}}); got.header.Get("Location") != "/executors/token?token=show#token" || a.Token() == before {
			t.Errorf("rotate the common one: %d", got.status)
		}
		if got := b.get("/executors/token?token=show").document(t).Find("#token-value").Text(); got != a.Token() {
			t.Errorf("shown: %q", got)
		}
		for path, form := range map[string]url.Values{
			"/executors/1/token/rotate": {"grace": {"soon"}}, "/executors/token/rotate": {"grace": {"-1"}}, "/executors/1/token/drop": {}, "/executors/1/addresses": {"address": {"http://evil/"}},
		} {
			if got := b.post(path, form); got.status/100 != 4 {
				t.Errorf("POST %s: %d", path, got.status)
			}
		}

		ann := normalUser(t, a)
		hers := ann.get("/executors/1?token=show")
		if hers.status != http.StatusOK || strings.Contains(hers.body, a.Token()) || hers.document(t).Find("#token, form .button").Length() != 0 {
			t.Error("a normal user sees the token, or what she may not do")
		}
		b.post("/executors", url.Values{"app_name": {"secret"}, "title": {"Secret"}, "type": {"auto"}})
		for _, path := range []string{"/executors/2", "/executors/token", "/executors/token/rotate", "/executors/1/token/rotate", "/executors/1/token/drop"} {
			if got := ann.get(path); got.status != http.StatusForbidden || strings.Contains(got.body, "Secret") {
				t.Errorf("GET %s: %d", path, got.status)
			}
		}
		for _, path := range []string{"/executors/1/addresses", "/executors/token/rotate", "/executors/1/token/rotate", "/executors/1/token/drop"} {
			if got := ann.post(path, url.Values{"grace": {"0"}, "address": {"http://10.0.0.1:9999/"}}); got.status != http.StatusForbidden {
				t.Errorf("POST %s: %d", path, got.status)
			}
		}
	})
}
