package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestNobodyOverwritesUnseen goes through everything that programs replace, change and delete: without an If-Match nothing is replaced, with
// that of a version that is gone nothing is done at all, and with the newest, or *, it is.
func TestNobodyOverwritesUnseen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		create := func(path, body string) string {
			t.Helper()
			var made struct{ ID int }
			c.json(http.StatusCreated, &made, "POST", path, body)
			return fmt.Sprintf("%s/%d", path, made.ID)
		}
		const shell = `{"group_id":1,"description":"s","author":"a","kind":"GLUE_SHELL","script":"echo 1\n","script_remark":"first","schedule":"NONE"}`
		script := create("/jobs", shell)
		var channel struct {
			ID     int
			Routes []struct{ ID int }
		}
		c.json(http.StatusCreated, &channel, "POST", "/alarms/channels", `{"name":"chat","kind":"dingtalk","url":"http://127.0.0.1:1/robot","every_job":true}`)
		chat := fmt.Sprintf("/alarms/channels/%d", channel.ID)
		c.json(http.StatusOK, new(struct{}), "PUT", "/calendars/plant", `{"week":["sun"],"days":[]}`) // there is none to be matched
		free := `{"app_name":"free","title":"Free","type":"manual","addresses":["http://127.0.0.1:2/"]}`

		for _, tt := range []struct {
			name, at   string
			read       string // where its ETag is, if not there
			put, patch string // bodies, one a change
			kept       bool   // not deleted here
		}{
			{name: "a script", at: script + "/script", read: script, put: `{"script":"echo %d\n","script_remark":"changed"}`, kept: true},
			{name: "a job", at: create("/jobs", `{"group_id":1,"description":"j","author":"a","handler":"h"}`),
				put: `{"group_id":1,"description":"put %d","author":"a","handler":"h"}`, patch: `{"description":"patched %d"}`},
			{name: "a group", at: create("/groups", free), put: strings.Replace(free, "Free", "put %d", 1), patch: `{"title":"patched %d"}`},
			{name: "a team", at: create("/teams", `{"name":"night"}`), put: `{"name":"put %d"}`},
			{name: "a user", at: create("/users", `{"name":"bertha","password":"`+testPassword+`"}`), patch: `{"rights":[{"group_id":1,"rights":["run"]}],"state":"active"}`},
			{name: "a route", at: fmt.Sprintf("%s/routes/%d", chat, channel.Routes[0].ID), read: chat, put: `{"scope":"group","scope_id":1,"causes":["lost"]}`},
			{name: "a channel", at: chat, patch: `{"name":"patched %d"}`},
			{name: "a webhook", at: create("/webhooks", `{"name":"hook","url":"http://127.0.0.1:1/hook"}`), patch: `{"name":"patched %d"}`},
			{name: "a calendar", at: "/calendars/plant", put: `{"title":"put %d","week":["sat"],"days":[]}`},
			{name: "the settings", at: "/settings", patch: `{"audit_days":"4%d"}`, kept: true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				c := &caller{t: t, base: c.base, token: c.token}
				read, n := tt.at, 0
				if tt.read != "" {
					read = tt.read
				}
				say := func(body string) string {
					if n++; strings.Contains(body, "%d") {
						body = fmt.Sprintf(body, n)
					}
					return body
				}
				now := func() (tag, body string) {
					t.Helper()
					got := c.do("GET", read, "")
					if tag = got.header.Get("ETag"); got.status != http.StatusOK || tag == "" {
						t.Fatalf("GET %s: %d, ETag %q", read, got.status, tag)
					}
					return tag, got.body
				}
				first, _ := now()
				for method, body := range map[string]string{"PUT": tt.put, "PATCH": tt.patch} {
					if body == "" {
						continue
					}
					before, text := now()
					if method == "PUT" {
						var r refusal
						if c.json(http.StatusPreconditionRequired, &r, method, tt.at, say(body)); r.Code != "if_match" || r.Detail == "" {
							t.Errorf("PUT without If-Match: %+v", r)
						}
						if _, after := now(); after != text {
							t.Errorf("PUT without If-Match changed something: %s", after)
						}
					}
					if got := c.do(method, tt.at, say(body), "If-Match", `"another", `+before); got.status != http.StatusOK {
						t.Fatalf("%s of what was read: %d %s", method, got.status, got.body)
					}
					if after, _ := now(); after == before {
						t.Errorf("%s leaves the ETag as it was", method)
					}
					for _, stale := range []string{before, "W/" + before, "W/*"} {
						if got := c.do(method, tt.at, say(body), "If-Match", stale); got.status != http.StatusPreconditionFailed {
							t.Errorf("%s of what was changed since, %s: %d %s", method, stale, got.status, got.body)
						}
					}
					if after, _ := now(); c.do(method, tt.at, say(body), "If-Match", "W/"+after).status != http.StatusOK { // nginx made it weak on the way
						t.Errorf("%s of what was read through a proxy that compresses is refused", method)
					}
					if got := c.do(method, tt.at, say(body), "If-Match", "*"); got.status != http.StatusOK {
						t.Errorf("%s of whatever there is: %d %s", method, got.status, got.body)
					}
				}
				if tt.kept {
					return
				}
				if got := c.do("DELETE", tt.at, "", "If-Match", first); got.status != http.StatusPreconditionFailed {
					t.Errorf("DELETE of what was changed since: %d %s", got.status, got.body)
				}
				last, _ := now()
				if got := c.do("DELETE", tt.at, "", "If-Match", last); got.status != http.StatusOK && got.status != http.StatusNoContent {
					t.Errorf("DELETE of what was read: %d %s", got.status, got.body)
				}
				if got := c.do("DELETE", tt.at, ""); got.status != http.StatusNotFound {
					t.Errorf("DELETE of what is gone: %d %s", got.status, got.body)
				}
			})
		}
	})
}
