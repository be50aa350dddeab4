package app

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestAccessTokensAreRotatedByPrograms gives a group its own token, hands it over, shows it again and takes it away.
func TestAccessTokensAreRotatedByPrograms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.AccessToken = "" // one that is set by the process is not rotated
		a, c := apiCaller(t, o)
		do := func(args ...string) (string, error) {
			var out bytes.Buffer
			err := punctualReading(t, "", &out, append(append([]string{"executors", "token"}, args...), "--url", c.base, "--token", c.token)...)
			return strings.TrimSpace(out.String()), err
		}
		must := func(args ...string) string {
			t.Helper()
			out, err := do(args...)
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return out
		}
		common := must("show", "--reveal")
		if common != a.Token() {
			t.Fatalf("the installation's is %q, and %q is shown", a.Token(), common)
		}
		own := must("rotate", "orders", "--grace-hours", "2")
		if own == "" || own == common || own != a.tokens.For("orders") || must("show", "orders", "--reveal") != own {
			t.Errorf("%q is shown, %q counts", own, a.tokens.For("orders"))
		}
		var state struct {
			Token         string
			Own, Handover bool
			PreviousUntil string `json:"previous_until"`
		}
		if c.json(http.StatusOK, &state, "GET", "/groups/1/access-token", ""); !state.Own || !state.Handover || state.PreviousUntil == "" || state.Token != "" {
			t.Errorf("it stands as %+v", state)
		}
		if got := c.do("GET", "/audit?object_kind=token", "").body; strings.Count(got, `"show"`) < 3 || !strings.Contains(got, `"rotate"`) {
			t.Errorf("the audit log: %s", got)
		}
		must("drop", "orders")
		if a.tokens.For("orders") != common {
			t.Error("the group's own counts after it was dropped")
		}
		if another := must("rotate", "--grace-hours", "0"); another == common || another != a.Token() {
			t.Errorf("the installation's is %q, %q is shown", a.Token(), another)
		}
		if out, err := do("drop", "orders"); err == nil {
			t.Errorf("dropped twice: %s", out)
		}
		var r refusal
		if c.json(http.StatusUnprocessableEntity, &r, "POST", "/access-token/rotate", `{"grace_hours":721}`); len(r.Errors) != 1 || r.Errors[0].Field != "grace_hours" {
			t.Errorf("too long a grace: %+v", r)
		}
	})
}

// TestScriptsAreApprovedByPrograms has one person's script wait, and another's program look at it, approve and reject it.
func TestScriptsAreApprovedByPrograms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		c.json(http.StatusOK, &struct{}{}, "PATCH", "/groups/1", `{"script_review":true}`)
		var job struct{ ID int }
		c.json(http.StatusCreated, &job, "POST", "/jobs", `{"group_id":1,"description":"tidy up","author":"a","kind":"GLUE_SHELL","script":"echo one","script_remark":"first"}`)
		if got := root.post("/users", url.Values{"name": {"second"}, "password": {testPassword}, "role": {"admin"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.body)
		}
		second := open(t, a)
		second.login("second", testPassword)
		other := makeToken(t, second, url.Values{"name": {"reviews"}, "scope": {"admin"}, "days": {"7"}})
		do := func(token string, args ...string) (string, error) {
			var out bytes.Buffer
			err := punctualReading(t, "", &out, append(append([]string{"jobs", "change"}, args...), "--url", c.base, "--token", token)...)
			return out.String(), err
		}
		version := func(token string) string {
			t.Helper()
			out, err := do(token, "tidy up", "-o", "json")
			_, rest, found := strings.Cut(out, `"version": "`)
			if err != nil || !found {
				t.Fatalf("%v\n%s", err, out)
			}
			v, _, _ := strings.Cut(rest, `"`)
			return v
		}
		if out, err := do(other, "show", "tidy up"); err != nil || !strings.Contains(out, "echo one\n") || !strings.Contains(out, "--version "+version(other)) {
			t.Errorf("%v\n%s", err, out)
		}
		if out, err := do(c.token, "approve", "tidy up", "--version", version(c.token)); err == nil || !strings.Contains(err.Error(), "does not approve it") {
			t.Errorf("by its author: %v %s", err, out)
		}
		// Nor, at the author's wish, by a service account whose token the author has.
		var robot struct{ ID int }
		var made struct{ Token string }
		c.json(http.StatusCreated, &robot, "POST", "/users", `{"name":"robot","service":true}`)
		c.json(http.StatusOK, &robot, "PATCH", fmt.Sprintf("/users/%d", robot.ID), `{"rights":[{"group_id":1,"rights":["run","glue"]}]}`)
		c.json(http.StatusCreated, &made, "POST", "/tokens", fmt.Sprintf(`{"owner_id":%d,"name":"ci","scope":["run","glue"],"days":3}`, robot.ID))
		if out, err := do(made.Token, "approve", "tidy up", "--version", version(made.Token)); err == nil || !strings.Contains(err.Error(), "no service account") {
			t.Errorf("by a service account: %v %s", err, out)
		}
		service := &caller{t: t, base: c.base, token: made.Token}
		if got := service.do("GET", "/jobs/1/script/change", "").body; !strings.Contains(got, `"may_approve":false`) {
			t.Errorf("what a service account is told: %s", got)
		}
		c.json(http.StatusOK, &struct{}{}, "PATCH", "/groups/1", `{"addresses":["http://127.0.0.1:1"]}`)
		if got := service.do("POST", "/jobs/1/script/try", `{"script":"echo one","address":"http://127.0.0.1:1"}`); got.status != http.StatusForbidden {
			t.Errorf("a service account tries what waits: %d %s", got.status, got.body)
		}
		if out, err := do(other, "approve", "tidy up", "--version", "of-yesterday"); err == nil {
			t.Errorf("another text than the one that waits: %s", out)
		}
		if out, err := do(other, "approve", "tidy up", "--version", version(other)); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if got := c.do("GET", "/jobs/1", "").body; !strings.Contains(got, "echo one") {
			t.Errorf("the script that runs: %s", got)
		}
		c.json(http.StatusOK, &struct{}{}, "PUT", "/jobs/1/script", `{"script":"echo two","script_remark":"second"}`, "If-Match", "*")
		if out, err := do(c.token, "reject", "1", "--version", version(c.token)); err != nil {
			t.Errorf("its author takes it back: %v %s", err, out)
		}
		if _, err := do(other, "show", "1"); err == nil || !strings.Contains(err.Error(), "No change of this script waits") {
			t.Errorf("after that: %v", err)
		}
	})
}
