package app

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// TestAnAlarmForOneJob: from a job's page leads a way to a channel that tells of it alone, or to one that there is. It is as closed as the
// job and the channels are.
func TestAnAlarmForOneJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, _, _, groups := programs(t, o)
		root := open(t, a).mustLogin()
		orders, stock := strconv.FormatInt(groups["orders"], 10), strconv.FormatInt(groups["stock"], 10)
		job := strconv.FormatInt(things(t, a, groups["orders"], "settle").job, 10)
		other := strconv.FormatInt(things(t, a, groups["stock"], secret).job, 10)
		if got := root.post("/users", url.Values{"name": {"editor"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {orders + ".edit"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		if got := root.post("/settings", url.Values{"alarm_editors": {"on"}}); got.status != http.StatusSeeOther {
			t.Fatalf("set: %d %s", got.status, got.body)
		}
		editor := open(t, a)
		editor.login("editor", testPassword)
		form := "/alarms/new?job=" + job
		routes := func() string {
			t.Helper()
			rows, err := a.pool.QueryContext(t.Context(), "SELECT c.name, r.scope, r.scope_id FROM punctual_alarm_route r JOIN punctual_alarm_channel c ON c.id = r.channel_id WHERE r.scope <> 'group' ORDER BY r.id")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			var all []string
			for rows.Next() {
				var name, scope, id string
				if err := rows.Scan(&name, &scope, &id); err != nil {
					t.Fatal(err)
				}
				all = append(all, name+" "+scope+" "+id)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return strings.Join(all, ", ")
		}
		post := func(b *browser, name, group, job string, want int) answer {
			t.Helper()
			got := b.post("/alarms", url.Values{"name": {name}, "kind": {"webhook"}, "enabled": {"1"}, "every_job": {"1"}, "group": {group}, "url": {"http://127.0.0.1:1/"}, "job": {job}})
			if got.status != want || strings.Contains(got.body, secret) {
				t.Errorf("make %s: %d %s", name, got.status, got.body)
			}
			return got
		}
		before := routes()

		// A second channel for the job is not offered under the name of the first.
		if got := post(root, "Settle", "0", job, http.StatusSeeOther); !strings.HasPrefix(got.header.Get("Location"), "/alarms/") {
			t.Fatalf("make one for the job: %s", got.header.Get("Location"))
		}
		if name := root.get(form+"&kind=wecom").document(t).Find("#name").AttrOr("value", ""); name != "settle WeCom" {
			t.Errorf("the second one is called %q", name)
		}
		// Nor a third one, to whoever does not see the others either.
		if got := post(root, "Settle WeCom", "0", job, http.StatusSeeOther); !strings.HasPrefix(got.header.Get("Location"), "/alarms/") {
			t.Fatalf("make another: %s", got.header.Get("Location"))
		}
		for who, b := range map[string]*browser{"admin": root, "editor": editor} {
			for kind, want := range map[string]string{"wecom": "settle WeCom 2", "slack": "settle Slack"} {
				if name := b.get(form+"&kind="+kind).document(t).Find("#name").AttrOr("value", ""); name != want {
					t.Errorf("%s is offered %q, want %q", who, name, want)
				}
			}
		}
		if _, err := a.pool.ExecContext(t.Context(), "DELETE FROM punctual_alarm_route WHERE channel_id IN (SELECT id FROM punctual_alarm_channel WHERE name LIKE 'Settle%')"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.pool.ExecContext(t.Context(), "DELETE FROM punctual_alarm_channel WHERE name LIKE 'Settle%'"); err != nil {
			t.Fatal(err)
		}

		for who, b := range map[string]*browser{"admin": root, "editor": editor} {
			if b.get("/jobs/"+job).document(t).Find(`a[href="`+form+`"]`).Length() != 1 {
				t.Errorf("%s is not led to the form", who)
			}
			page := b.get(form + "&kind=webhook").document(t)
			if name, of := page.Find("#name").AttrOr("value", ""), page.Find(`form input[name=job]`).AttrOr("value", ""); name != "settle" || of != job || page.Find(`[name=every_job]`).Length() != 0 {
				t.Errorf("%s gets a form for %q of job %q", who, name, of)
			}
			if page.Find(`[name=group] option[value="`+stock+`"]`).Length() != 0 {
				t.Errorf("%s may give it to those who could not tell of the job", who)
			}
		}
		if got := editor.get("/alarms/new?job=" + other); got.status != http.StatusNotFound || strings.Contains(got.body, secret) {
			t.Errorf("a job that may not be seen: %d", got.status)
		}
		post(editor, "x", orders, other, http.StatusNotFound)
		post(editor, "x", orders, "no number", http.StatusNotFound)
		if got := post(root, "x", stock, job, http.StatusUnprocessableEntity).document(t); got.Find(`form input[name=job]`).AttrOr("value", "") != job {
			t.Error("the form that comes back has forgotten the job")
		}
		if after := routes(); after != before {
			t.Fatalf("what was refused has changed something: %s, before %s", after, before)
		}
		made := post(editor, "night shift", orders, job, http.StatusSeeOther)
		if after := routes(); after != strings.TrimPrefix(before+", night shift job "+job, ", ") {
			t.Errorf("routes: %s, before %s", after, before)
		}
		channel := made.header.Get("Location")

		// The channel there is now is offered to another job of the group, and not to this one again.
		second := strconv.FormatInt(things(t, a, groups["orders"], "close").job, 10)
		dialog := channel + "/routes/new?job=" + second
		if editor.get("/alarms/new?job="+second).document(t).Find(`[hx-get="`+dialog+`"]`).Length() != 1 || strings.Contains(editor.get(form).body, channel+"/routes/new") {
			t.Error("the channel is offered to the wrong job")
		}
		if page := editor.do("GET", dialog, nil, "HX-Request", "true").document(t); page.Find(`[name=job]`).AttrOr("value", "") != second || page.Find(`[name=scope][value=job][checked]`).Length() != 1 {
			t.Errorf("the dialog: %s", page.Text())
		} else if chip := page.Find(`[data-job-picker][data-single] [data-chip="` + second + `"]`); !strings.Contains(chip.Text(), "close") {
			t.Errorf("the job is not named: %s", page.Text())
		}
		// The job of a rule is looked for by its name, among those of the channel's group.
		for text, want := range map[string]string{"close": second, "%23" + second: second, "nothing": "", "": second + " " + job} {
			for _, b := range []*browser{editor, root} {
				got := b.do("GET", channel+"/jobs?job_search="+text, nil, "HX-Request", "true").document(t).Find("[role=option]").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("data-job", "") })
				if strings.Join(got, " ") != want {
					t.Errorf("looked for %q: %v, want %s", text, got, want)
				}
			}
		}
		// What is no number comes back as it was typed, without a search in its place.
		refused := editor.do("POST", channel+"/routes", url.Values{"scope": {"job"}, "job": {"the nightly one"}, "cause": {"failed"}}, "HX-Request", "true")
		if page := refused.document(t); refused.status != http.StatusUnprocessableEntity || page.Find("[name=job]").AttrOr("value", "") != "the nightly one" || page.Find("[data-job-picker]").Length() != 0 {
			t.Errorf("a name in place of an id: %d %s", refused.status, refused.body)
		}
	})
}

// TestTheChannelOfAnExecutorHearsOfItsJobs, and the page of a job does not say that it hears of every one.
func TestTheChannelOfAnExecutorHearsOfItsJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		c.json(201, new(struct{}), "POST", "/jobs", `{"group_id":1,"description":"close","author":"ann","handler":"x"}`)
		b := open(t, a).mustLogin()
		for _, group := range []string{"", "1"} {
			if got := b.post("/alarms", url.Values{"name": {"channel " + group}, "kind": {"webhook"}, "enabled": {"1"}, "every_job": {"1"}, "group": {group}, "url": {"http://127.0.0.1:1/"}}); got.status != http.StatusSeeOther {
				t.Fatalf("make a channel: %d %s", got.status, got.body)
			}
		}
		text := b.get("/jobs/1").document(t).Text()
		if strings.Count(text, "gets the alarms of every job") != 1 || strings.Count(text, "gets the alarms of the jobs of") != 1 {
			t.Errorf("the page says %s", text)
		}
	})
}
