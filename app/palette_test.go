package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// TestThePaletteFinds what somebody may see, and nothing else.
func TestThePaletteFinds(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	for _, name := range []string{"orders", "secret"} {
		admin.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
	}
	for _, group := range []string{"1", "2"} {
		if got := admin.post("/jobs", form(url.Values{"group": {group}, "name": {"job of " + group}, "tags": {"night,money"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d", got.status)
		}
	}
	run := admin.post("/jobs/2/run", url.Values{"param": {""}}).header.Get("Location")
	hash, err := auth.NewPasswords(1).Hash(t.Context(), testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.New().InsertUser(t.Context(), a.pool, db.InsertUserParams{Username: "ann", Password: hash, Permission: "1"}); err != nil {
		t.Fatal(err)
	}
	ann := open(t, a)
	ann.login("ann", testPassword)
	number := strings.TrimPrefix(run, "/runs/")
	for _, tt := range []struct {
		who  *browser
		text string
		want string // an address among the hits
		none string // one that must not be
	}{
		{admin, "job of", "/jobs/2", ""},
		{ann, "job of", "/jobs/1", "/jobs/2"},
		{admin, "secret", "/jobs?group=2", ""},
		{ann, "secret", "", "/jobs?group=2"},
		{admin, "#" + number, run, ""},
		{ann, number, "", run},
		{admin, "", "/nodes", ""},
		{ann, "", "/jobs/new", "/nodes"},
		{ann, "<script>", "", ""},
	} {
		got := tt.who.do("GET", "/palette?part=hits&q="+url.QueryEscape(tt.text), nil, "HX-Request", "true")
		doc := got.document(t)
		has := func(address string) bool { return doc.Find(`[data-hit][href="`+address+`"]`).Length() > 0 }
		if got.status != http.StatusOK || strings.Contains(got.body, "<html") || tt.want != "" && !has(tt.want) || tt.none != "" && has(tt.none) {
			t.Errorf("%q: %d, want %q and not %q in %s", tt.text, got.status, tt.want, tt.none, got.body)
		}
	}
	for _, path := range []string{"/palette?q=job", "/keys"} {
		if got := ann.get(path); got.status != http.StatusOK || !strings.Contains(got.body, "<html") {
			t.Errorf("%s without script: %d", path, got.status)
		}
	}
	for tag, want := range map[string]int{"night": 1, "money": 1, "nigh": 0, "n%": 0, "": 1} {
		if got := ann.get("/jobs?tag=" + url.QueryEscape(tag)).document(t).Find("tr[data-id]").Length(); got != want {
			t.Errorf("tag %q: %d jobs, want %d", tag, got, want)
		}
	}
	if n := admin.get("/jobs").document(t).Find("#job-2 .history-bars").Length(); n != 1 {
		t.Errorf("%d history bars beside the job that ran", n)
	}
}
