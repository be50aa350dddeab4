package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// script is a new job of a script at the sample executor, and the address of its editor and of its executor.
func (b *browser) script(t *testing.T, name string) (id, editor, address string) {
	t.Helper()
	if got := b.post("/jobs", form(url.Values{"name": {name}, "glue": {"GLUE_SHELL"}, "handler": {""}, "source": {"echo live $1"}})); got.status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	id, _ = b.get("/jobs?q=" + url.QueryEscape(name)).document(t).Find("tbody tr").Attr("data-id")
	editor = "/jobs/" + id + "/glue"
	address, _ = b.get(editor).document(t).Find("#glue-address option").First().Attr("value")
	if address == "" {
		t.Fatal("the editor offers no executor to try the script on")
	}
	return id, editor, address
}

// printed is what a run beside the editor prints until it ends.
func (b *browser) printed(t *testing.T, beside answer) string {
	t.Helper()
	events, _ := beside.document(t).Find("[data-events]").Attr("data-events")
	if beside.status != http.StatusOK || events == "" {
		t.Fatalf("no output beside the editor: %d %s", beside.status, beside.body)
	}
	var output strings.Builder
	b.events(events, func(name, data string) bool {
		if name == "log" {
			output.WriteString(data)
		}
		return name == "end"
	})
	return output.String()
}

// TestAScriptIsTriedBeforeItIsSaved in the editor, with its script and without, and by API v1.
func TestAScriptIsTriedBeforeItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		id, editor, address := b.script(t, "a script")
		draft := url.Values{"source": {"echo draft \"$1\""}, "param": {"seven"}, "addresses": {address}, "remark": {"half a"}, "version": {"kept"}}

		if got := b.printed(t, b.do("POST", editor+"/try", draft, "HX-Request", "true")); !strings.Contains(got, "draft seven") {
			t.Errorf("the trial printed %s", got)
		}
		// Without scripts the draft comes back with the way to the run.
		doc := func(got answer) *goquery.Document { t.Helper(); return got.document(t) }
		plain := b.post(editor+"/try", draft)
		page := doc(plain)
		run, _ := page.Find(".glue-run a.link").Attr("href")
		if plain.status != http.StatusOK || !strings.Contains(page.Find("textarea[data-editor]").Text(), "echo draft") || page.Find("#glue-remark").AttrOr("value", "") != "half a" ||
			page.Find(`input[name="version"]`).AttrOr("value", "") != "kept" || strings.TrimSpace(page.Find("#glue-param").Text()) != "seven" || !runInPath.MatchString(run) {
			t.Fatalf("the draft that comes back, with the run %q: %d %.300s", run, plain.status, plain.body)
		}
		// It is on record as what it is, with its text, and cannot be run again as if it were the job's.
		shown := doc(b.get(run))
		if text := shown.Find("#run-side .note").Text(); !strings.Contains(text, "echo draft") || shown.Find(`#run-head a[href*="/run?from="]`).Length() != 0 {
			t.Errorf("the run's page shows %q", text)
		}
		if rows := doc(b.get("/runs?trigger=TRIAL")).Find("tbody tr"); rows.Length() != 2 || strings.Count(rows.Text(), "Trial of a script") != 2 {
			t.Errorf("%d trials are listed: %s", rows.Length(), rows.Text())
		}
		if text := doc(b.get(editor)).Find("textarea[data-editor]").Text(); !strings.Contains(text, "echo live") {
			t.Errorf("the trial was saved: %q", text)
		}
		if bars := doc(b.get("/jobs/" + id)).Find(".run-bars a"); bars.Length() != 0 {
			t.Errorf("the job's page has %d fires", bars.Length())
		}
		if rows := doc(b.get("/audit?action=try")).Find("tbody tr"); rows.Length() != 2 || !strings.Contains(rows.Text(), "Script tried") {
			t.Errorf("the audit log tells of the trials: %q", rows.Text())
		}
		var kept int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE action = 'try' AND after_json LIKE '%echo draft%'").Scan(&kept); err != nil || kept != 2 {
			t.Errorf("%d entries keep the text, %v", kept, err)
		}

		// What is wrong is said where the output would be, or at the field.
		for name, bad := range map[string]url.Values{
			"no text":      {"source": {" "}, "addresses": {address}},
			"no executor":  {"source": {"echo"}},
			"two of them":  {"source": {"echo"}, "addresses": {address + "\nhttp://127.0.0.1:1/"}},
			"somebody's":   {"source": {"echo"}, "addresses": {"http://169.254.169.254/"}},
			"a long param": {"source": {"echo"}, "addresses": {address}, "param": {strings.Repeat("x", 70_000)}},
		} {
			if got := b.do("POST", editor+"/try", bad, "HX-Request", "true"); got.status != http.StatusUnprocessableEntity || got.document(t).Find(".notice.error").Length() == 0 {
				t.Errorf("%s, beside the editor: %d %s", name, got.status, got.body)
			}
			if got := b.post(editor+"/try", bad); got.status != http.StatusUnprocessableEntity || got.document(t).Find(".error").Length() == 0 {
				t.Errorf("%s, as a page: %d", name, got.status)
			}
		}

		c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, b, url.Values{"name": {"ci"}, "scope": {"admin"}, "days": {"7"}})}
		made := c.do("POST", "/jobs/"+id+"/script/try", fmt.Sprintf(`{"script":"echo by a program","address":%q}`, address))
		var answer struct{ Runs []int64 }
		if err := json.Unmarshal([]byte(made.body), &answer); err != nil || made.status != http.StatusCreated || len(answer.Runs) != 1 {
			t.Fatalf("try by a program: %d %s", made.status, made.body)
		}
		of := "/runs/" + strconv.FormatInt(answer.Runs[0], 10)
		if got := c.do("GET", of+"?wait=60s", ""); !strings.Contains(got.body, `"trigger":"TRIAL"`) || !strings.Contains(got.body, `"state":"success"`) {
			t.Errorf("the run: %s", got.body)
		}
		if got := c.do("GET", of+"/script", ""); !strings.Contains(got.body, "echo by a program") {
			t.Errorf("its script: %d %s", got.status, got.body)
		}
		live := c.do("POST", "/jobs/"+id+"/trigger", "{}")
		if err := json.Unmarshal([]byte(live.body), &answer); err != nil || len(answer.Runs) != 1 {
			t.Fatalf("a run of the job: %d %s", live.status, live.body)
		}
		if got := c.do("GET", "/runs/"+strconv.FormatInt(answer.Runs[0], 10)+"/script", ""); got.status != http.StatusConflict {
			t.Errorf("the script of a run that is no trial: %d %s", got.status, got.body)
		}
		if got := c.do("POST", of+"/rerun", ""); got.status != http.StatusConflict {
			t.Errorf("run again: %d %s", got.status, got.body)
		}
		if got := c.do("POST", "/jobs/"+id+"/script/try", `{"script":"echo","address":"gopher://x"}`); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `"address"`) {
			t.Errorf("a wrong address: %d %s", got.status, got.body)
		}
	})
}

// TestATrialWaitsForASecondPersonToo: where scripts do, only what waits is tried, and not by its author.
func TestATrialWaitsForASecondPersonToo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		_, editor, address := b.script(t, "a script")
		if _, err := a.pool.ExecContext(t.Context(), "REPLACE INTO punctual_group (app_name, script_review) SELECT app_name, 1 FROM xxl_job_group"); err != nil {
			t.Fatal(err)
		}
		draft := url.Values{"source": {"echo draft"}, "addresses": {address}}
		if got := b.post(editor+"/try", draft); got.status != http.StatusForbidden {
			t.Errorf("a draft that nobody has looked at: %d", got.status)
		}
		if page := b.get(editor).document(t); page.Find("#glue-address").Length() != 0 || !strings.Contains(page.Find(".glue-side").Text(), "second person") {
			t.Error("the editor offers a trial")
		}
		b.post(editor, url.Values{"source": {"echo draft"}, "remark": {"a change"}})
		if got := b.post(editor+"/try", draft); got.status != http.StatusForbidden {
			t.Errorf("by its author: %d", got.status)
		}
		if page := b.get(editor + "/waiting").document(t); page.Find("#glue-address").Length() != 0 {
			t.Error("its author is offered a trial of what waits")
		}
		b.post("/users", url.Values{"name": {"weili"}, "password": {testPassword}, "role": {"admin"}, "state": {"active"}})
		other := open(t, a)
		if got := other.login("weili", testPassword); got.status != http.StatusSeeOther {
			t.Fatalf("login: %d", got.status)
		}
		job := strings.TrimSuffix(editor, "/glue")
		for name, who := range map[string]*browser{"its author": b, "another": other} {
			line := who.get("/").document(t).Find(`.dashboard .notice a[href="/jobs?state=review"]`)
			if want := map[string]int{"another": 1}[name]; line.Length() != want {
				t.Errorf("the dashboard tells %s of what waits %d times", name, line.Length())
			}
			if rows := who.get("/jobs?state=review").document(t).Find("tbody tr"); rows.Length() != 1 || rows.AttrOr("data-id", "") != strings.TrimPrefix(job, "/jobs/") {
				t.Errorf("what waits, for %s: %d jobs", name, rows.Length())
			}
		}
		c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, other, url.Values{"name": {"ci"}, "scope": {"admin"}, "days": {"7"}})}
		var waiting struct{ Items []struct{ ID int64 } }
		if got := c.do("GET", "/jobs?state=review", ""); json.Unmarshal([]byte(got.body), &waiting) != nil || len(waiting.Items) != 1 || "/jobs/"+strconv.FormatInt(waiting.Items[0].ID, 10) != job {
			t.Errorf("what waits, for a program: %d %s", got.status, got.body)
		}
		if page := other.get(job).document(t); page.Find(`.notice a[href="`+editor+`/waiting"]`).Length() != 1 {
			t.Error("the job's page does not say that a change waits")
		}
		if page := other.get(editor + "/waiting").document(t); page.Find("#glue-address").Length() != 1 {
			t.Error("the other person is offered no trial")
		}
		if got := other.post(editor+"/try", url.Values{"source": {"echo another"}, "addresses": {address}}); got.status != http.StatusForbidden {
			t.Errorf("another text: %d", got.status)
		}
		if got := other.printed(t, other.do("POST", editor+"/try", draft, "HX-Request", "true")); !strings.Contains(got, "draft") {
			t.Errorf("what waits printed %s", got)
		}
		if got := other.post(editor+"/try", draft); got.status != http.StatusSeeOther || !runInPath.MatchString(got.header.Get("Location")) {
			t.Errorf("what waits, as a page: %d", got.status)
		}
	})
}
