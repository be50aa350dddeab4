package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestTheFirstStepsTickThemselves on the dashboard of a new installation, for administrators, until they are done or hidden.
func TestTheFirstStepsTickThemselves(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		steps := func() string {
			t.Helper()
			var told []string
			for _, li := range b.get("/").document(t).Find(".steps li").EachIter() {
				if li.HasClass("done") {
					told = append(told, "done")
				} else {
					told = append(told, li.Find("a").AttrOr("href", ""))
				}
			}
			return strings.Join(told, " ")
		}
		want := func(now string) {
			t.Helper()
			if got := steps(); got != now {
				t.Errorf("%q, want %q", got, now)
			}
		}
		want("/executors/new /jobs/new /alarms/new /users/new") // the sample is nobody's doing
		post := func(path string, v url.Values) {
			t.Helper()
			if got := b.post(path, v); got.status != http.StatusSeeOther {
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
		}
		post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		if got := steps(); !strings.HasPrefix(got, "/executors/") || strings.HasPrefix(got, "/executors/new ") {
			t.Errorf("a group that waits for its executor: %q", got)
		}
		post("/executors", url.Values{"app_name": {"manual"}, "title": {"Manual"}, "type": {"manual"}, "addresses": {"10.0.0.1:9999"}})
		want("done /jobs/new /alarms/new /users/new")
		post("/jobs", form(nil))
		want("done done /alarms/new /users/new")
		if got := b.post("/users", url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.body)
		}
		want("done done /alarms/new done")
		mina := open(t, a)
		mina.login("mina", testPassword)
		if n := mina.get("/").document(t).Find(".steps").Length(); n != 0 {
			t.Error("somebody sees them who may take none")
		}
		post("/preferences", url.Values{"steps": {"off"}, "next": {"/"}})
		want("")
	})
}
