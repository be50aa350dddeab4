package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// TestWhatIsMadeIsSentTwice as by a browser that never heard the answer to the first: a job, a pause and a backfill are made
// once, and who sends them again is led to the first and told so. What was changed in between, and a form of its own, are another wish.
func TestWhatIsMadeIsSentTwice(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		if got := admin.post("/jobs", form(url.Values{"name": {"pay"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		count := func(table string) (n int) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		batch := func(got answer) string {
			t.Helper()
			return got.document(t).Find("main [name=batch]").AttrOr("value", "")
		}
		const backfill = "/jobs/1/backfill"
		plan := url.Values{"kind": {"schedule"}, "from": {"2026-03-01T00:00"}, "until": {"2026-03-04T00:00"}, "order": {"oldest"}, "at_once": {"2"}}
		for _, made := range []struct {
			table, path string
			wish        func() url.Values
			other       url.Values // a change that makes it another wish
			before      string
		}{
			{"xxl_job_info", "/jobs", func() url.Values {
				return form(url.Values{"name": {"count"}, "batch": {batch(admin.get("/jobs/new"))}})
			}, url.Values{"runbook": {"https://wiki.example/count"}}, "had been created already"},
			{"punctual_pause", "/pauses", func() url.Values {
				return url.Values{"scope": {"job"}, "target": {"1"}, "reason": {"new disks"}, "strategy": {"skip"}, "batch": {batch(admin.get("/pauses"))}}
			}, url.Values{"reason": {"new cables"}}, "had been made already"},
			{"punctual_backfill", backfill, func() url.Values {
				shown := admin.post(backfill, plan)
				w := url.Values{"shown": {shown.document(t).Find("main [name=shown]").AttrOr("value", "")}, "batch": {batch(shown)}}
				for name := range plan {
					w[name] = plan[name]
				}
				return w
			}, url.Values{"order": {"newest"}}, "had been started already"},
		} {
			t.Run(strings.Trim(strings.ReplaceAll(made.path, "/", " "), " "), func(t *testing.T) {
				send := func(w url.Values) (told string) {
					t.Helper()
					got := admin.post(made.path, w)
					if got.status != http.StatusSeeOther {
						t.Fatalf("%v: %d %s", w, got.status, got.body)
					}
					return admin.get(got.header.Get("Location")).document(t).Find("#toasts").Text()
				}
				had, w := count(made.table), made.wish()
				if w.Get("batch") == "" {
					t.Fatal("the form has nothing by which it is known again")
				}
				if told := send(w); count(made.table) != had+1 || strings.Contains(told, made.before) {
					t.Fatalf("the first made %d and says %q", count(made.table)-had, told)
				}
				if told := send(w); count(made.table) != had+1 || !strings.Contains(told, made.before) {
					t.Errorf("sent twice it is there %d times, and what is said is %q", count(made.table)-had, told)
				}
				for name := range made.other {
					w[name] = made.other[name]
				}
				if send(w); count(made.table) != had+2 {
					t.Errorf("with %v it is there %d times", made.other, count(made.table)-had)
				}
				if send(made.wish()); count(made.table) != had+3 {
					t.Errorf("by a form of its own it is there %d times", count(made.table)-had)
				}
				w = made.wish()
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() { admin.post(made.path, w) })
				}
				if all.Wait(); count(made.table) != had+4 {
					t.Errorf("sent three times at once it is there %d times more", count(made.table)-had-3)
				}
			})
		}
		twice := form(url.Values{"name": {""}, "batch": {"mine"}})
		if got := admin.post("/jobs", twice); got.status != http.StatusUnprocessableEntity || batch(got) != "mine" {
			t.Errorf("a form that comes back with an error is another wish: %d %q", got.status, batch(got))
		}
		if got := admin.post("/pauses", url.Values{"scope": {"job"}, "batch": {"mine"}}); got.status != http.StatusUnprocessableEntity || batch(got) != "mine" {
			t.Errorf("a pause that comes back with an error is another wish: %d %q", got.status, batch(got))
		}
		if w := form(url.Values{"name": {"for a program"}}); fmt.Sprint(admin.post("/jobs", w).status, admin.post("/jobs", w).status) != "303 303" {
			t.Error("a program that knows no batch cannot make jobs")
		}
	})
}
