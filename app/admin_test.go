package app

import (
	"net/http"
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
