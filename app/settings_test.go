package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/console"
)

// TestTheSettingsPage is an administrator who changes what holds for everybody.
func TestTheSettingsPage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.AlarmLanguage = "en"
		o.Startup = []console.StartupOption{{Name: "PUNCTUAL_LISTEN", Value: ":1<b>", Set: true}, {Name: "PUNCTUAL_ACCESS_TOKEN", Set: true, Secret: true}}
		a := start(t, o)
		b := open(t, a).mustLogin()
		doc := b.get("/settings").document(t)
		if fixed := doc.Find("#setting-alarm_language"); fixed.Find("input").Length() != 0 || !strings.Contains(fixed.Text(), "PUNCTUAL_ALARM_LANGUAGE") {
			t.Errorf("what the environment decides can be typed: %s", fixed.Text())
		}
		if text := doc.Find(".facts").Text(); !strings.Contains(text, a.pool.Product()) || strings.Contains(text, "test-token") || doc.Find(".options b").Length() != 0 {
			t.Errorf("the facts: %s", text)
		}
		values := func(doc *goquery.Document) url.Values {
			v := url.Values{}
			doc.Find("form.settings input").Each(func(_ int, s *goquery.Selection) {
				if _, checked := s.Attr("checked"); s.AttrOr("type", "") != "radio" || checked {
					v.Set(s.AttrOr("name", ""), s.AttrOr("value", ""))
				}
			})
			return v
		}
		filled := values(doc)
		if got := b.post("/settings", filled); got.header.Get("Location") != "/settings" {
			t.Fatalf("saved as it was: %d %s", got.status, got.body)
		}
		for name, value := range map[string]string{"log_retention_days": "2", "public_url": "<b>jobs", "executor_allow": "10.0.0.0/8", "misfire_seconds": "x"} {
			filled.Set(name, value)
		}
		bad := b.post("/settings", filled)
		if again := bad.document(t); bad.status != http.StatusUnprocessableEntity || again.Find(".field .error").Length() != 3 || again.Find(`[name="public_url"]`).AttrOr("value", "") != "<b>jobs" ||
			again.Find(`[name="executor_allow"]`).AttrOr("value", "") != "10.0.0.0/8" {
			t.Errorf("wrong values: %d, %s", bad.status, again.Find(".field .error").Text())
		}
		for name, value := range map[string]string{"log_retention_days": "90", "public_url": "https://jobs.example.com/", "misfire_seconds": "7", "default_language": "zh-CN", "glue": "off"} {
			filled.Set(name, value)
		}
		if got := b.post("/settings", filled); got.status != http.StatusSeeOther {
			t.Fatalf("save: %d %s", got.status, got.body)
		}
		// In force at once, everywhere it matters.
		if got := open(t, a).get("/login").document(t).Find("html").AttrOr("lang", ""); got != "zh-CN" {
			t.Errorf("a browser without a language: %s", got)
		}
		if got := b.get("/runs/clear").body; !strings.Contains(got, "90") {
			t.Error("the page of clearings does not know for how long runs are kept")
		}
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		if got := b.get("/executors/1").body; !strings.Contains(got, "https://jobs.example.com/xxl-job-admin") {
			t.Error("executors are told another address")
		}
		if got := b.post("/jobs", form(url.Values{"glue": {"GLUE_SHELL"}, "source": {"echo 1"}})); got.status != http.StatusForbidden {
			t.Errorf("a script although they are off: %d", got.status)
		}
		// Somebody whose page is older is told so, and keeps what was typed.
		filled.Set("misfire_seconds", "8")
		late := b.post("/settings", filled)
		if again := late.document(t); late.status != http.StatusUnprocessableEntity || again.Find(".notice.error").Length() != 1 || again.Find(`[name="misfire_seconds"]`).AttrOr("value", "") != "8" {
			t.Errorf("an older page: %d", late.status)
		} else if got := b.post("/settings", values(again)); got.status != http.StatusSeeOther {
			t.Errorf("saved again: %d", got.status)
		}
		if got := b.get("/audit?kind=setting&range=all").document(t).Find("tbody tr").Length(); got != 7 {
			t.Errorf("%d entries in the audit log", got)
		}
		// What one has not touched stays as another has made it meanwhile, and what both have changed is said.
		mine, theirs := values(b.get("/settings").document(t)), values(b.get("/settings").document(t))
		theirs.Set("audit_days", "365")
		theirs.Set("misfire_seconds", "20")
		if got := b.post("/settings", theirs); got.status != http.StatusSeeOther {
			t.Fatalf("the other's: %d", got.status)
		}
		mine.Set("misfire_seconds", "9")
		mine.Set("lost_seconds", "30")
		merged := b.post("/settings", mine).document(t)
		now := values(merged)
		if now.Get("audit_days") != "365" || now.Get("misfire_seconds") != "9" || now.Get("lost_seconds") != "30" {
			t.Errorf("after a conflict: audit_days %s, misfire_seconds %s, lost_seconds %s", now.Get("audit_days"), now.Get("misfire_seconds"), now.Get("lost_seconds"))
		}
		if both := merged.Find(".field .error"); both.Length() != 1 || !strings.Contains(both.Text(), "20") {
			t.Errorf("what both have changed: %s", both.Text())
		}
		b.post("/settings", now)
		now = values(b.get("/settings").document(t))
		if now.Get("audit_days") != "365" || now.Get("misfire_seconds") != "9" || now.Get("lost_seconds") != "30" {
			t.Errorf("saved again: audit_days %s, misfire_seconds %s, lost_seconds %s", now.Get("audit_days"), now.Get("misfire_seconds"), now.Get("lost_seconds"))
		}
		ann := normalUser(t, a)
		if got := ann.get("/jobs").document(t).Find(`a[href="/settings"]`).Length(); got != 0 {
			t.Error("the navigation leads a normal user to what they may not see")
		}
	})
}
