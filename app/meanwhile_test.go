package app

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFormsGoOnFromWhatOthersSaved: a form that somebody else's change stands against comes back with what was typed, shows what is stored now,
// and saves over it when it is sent again.
func TestFormsGoOnFromWhatOthersSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		made := func(path string, form url.Values) {
			t.Helper()
			if got := root.post(path, form); got.status >= 400 {
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
		}
		one := func(query string) (id string) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), query).Scan(&id); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			return id
		}
		made("/users", url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}})
		made("/teams", url.Values{"name": {"night"}})
		made("/webhooks", url.Values{"name": {"hub"}, "url": {"http://127.0.0.1:1/"}, "types": {"punctual.job.created"}})
		made("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}, "idle": {"wait"}})
		made("/alarms", url.Values{"kind": {"dingtalk"}, "name": {"chat"}, "url": {"http://127.0.0.1:1/"}, "enabled": {"on"}, "quiet_mode": {"queue"}})
		made("/calendars", url.Values{"file": {`{"name":"plant","week":["mon"]}`}})
		user, group := "/users/"+one("SELECT id FROM xxl_job_user WHERE username = 'jonas'"), one("SELECT id FROM xxl_job_group WHERE app_name = 'orders'")
		team, hook, channel := "/teams/"+one("SELECT id FROM punctual_team"), "/webhooks/"+one("SELECT id FROM punctual_webhook"), "/alarms/"+one("SELECT id FROM punctual_alarm_channel")
		made(channel+"/routes", url.Values{"scope": {"group"}, "group": {group}, "cause": {"failed"}})
		route := channel + "/routes/" + one("SELECT id FROM punctual_alarm_route WHERE scope = 'group'")

		tests := []struct {
			name, form, action string
			theirs, mine       url.Values
			shown              []string // what differs, on both sides
		}{
			{"user", user + "/edit", user, url.Values{"state": {"disabled"}}, url.Values{"role": {"admin"}}, []string{"yes", "no", "Administrator"}},
			{"role", user + "/edit", user, url.Values{"role": {"user"}}, url.Values{"role": {"auditor"}}, []string{"User", "Auditor"}},
			{"team", team + "/edit", team, url.Values{"name": {"day"}}, url.Values{"member": {user[len("/users/"):]}}, []string{"day", "night", "jonas"}},
			{"webhook", hook + "/edit", hook + "/edit", url.Values{"tags": {"theirs"}}, url.Values{"tags": {"mine"}}, []string{"theirs", "mine"}},
			{"executor", "/executors/" + group + "/edit", "/executors/" + group, url.Values{"title": {"Theirs"}}, url.Values{"title": {"Mine"}}, []string{"Theirs", "Mine"}},
			{"channel", channel + "/edit", channel, url.Values{"name": {"theirs"}}, url.Values{"name": {"mine"}}, []string{"theirs", "mine"}},
			{"rule", route + "/edit", route, url.Values{"cause": {"timeout"}}, url.Values{"cause": {"lost"}}, []string{"timeout", "lost"}},
			{"calendar", "/calendars/plant", "/calendars", url.Values{"file": {`{"name":"plant","week":["tue"]}`}}, url.Values{"file": {`{"name":"plant","week":["wed"]}`}}, []string{"tue", "wed"}},
		}
		for _, test := range tests {
			read := func(got answer, change url.Values) url.Values {
				t.Helper()
				forms := got.document(t).Find(`form[action="` + test.action + `"]`)
				form := formIn(forms.NotSelection(forms.Has(`input[name="undo"]`))) // which is of the row before
				maps.Copy(form, change)
				return form
			}
			theirs, mine := read(root.get(test.form), test.theirs), read(root.get(test.form), test.mine)
			if got := root.post(test.action, theirs); got.status != http.StatusSeeOther {
				t.Errorf("%s, theirs: %d %s", test.name, got.status, got.body)
				continue
			}
			got := root.post(test.action, mine)
			if got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s, mine: %d", test.name, got.status)
				continue
			}
			fields := maps.Clone(test.theirs)
			maps.Copy(fields, test.mine)
			if rows := got.document(t).Find(".changes tbody tr"); rows.Length() != len(fields) {
				t.Errorf("%s: differs are %q", test.name, rows.Text())
			}
			for _, text := range test.shown {
				if differs := got.document(t).Find(".changes tbody").Text(); !strings.Contains(differs, text) {
					t.Errorf("%s: %q is not told in %q", test.name, text, differs)
				}
			}
			again := read(got, nil)
			for name := range test.mine {
				if again.Get(name) != mine.Get(name) {
					t.Errorf("%s: of %s there is %q, typed was %q", test.name, name, again.Get(name), mine.Get(name))
				}
			}
			if got := root.post(test.action, again); got.status != http.StatusSeeOther {
				t.Errorf("%s, again: %d", test.name, got.status)
			}
		}
	})
}
