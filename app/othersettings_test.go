package app

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/punctual-job/punctual/db/dbtest"
)

// TestASettingHoldsOnAllAdminsAtOnce switches scripts off and on at one admin, and asks another one that has not looked by itself since.
func TestASettingHoldsOnAllAdminsAtOnce(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.DatabaseURL, o.DataDir = dbtest.Migrated(t), t.TempDir()
	a, c := apiCaller(t, o)
	o.Listener, o.DataDir = testOptions(t).Listener, t.TempDir()
	other := start(t, o)
	b := open(t, a).mustLogin()
	script := form(url.Values{"glue": {"GLUE_SHELL"}, "handler": {""}, "source": {"echo first"}})
	b.post("/jobs", script)
	here, there := b.base, other.Welcome().URL
	c.base = there
	for range 2 {
		for _, at := range []struct {
			value               string
			shown, saved, asked int
		}{
			{"off", http.StatusForbidden, http.StatusForbidden, http.StatusForbidden},
			{"on", http.StatusOK, http.StatusSeeOther, http.StatusCreated},
		} {
			if got := b.post("/settings", url.Values{"glue": {at.value}}); got.status != http.StatusSeeOther {
				t.Fatalf("switch %s: %d %s", at.value, got.status, got.body)
			}
			b.base = there
			if got := b.get("/jobs/1/glue"); got.status != at.shown {
				t.Errorf("%s: the editor of the other admin answers %d", at.value, got.status)
			}
			if got := b.post("/jobs", script); got.status != at.saved {
				t.Errorf("%s: the form of the other admin answers %d", at.value, got.status)
			}
			if got := c.do(http.MethodPost, "/jobs", `{"group_id":1,"description":"asked","author":"ann","kind":"GLUE_SHELL","script":"echo 1","script_remark":"first"}`); got.status != at.asked {
				t.Errorf("%s: API v1 of the other admin answers %d", at.value, got.status)
			}
			b.base = here
		}
	}
}
