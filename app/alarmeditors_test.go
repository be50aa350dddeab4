package app

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestEditorsLookAfterTheAlarmsOfTheirGroupsWhereThatIsSet goes through every page and deed of alarm channels as people with various
// rights, with the setting off and on, for a channel of their group, one of another group, and one of the installation.
func TestEditorsLookAfterTheAlarmsOfTheirGroupsWhereThatIsSet(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, _, _, groups := programs(t, o)
		root := open(t, a).mustLogin()
		hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		t.Cleanup(hook.Close)
		orders, stock := strconv.FormatInt(groups["orders"], 10), strconv.FormatInt(groups["stock"], 10)
		people := make(map[string]*browser)
		for name, rights := range map[string][]string{
			"editor": {orders + ".edit"}, "reader": {orders + ".view", orders + ".run", orders + ".schedule", orders + ".glue"}, "foreigner": {stock + ".edit", orders + ".view"},
		} {
			if got := root.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": rights}); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
			people[name] = open(t, a)
			people[name].login(name, testPassword)
		}
		made := func(b *browser, name, group string, want int) string {
			t.Helper()
			got := b.post("/alarms", url.Values{"name": {name}, "kind": {"webhook"}, "enabled": {"1"}, "every_job": {"1"}, "group": {group}, "url": {hook.URL + "/" + secret}})
			if got.status != want {
				t.Fatalf("make channel %s: %d %s", name, got.status, got.body)
			}
			return strings.TrimPrefix(got.header.Get("Location"), "/alarms/")
		}
		editors := func(value string) {
			t.Helper()
			if got := root.post("/settings", url.Values{"alarm_editors": {value}}); got.status != http.StatusSeeOther || !a.held.AlarmEditors() == (value == "on") {
				t.Fatalf("set: %d %s", got.status, got.body)
			}
		}
		common := made(root, "common "+secret, "", http.StatusSeeOther)
		theirs := made(root, "theirs "+secret, stock, http.StatusSeeOther)
		ours := made(root, "ours", orders, http.StatusSeeOther)
		// What each of the channels sent.
		for i, channel := range []string{common, theirs, ours} {
			if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_alarm_notice (id, job_id, job_group, cause, event_count, log_id, first_at, last_at, detail, due_at, state, revision) VALUES (?, 1, 1, 'failed', 1, 1, 1, 1, '', 1, 2, 1)", i+1); err != nil {
				t.Fatal(err)
			}
			if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_alarm_delivery (id, notice_id, channel_id, recipient, state, created_at) VALUES (?, ?, ?, ?, 3, 1)", i+1, i+1, channel, map[bool]string{true: "ours", false: secret}[i == 2]); err != nil {
				t.Fatal(err)
			}
		}
		route := func(channel string) string {
			t.Helper()
			var id string
			if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM punctual_alarm_route WHERE channel_id = ?", channel).Scan(&id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		channelForm := url.Values{"name": {"renamed"}, "kind": {"webhook"}, "url": {""}, "group": {"0"}}
		routeForm := url.Values{"scope": {"all"}, "cause": {"failed"}}
		type deed struct {
			method, path string
			form         url.Values
		}
		deeds := func(channel, message string) []deed {
			c, r := "/alarms/"+channel, "/alarms/"+channel+"/routes/"+route(channel)
			return []deed{
				{"GET", c, nil}, {"GET", c + "/edit", nil}, {"POST", c, channelForm}, {"GET", c + "/delete", nil}, {"POST", c + "/test", url.Values{}},
				{"GET", c + "/routes/new", nil}, {"POST", c + "/routes", url.Values{"scope": {"job"}, "job": {"99"}, "cause": {"failed"}}}, {"GET", r + "/edit", nil}, {"POST", r, routeForm},
				{"POST", "/alarms/messages/" + message + "/retry", url.Values{}}, {"POST", r + "/delete", url.Values{}}, {"POST", c + "/delete", url.Values{}},
			}
		}
		everything := []deed{{"GET", "/alarms", nil}, {"GET", "/alarms/new", nil}, {"GET", "/alarms/messages", nil}, {"POST", "/alarms", channelForm}}
		refused := func(who string, want int, list []deed) {
			t.Helper()
			for _, d := range list {
				if got := people[who].do(d.method, d.path, d.form, "Accept", "text/html"); got.status != want || strings.Contains(got.body, secret) {
					t.Errorf("%s, %s %s: %d, want %d: %.300s", who, d.method, d.path, got.status, want, got.body)
				}
			}
		}
		table := func() string {
			t.Helper()
			var all strings.Builder
			for _, q := range []string{"SELECT id, name FROM punctual_alarm_channel ORDER BY id", "SELECT id, channel_id FROM punctual_alarm_route ORDER BY id", "SELECT id, state FROM punctual_alarm_delivery ORDER BY id"} {
				rows, err := a.pool.QueryContext(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for rows.Next() {
					var x, y string
					if err := rows.Scan(&x, &y); err != nil {
						t.Fatal(err)
					}
					all.WriteString(x + " " + y + "\n")
				}
				if err := rows.Close(); err != nil {
					t.Fatal(err)
				}
			}
			return all.String()
		}

		before := table()
		shown := func(b *browser) bool { return b.get("/jobs").document(t).Find(`a[href="/alarms"]`).Length() > 0 }
		for who := range people { // off, as at first
			for i, channel := range []string{common, theirs, ours} {
				refused(who, http.StatusForbidden, deeds(channel, strconv.Itoa(i+1)))
			}
			refused(who, http.StatusForbidden, everything)
			if shown(people[who]) {
				t.Errorf("%s is shown the alarms", who)
			}
		}
		editors("on")
		for i, channel := range []string{common, theirs, ours} {
			refused("reader", http.StatusForbidden, deeds(channel, strconv.Itoa(i+1)))
		}
		refused("reader", http.StatusForbidden, everything)
		refused("editor", http.StatusNotFound, append(deeds(common, "1"), deeds(theirs, "2")...))
		refused("foreigner", http.StatusNotFound, append(deeds(common, "1"), deeds(ours, "3")...))
		if after := table(); after != before {
			t.Errorf("what was refused has changed something:\n%s\n%s", before, after)
		}
		editor := people["editor"]
		if shown(people["reader"]) || !shown(editor) {
			t.Error("the alarms are shown to the wrong people")
		}
		for _, path := range []string{"/alarms", "/alarms/messages", "/alarms/messages?channel=" + common, "/alarms/new?kind=mail"} {
			got := editor.get(path)
			if got.status != http.StatusOK || strings.Contains(got.body, secret) || strings.Contains(got.body, "stock") {
				t.Errorf("%s: %d tells of others", path, got.status)
			}
		}
		if doc := editor.get("/alarms/messages").document(t); doc.Find("tbody tr").Length() != 1 {
			t.Errorf("%d messages", doc.Find("tbody tr").Length())
		}
		for _, group := range []string{"", "0", stock, "99", "x"} {
			made(editor, "no", group, http.StatusUnprocessableEntity)
		}
		made(people["foreigner"], "no", orders, http.StatusUnprocessableEntity)
		mine := made(editor, "mine", orders, http.StatusSeeOther)
		for _, list := range [][]deed{{everything[0], everything[1], everything[2]}, deeds(ours, "3"), deeds(mine, "3")} {
			for _, d := range list {
				got := editor.do(d.method, d.path, d.form, "Accept", "text/html")
				ok := got.status == http.StatusOK || got.status == http.StatusSeeOther || strings.Contains(d.form.Get("job"), "99") && got.status == http.StatusUnprocessableEntity
				if strings.HasPrefix(d.path, "/alarms/messages/") && strings.HasPrefix(list[0].path, "/alarms/"+mine) {
					ok = got.status == http.StatusNotFound // its channel has been deleted by now
				}
				if !ok || strings.Contains(got.body, secret) {
					t.Errorf("editor, %s %s: %d %.300s", d.method, d.path, got.status, got.body)
				}
			}
		}
		var audited int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE object_kind = 'channel' AND user_name = 'editor' AND action <> 'refused'").Scan(&audited); err != nil || audited < 6 {
			t.Errorf("%d entries in the audit log, %v", audited, err)
		}
		// The right goes, and so does what it opened.
		ours = made(editor, "ours again", orders, http.StatusSeeOther)
		editors("off")
		refused("editor", http.StatusForbidden, deeds(ours, "3"))
	})
}
