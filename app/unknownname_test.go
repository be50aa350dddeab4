package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestAnExecutorOfAnUnknownNameIsShown to administrators, who create what is missing from there; whether it is called or asks for its calls.
func TestAnExecutorOfAnUnknownNameIsShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		orders(t, a)
		if got := root.post("/users", url.Values{"name": {"viewer"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.body)
		}
		viewer := open(t, a)
		viewer.login("viewer", testPassword)
		names := map[string]executor.Mode{"ordres": executor.Push, "branchs": executor.Pull}
		for name, mode := range names {
			executortest.New(t, root.base, nil, func(c *executor.Config) { c.AppName, c.Token, c.Mode = name, o.AccessToken, mode })
		}
		for name := range names {
			form := "/executors/new?app_name=" + name
			eventually(t, "the line about "+name, func() bool {
				return root.get("/executors").document(t).Find(fmt.Sprintf(`#refused a[href=%q]`, form)).Length() == 1
			})
			if value, _ := root.get(form).document(t).Find(`[name="app_name"]`).Attr("value"); value != name {
				t.Errorf("the form of %s has the name %q", name, value)
			}
			if page := viewer.get("/executors").body; strings.Contains(page, name) {
				t.Errorf("somebody who creates no executors reads of %s", name)
			}
			if got := root.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create %s: %d %s", name, got.status, got.body)
			}
			if n := root.get("/executors").document(t).Find(fmt.Sprintf(`#refused a[href=%q]`, form)).Length(); n != 0 {
				t.Errorf("%s is created and still missed", name)
			}
		}
	})
}
