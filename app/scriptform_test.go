package app

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestAFormShowsNoScriptToWhoMayNotWriteOne: neither that of the job, nor that of its copy, nor what somebody else has stored meanwhile. What else
// there is of the job is changed without it.
func TestAFormShowsNoScriptToWhoMayNotWriteOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		for _, name := range []string{"orders", "stock"} {
			if got := root.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create group: %d %s", got.status, got.body)
			}
		}
		script := func(change url.Values) url.Values {
			v := form(url.Values{"glue": {"GLUE_SHELL"}, "handler": {""}, "source": {"echo between us"}, "time_zone": {""}})
			maps.Copy(v, change)
			return v
		}
		if got := root.post("/jobs", script(nil)); got.status != http.StatusSeeOther {
			t.Fatalf("create job: %d %s", got.status, got.body)
		}
		people := make(map[string]*browser)
		for name, rights := range map[string][]string{"editor": {"1.edit"}, "writer": {"1.edit", "1.glue"}, "copier": {"1.view", "2.edit"}} {
			if got := root.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": rights}); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
			people[name] = open(t, a)
			people[name].login(name, testPassword)
		}
		see := func(who, path string, want bool) {
			t.Helper()
			got := people[who].get(path)
			if got.status != http.StatusOK || strings.Contains(got.body, "between us") != want {
				t.Errorf("%s at %s: %d, the script is shown: %v", who, path, got.status, !want)
			}
		}
		see("writer", "/jobs/1/edit", true)
		see("editor", "/jobs/1/edit", false)
		see("copier", "/jobs/new?copy=1", false)

		version := people["editor"].version("/jobs/1/edit")
		without := script(url.Values{"author": {"eve"}, "version": {version}})
		delete(without, "source")
		if got := people["editor"].post("/jobs/1", without); got.status != http.StatusSeeOther {
			t.Fatalf("change another field: %d %s", got.status, got.body)
		}
		var author, source string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT author, glue_source FROM xxl_job_info WHERE id = 1").Scan(&author, &source); err != nil || author != "eve" || source != "echo between us" {
			t.Errorf("stored: %q %q, %v", author, source, err)
		}
		// Somebody else has changed it since.
		without.Set("author", "ann")
		for name, v := range map[string]url.Values{"without the script": without, "with one that is none": script(url.Values{"version": {version}, "source": {"x"}}), "taking theirs": script(url.Values{"version": {version}, "source": {"x"}, "take": {"source"}})} {
			if got := people["editor"].post("/jobs/1", v); got.status != http.StatusUnprocessableEntity && got.status != http.StatusOK || strings.Contains(got.body, "between us") {
				t.Errorf("a form %s: %d, the script is shown: %v", name, got.status, strings.Contains(got.body, "between us"))
			}
		}
	})
}
