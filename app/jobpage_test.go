package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/link"
)

// TestThePageOfAJob has a job that failed twice after many successes, between others, looked at by its administrator and by somebody
// who may only look.
func TestThePageOfAJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		for _, name := range []string{"orders", "secret"} {
			admin.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
		}
		for _, job := range []url.Values{
			{"name": {"<b>nightly</b>"}, "group": {"1"}, "param": {"--day <yesterday>"}, "retries": {"2"}, "alarm_email": {"ops@example.com"}, "start": {"1"}},
			{"name": {"hidden parent"}, "group": {"2"}, "children": {"1"}},
			{"name": {"seen parent"}, "group": {"1"}, "children": {"1"}},
		} {
			if got := admin.post("/jobs", form(job)); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		var last int64
		for i := range 60 {
			ago := time.Duration(60-i) * time.Hour
			code := int64(200)
			if i >= 58 {
				code = 500
			}
			last = oldRun(t, a, 1, 1, ago, 200, code, nil)
			at := time.Now().Add(-ago).UnixMilli()
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET sent_at = ?, finished_at = ?, handle_msg = ? WHERE id = ?", at, at+1400, "java.io.IOException: <gone>", last); err != nil {
				t.Fatal(err)
			}
		}
		page := admin.get("/jobs/1")
		doc := page.document(t)
		text := func(of *goquery.Document, selector string) string {
			return strings.Join(strings.Fields(of.Find(selector).Text()), " ")
		}
		if page.status != http.StatusOK || strings.Contains(page.body, "<b>nightly") || text(doc, "h1") != "<b>nightly</b>" {
			t.Fatalf("%d %q", page.status, text(doc, "h1"))
		}
		if bars, rows := doc.Find(".run-bars svg a").Length(), doc.Find(".run-bars tbody tr").Length(); bars != 50 || rows != 50 {
			t.Errorf("%d bars, %d rows of the table, want 50", bars, rows)
		}
		newest := fmt.Sprintf("/runs/%d", last)
		if got := doc.Find(".run-bars svg a").Last().AttrOr("href", ""); got != newest {
			t.Errorf("the newest bar leads to %s, want %s", got, newest)
		}
		if doc.Find(".run-bars svg .bad").Length() != 2 || doc.Find(".run-bars svg .ok").Length() != 48 {
			t.Error("colours of the bars")
		}
		failing := text(doc, ".job-failing")
		for _, want := range []string{"2 runs in a row failed", "java.io.IOException: <gone>", "Last good run"} {
			if !strings.Contains(failing, want) {
				t.Errorf("%q is not in %q", want, failing)
			}
		}
		if got := text(doc, ".job-summary"); !strings.Contains(got, "48 of 50 runs") || !strings.Contains(got, "1.4 s") {
			t.Errorf("summary: %q", got)
		}
		if n := doc.Find(".times li").Length(); n != 5 {
			t.Errorf("%d next times", n)
		}
		if got := text(doc, ".family"); !strings.Contains(got, "hidden parent") || !strings.Contains(got, "seen parent") {
			t.Errorf("family: %q", got)
		}
		if got := text(doc, "#job-told ~ *"); !strings.Contains(got, "Nobody is told") || !strings.Contains(got, "No mail channel") {
			t.Errorf("alarms: %q", got)
		}
		if got := text(doc, ".job-changes"); !strings.Contains(got, "Created") {
			t.Errorf("changes: %q", got)
		}
		for _, selector := range []string{`.actions a[href="/jobs/1/run"]`, `.actions form[action="/jobs/1/stop"]`, `.actions a[href="/jobs/1/edit?back=job"]`, `.actions a[href="/jobs/new?copy=1"]`, `.actions a[href="/jobs/1/delete"]`} {
			if doc.Find(selector).Length() != 1 {
				t.Errorf("no %s", selector)
			}
		}
		part := admin.do("GET", "/jobs/1", nil, "HX-Request", "true", "Punctual-Live", "1")
		if part.status != http.StatusOK || strings.Contains(part.body, "<html") || part.document(t).Find("#job").Length() != 1 {
			t.Error("the part that is drawn anew")
		}

		// The buttons lead back here.
		if got := admin.post("/jobs/1/stop", url.Values{"back": {"job"}}); got.header.Get("Location") != "/jobs/1" {
			t.Errorf("stopped: %d %s", got.status, got.header.Get("Location"))
		}
		if got := text(admin.get("/jobs/1").document(t), "#job"); !strings.Contains(got, "Its schedule is stopped") {
			t.Error("the page of a stopped job")
		}
		if admin.get("/jobs/1/edit?back=job").document(t).Find(`[name=back][value=job]`).Length() != 1 {
			t.Error("the form does not lead back")
		}

		if got := admin.post("/users", url.Values{"name": {"viewer"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create a user: %d %s", got.status, got.body)
		}
		ann := open(t, a)
		ann.login("viewer", testPassword)
		seen := ann.get("/jobs/1")
		doc = seen.document(t)
		if seen.status != http.StatusOK || doc.Find(".actions form, .actions .button, .actions .danger").Length() != 0 || doc.Find(`[href*="/edit"], [href^="/audit"], [href^="/alarms"]`).Length() != 0 {
			t.Errorf("who may only look has buttons: %d %s", seen.status, text(doc, ".actions"))
		}
		if got := text(doc, ".family"); strings.Contains(got, "hidden") || !strings.Contains(got, "#2") {
			t.Errorf("family for who may not see a parent: %q", got)
		}
		if got := text(doc, ".facts-list"); !strings.Contains(got, "--day <yesterday>") {
			t.Errorf("configuration: %q", got)
		}
		for _, path := range []string{"/jobs/2", "/jobs/99", "/jobs/0", "/jobs/x"} {
			if got := ann.get(path); got.status != http.StatusNotFound {
				t.Errorf("%s: %d", path, got.status)
			}
		}
	})
}

// TestWhatHasNotEndedHasNotFailed: of the runs that succeeded, those count that came to an end; one that goes on and a fire that was
// left out are neither.
func TestWhatHasNotEndedHasNotFailed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		if got := admin.post("/jobs", form(url.Values{"name": {"nightly"}, "group": {"1"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		summary := func() string { return admin.get("/jobs/1").document(t).Find(".job-summary").Text() }
		oldRun(t, a, 1, 1, 3*time.Hour, 200, 0, nil)
		if got := summary(); strings.Contains(got, "Succeeded") {
			t.Errorf("while its first run goes on: %q", got)
		}
		oldRun(t, a, 1, 1, 2*time.Hour, 200, 200, nil)
		oldRun(t, a, 1, 1, time.Hour, 500, 0, func(r *db.NewRun) { r.Outcome = event.Skipped })
		if got := summary(); !strings.Contains(got, "1 of 1 run") || strings.Contains(got, "1 of 1 runs") {
			t.Errorf("one that goes on and one that succeeded: %q", got)
		}
	})
}

// TestAFailureIsSeen: beside a run of an hour one that failed after two milliseconds is three pixels high, also when it was tried again, on
// the page of the job and on that of a run, whose pictures are less high.
func TestAFailureIsSeen(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
	if got := admin.post("/jobs", form(url.Values{"name": {"nightly"}, "group": {"1"}})); got.status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	run := func(ago, took time.Duration, code int64, change func(*db.NewRun)) int64 {
		id, at := oldRun(t, a, 1, 1, ago, 200, code, change), time.Now().Add(-ago).UnixMilli()
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET sent_at = ?, finished_at = ? WHERE id = ?", at, at+took.Milliseconds(), id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	run(5*time.Hour, time.Hour, 200, nil)
	run(4*time.Hour, 2*time.Millisecond, 500, func(r *db.NewRun) {
		r.Events = event.List{event.New(time.UnixMilli(0), event.Retry, 5, 78)}.Stored()
	})
	last := run(3*time.Hour, 2*time.Millisecond, 500, nil)
	for path, pixels := range map[string]float64{"/jobs/1": 96, link.Run(last): 64} { // as the style sheet has it: TestLinesHold in views/gallery
		found := admin.get(path).document(t).Find(".run-bars svg").Find("rect.bad, rect.retried")
		found.Each(func(_ int, s *goquery.Selection) {
			var share float64
			if _, err := fmt.Sscan(s.AttrOr("height", ""), &share); err != nil || share*pixels/100 < 3 {
				t.Errorf("on %s %s is %v pixels high (%v)", path, s.AttrOr("class", ""), share*pixels/100, err)
			}
		})
		if found.Length() != 2 {
			t.Errorf("on %s %d failures", path, found.Length())
		}
	}
}

// TestTheJobFormTakesWhatFits: a browser stops taking letters where a field says that it is full, which is to be where the server, the API and
// files of jobs refuse more.
func TestTheJobFormTakesWhatFits(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	b := open(t, a).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
	if got := b.post("/jobs", form(url.Values{"glue": {"GLUE_SHELL"}, "source": {"echo"}})); got.status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	page, bounded := b.get("/jobs/1/edit").document(t), 0
	for _, f := range jobspec.Fields {
		most, ok := page.Find(fmt.Sprintf(`form[action="/jobs/1"] [name=%q]`, f.Name)).Attr("maxlength")
		if !ok {
			continue
		}
		if bounded++; most != fmt.Sprint(f.Fit()) {
			t.Errorf("%s takes %s characters, and %d fit", f.Name, most, f.Fit())
		}
	}
	if bounded < 15 {
		t.Errorf("%d fields of the form say how much they take", bounded)
	}
}
