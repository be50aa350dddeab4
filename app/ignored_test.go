package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestListsSayWhatTheyLeaveOut: a part of the address that a list does not know, and jobs that somebody may not see.
func TestListsSayWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		things(t, a, 1, "mine")
		root := open(t, a).mustLogin()
		for _, path := range []string{"/jobs", "/runs", "/executors", "/users", "/audit"} {
			if got := root.get(path + "?q=&page=1").document(t).Find("#results > .notice").Text(); got != "" {
				t.Errorf("%s says %q", path, got)
			}
			if got := root.get(path + "?colour=red&page=1").document(t).Find("#results > .notice").Text(); !strings.HasSuffix(strings.TrimSpace(got), "leaves out: colour=red") {
				t.Errorf("%s with an unknown filter says %q", path, got)
			}
		}
		for _, path := range []string{"/jobs", "/runs", "/timeline"} {
			page := root.get(path + "?group=99").document(t)
			if got := page.Find(".notice").Text(); !strings.Contains(got, "leaves out: group=99") || page.Find("[name=group] [selected]").Length() > 0 {
				t.Errorf("%s with an unknown executor says %q", path, got)
			}
		}
		if root.get("/jobs?group=99").document(t).Find("#results tbody tr").Length() != 1 {
			t.Error("what is left out of the filter narrows the list")
		}
		if got := root.post("/users", url.Values{"name": {"newcomer"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d", got.status)
		}
		newcomer := open(t, a)
		newcomer.login("newcomer", testPassword)
		for _, path := range []string{"/", "/jobs", "/runs", "/executors"} {
			if got := newcomer.get(path).document(t).Find(".empty h2").First().Text(); got != "You may see no executor’s jobs yet" {
				t.Errorf("%s says %q to somebody without rights", path, got)
			}
		}
	})
}
