package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// TestAFullPageOfJobsIsCountedAfterwards has a list that stops reading at a full page say so, and fetch how many there are.
func TestAFullPageOfJobsIsCountedAfterwards(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	for _, name := range []string{"orders", "others"} {
		admin.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
	}
	for i := range 53 {
		group := fmt.Sprint(1 + i/51) // two of them in the second
		if got := admin.post("/jobs", form(url.Values{"group": {group}, "name": {fmt.Sprintf("nightly %d", i)}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
	}
	hash, err := auth.NewPasswords(1).At(quick).Hash(t.Context(), testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.New().InsertUser(t.Context(), a.pool, db.InsertUserParams{Username: "ann", Password: hash, Permission: "1"}); err != nil {
		t.Fatal(err)
	}
	ann := open(t, a)
	ann.login("ann", testPassword)
	for _, tt := range []struct {
		who          *browser
		path         string
		rows         int
		total, count string
		next         bool
	}{
		{admin, "/jobs", 50, "53 jobs", "", true},
		{admin, "/jobs?q=NIGHTLY", 50, "50+ jobs", "53 jobs", true},
		{admin, "/jobs?q=NIGHTLY&page=2", 3, "53 jobs", "", false},
		{admin, "/jobs?q=NIGHTLY&page=3", 50, "50+ jobs", "53 jobs", true}, // there is none: the first, and it says so
		{admin, "/jobs?q=nightly+1", 11, "11 jobs", "", false},
		{admin, "/jobs?q=nightly&group=2", 2, "2 jobs", "", false},
		{ann, "/jobs?q=nightly", 50, "50+ jobs", "51 jobs", true},
	} {
		doc := tt.who.get(tt.path).document(t)
		summary := doc.Find(".pager > span").First()
		if rows, total := doc.Find("tr[data-id]").Length(), strings.TrimSpace(summary.Text()); rows != tt.rows || total != tt.total {
			t.Errorf("%s: %d rows, %q; want %d, %q", tt.path, rows, total, tt.rows, tt.total)
		}
		if next := doc.Find(`.pager a[href*="page="]`).FilterFunction(func(_ int, s *goquery.Selection) bool { return strings.Contains(s.Text(), "Next") }).Length() > 0; next != tt.next {
			t.Errorf("%s: leads on: %v", tt.path, next)
		}
		path, more := summary.Attr("hx-get")
		if more != (tt.count != "") {
			t.Errorf("%s: counted afterwards: %v", tt.path, more)
		} else if more {
			if got := tt.who.do("GET", path, nil, "HX-Request", "true"); got.status != http.StatusOK || strings.TrimSpace(got.body) != tt.count {
				t.Errorf("%s: %d, %q; want %q", path, got.status, got.body, tt.count)
			}
		}
	}
}
