package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestJobsFromACrontab pastes a crontab, imports the file that it was made into, and finds stopped jobs with their scripts.
func TestJobsFromACrontab(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := open(t, start(t, o)).mustLogin()
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		b.post("/executors", url.Values{"app_name": {"punctual-http"}, "title": {"HTTP"}, "type": {"auto"}})
		if n := b.get("/jobs/import/crontab").document(t).Find("#group option").Length(); n != 1 {
			t.Errorf("%d groups can be chosen, want the one that runs scripts", n)
		}
		for name, fields := range map[string]url.Values{
			"nothing":        {"group": {"1"}},
			"a comment":      {"group": {"1"}, "text": {"# nothing\n"}},
			"no group":       {"text": {"@daily x\n"}},
			"one without":    {"group": {"2"}, "text": {"@daily x\n"}},
			"a long crontab": {"group": {"1"}, "text": {strings.Repeat("#", 1<<20+1)}},
		} {
			got := b.post("/jobs/import/crontab", fields)
			doc := got.document(t)
			if got.status != http.StatusUnprocessableEntity || doc.Find("p.error").Length() != 1 || strings.TrimPrefix(doc.Find("#text").Text(), "\n") != fields.Get("text") {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
		const text = "MAILTO=ops@example.com\n# Close the day\n55 23 * * 1-5 /srv/close.sh \"$HOME\" <b>\n@reboot /srv/start.sh\n"
		got := b.post("/jobs/import/crontab", url.Values{"group": {"1"}, "text": {text}})
		doc := got.document(t)
		if notes := doc.Find(".import-faults li"); got.status != http.StatusOK || notes.Length() != 1 || !strings.Contains(notes.Text(), "4") || doc.Find(`form[action="/jobs/import"]`).Length() != 1 {
			t.Fatalf("the file: %d %s", got.status, got.body)
		}
		plan := b.post("/jobs/import", confirmed(doc))
		if plan.document(t).Find(".badge.success").Length() != 2 { // the count, and the job
			t.Fatalf("the plan: %d %s", plan.status, plan.body)
		}
		if done := b.post("/jobs/import", confirmed(plan.document(t))); done.status != http.StatusOK {
			t.Fatalf("the import: %d %s", done.status, done.body)
		}
		form := b.get("/jobs/1/edit").document(t)
		for field, want := range map[string]string{"name": "Close the day", "author": "admin", "cron": "0 55 23 ? * MON-FRI", "alarm_email": "ops@example.com", "tags": "crontab"} {
			if got := form.Find("#"+field).AttrOr("value", ""); got != want {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		}
		if script := b.get("/jobs/1/glue").body; !strings.Contains(script, "/srv/close.sh") || strings.Contains(script, "<b>") {
			t.Errorf("the script: %s", script)
		}
		if list := b.get("/jobs?state=stopped&tag=crontab").document(t).Find("tr[data-id]"); list.Length() != 1 {
			t.Errorf("%d jobs are stopped", list.Length())
		}
	})
}
