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
		// What no pick list has is not a filter that nobody sees.
		for path, want := range map[string]string{
			"/jobs?x=%zz&q=": "x=%zz", "/runs?x=1;group=1": "x=1;group=1", "/users?%": "%", "/audit?x=%e": "x=%e", "/executors?;": ";", "/jobs?colour=red&%zz=1&;": "colour=red, %zz=1, ;",
			"/audit?kind=zz": "kind=zz", "/audit?action=zz": "action=zz", "/alarms/messages?state=zz": "state=zz", "/alarms/messages?channel=99": "channel=99",
			"/jobs/slowest?by=zz": "by=zz", "/jobs?page=99": "page=99", "/users?page=99": "page=99", "/executors?page=99": "page=99",
		} {
			page := root.get(path).document(t)
			if got := page.Find("main .notice").Text(); !strings.Contains(got, "leaves out: "+want) {
				t.Errorf("%s says %q", path, got)
			}
			if all, _, _ := strings.Cut(path, "?"); strings.Contains(want, "page=") && page.Find("#results tbody tr").Length() != root.get(all).document(t).Find("#results tbody tr").Length() {
				t.Errorf("%s shows nothing of what there is", path)
			}
		}
		for path, want := range map[string]string{"/audit?user=somebody": "[name=user] [value=somebody][selected]", "/audit?group=99": "[name=group] [value='99'][selected]"} {
			if root.get(path).document(t).Find(want).Length() != 1 {
				t.Errorf("%s does not show what it is narrowed to", path)
			}
		}
		if got := root.post("/users", url.Values{"name": {"newcomer"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d", got.status)
		}
		newcomer := open(t, a)
		newcomer.login("newcomer", testPassword)
		for _, path := range []string{"/", "/jobs", "/jobs?show=mine", "/jobs/slowest", "/runs", "/runs/search", "/executors", "/timeline", "/forecast", "/wall", "/alarms/open"} {
			if got := newcomer.get(path).document(t).Find(".empty h2").Text(); got != "You may see no executor’s jobs yet" {
				t.Errorf("%s says %q to somebody without rights", path, got)
			}
		}
	})
}
