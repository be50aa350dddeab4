package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestWhoDecidesTooLateIsLedToWhatThereIsNow: two look at the same change of a script, and one of them is first.
func TestWhoDecidesTooLateIsLedToWhatThereIsNow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		author := open(t, a).mustLogin()
		_, editor, _ := author.script(t, "a script")
		if _, err := a.pool.ExecContext(t.Context(), "REPLACE INTO punctual_group (app_name, script_review) SELECT app_name, 1 FROM xxl_job_group"); err != nil {
			t.Fatal(err)
		}
		waiting := editor + "/waiting"
		people := make(map[string]*browser)
		for _, name := range []string{"first", "second"} {
			author.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"admin"}, "state": {"active"}})
			people[name] = open(t, a)
			if got := people[name].login(name, testPassword); got.status != http.StatusSeeOther {
				t.Fatalf("login: %d", got.status)
			}
		}
		propose := func(text string) {
			t.Helper()
			if got := author.post(editor, url.Values{"source": {text}, "remark": {"a change"}}); got.location() != waiting {
				t.Fatalf("propose: %d %s", got.status, got.location())
			}
		}
		seen := func(who *browser) string {
			t.Helper()
			return who.get(waiting).document(t).Find(`input[name="version"]`).AttrOr("value", "")
		}
		decide := func(who *browser, what, version string) answer {
			return who.post(waiting, url.Values{"version": {version}, "decision": {what}})
		}
		leads := func(what string, got answer, who *browser, to, says string) {
			t.Helper()
			if got.location() != to {
				t.Fatalf("%s: %d to %q, want %q", what, got.status, got.location(), to)
			}
			page := who.get(to)
			if text := page.document(t).Find(".toast, .notice").Text(); page.status != http.StatusOK || !strings.Contains(text, says) {
				t.Errorf("%s: %d, and the page says %q", what, page.status, text)
			}
		}
		for _, x := range []struct{ decision, says string }{{"approve", "approved by first"}, {"reject", "rejected by first"}} {
			propose("echo " + x.decision)
			version := seen(people["second"])
			if got := decide(people["first"], x.decision, version); got.location() != editor {
				t.Fatalf("%s: %d %s", x.decision, got.status, got.location())
			}
			leads(x.decision+" after it", decide(people["second"], "approve", version), people["second"], editor, x.says)
			leads("looked at after "+x.decision, people["second"].get(waiting), people["second"], editor, x.says)
		}
		propose("echo third")
		version := seen(people["second"])
		propose("echo fourth")
		leads("another text", decide(people["second"], "approve", version), people["second"], waiting, "Another change waits")
		version = seen(people["second"])
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET glue_source = 'echo by an old admin', glue_updatetime = '2001-01-01 00:00:00'"); err != nil {
			t.Fatal(err)
		}
		leads("another script", decide(people["second"], "approve", version), people["second"], waiting, "The script has changed since")
	})
}
