package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// form reads a form of a page as a browser would send it.
func (s *session) form(t testing.TB, path, action string) url.Values {
	t.Helper()
	code, body := s.get(t, path)
	if code != http.StatusOK {
		t.Fatalf("%s answers %d", path, code)
	}
	page, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	f := page.Find(fmt.Sprintf("form[action=%q]", action))
	if f.Length() != 1 {
		t.Fatalf("%s has %d forms for %s", path, f.Length(), action)
	}
	values := url.Values{}
	f.Find("input[name], select[name], textarea[name]").Each(func(_ int, field *goquery.Selection) {
		name, _ := field.Attr("name")
		kind, _ := field.Attr("type")
		value, _ := field.Attr("value")
		switch {
		case field.Is("select"):
			value, _ = field.Find("option[selected]").Attr("value")
		case field.Is("textarea"):
			value = field.Text()
		case kind == "checkbox" || kind == "radio":
			if _, on := field.Attr("checked"); !on {
				return
			}
		}
		values.Add(name, value)
	})
	return values
}

// follow reads a run's events until a text comes.
func (s *session) follow(t testing.TB, id int64, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/runs/%d/events?from=1", s.url, id), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: s.Jar} // a stream outlasts the session's time-out
	r.Header.Set("Accept", "text/event-stream")
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the events of run %d ended without %q: %v", id, text, lines.Err())
}

// slowJob makes a job whose runs count as many seconds as their parameter says. The sample has one, but for its fires, which take the place of
// what somebody runs.
func (s *session) slowJob(t *testing.T) int64 {
	t.Helper()
	values := s.form(t, link.JobNewPath, link.JobsPath)
	values.Set(jobs.FieldName, "Count")
	values.Set(jobs.FieldScheduleType, "NONE")
	values.Set(jobs.FieldHandler, "sampleSlow")
	s.must(t, link.JobsPath, values)
	_, list := s.get(t, link.JobsPath+"?q=Count")
	return lastID(t, list, `/jobs/(\d+)/edit`)
}

// TestNewcomer is the story of somebody's first minutes, over HTTP as a browser without JavaScript would have it.
func TestNewcomer(t *testing.T) {
	waits(t)
	d := &database{dir: t.TempDir()}
	settings := adminSettings{dataDir: d.dir, port: executortest.FreePort(t), env: []string{"PUNCTUAL_ADMIN_PASSWORD=", "PUNCTUAL_ACCESS_TOKEN=", "PUNCTUAL_SAMPLE=auto"}}
	a := startAdmin(t, settings)
	d.read(t)
	browser := a.login(t, a.firstPassword(t))
	if out := a.stdout.String(); !strings.Contains(out, a.url) || !strings.Contains(out, d.dir) {
		t.Errorf("the welcome says neither where to go nor where the data is:\n%s", out)
	}
	job := func(name string) int64 {
		return d.count(t, "SELECT id FROM xxl_job_info WHERE job_desc = ?", name)
	}
	shell, greet := job("Shell · 10 s"), job("Go · greet")
	if _, page := browser.get(t, "/jobs"); !strings.Contains(page, "Shell · 10 s") || !strings.Contains(page, "Go · retry") {
		t.Error("the list does not show the sample jobs")
	}

	// Edit a cron and see its next times.
	edit, save := fmt.Sprintf("/jobs/%d/edit", shell), fmt.Sprintf("/jobs/%d", shell)
	values := browser.form(t, edit, save)
	values.Set(jobs.FieldCron, "0 0 25 * * ?")
	if code, page, _ := browser.post(t, save, values); code != http.StatusUnprocessableEntity || !strings.Contains(page, "0 0 25 * * ?") {
		t.Errorf("a cron with hour 25 is answered %d, or what was typed is gone", code)
	}
	values.Set(jobs.FieldCron, "0 15 3 ? * MON-FRI")
	if code, part, _ := browser.post(t, "/jobs/schedule-preview", values); code != http.StatusOK || strings.Count(part, "03:15") < 5 {
		t.Errorf("the preview is %d\n%s", code, part)
	}
	browser.must(t, save, values)
	if got := browser.form(t, edit, save).Get(jobs.FieldCron); got != "0 15 3 ? * MON-FRI" {
		t.Errorf("the cron saved is %q", got)
	}
	next := time.UnixMilli(d.count(t, "SELECT trigger_next_time FROM xxl_job_info WHERE id = ?", shell)).UTC()
	if next.Hour() != 3 || next.Minute() != 15 || !next.After(time.Now()) {
		t.Errorf("the job is next due at %s", next)
	}

	values = browser.form(t, edit, save)
	values.Set(jobs.FieldCron, "0/5 * * * * ?") // so that the story need not wait for its end
	browser.must(t, save, values)

	// Stop and start.
	for i, step := range []string{"stop", "start"} {
		browser.must(t, fmt.Sprintf("/jobs/%d/%s", greet, step), nil)
		if status := d.count(t, "SELECT trigger_status FROM xxl_job_info WHERE id = ?", greet); status != int64(i) {
			t.Errorf("after %s the status is %d", step, status)
		}
	}

	// Run once with a parameter; the run appears, with its result and its output.
	id := browser.runOnce(t, greet, "e2e <Ω>")
	r := d.await(t, id, "end", hasEnded)
	if r.handled != wire.CodeSuccess || r.result != "hello, e2e <Ω>" {
		t.Errorf("the run ended as %d %q", r.handled, r.result)
	}
	if _, page := browser.get(t, "/runs"); !strings.Contains(page, fmt.Sprintf(`/runs/%d"`, id)) {
		t.Error("the list of runs does not show the run")
	}
	if _, page := browser.get(t, fmt.Sprintf("/runs/%d", id)); !strings.Contains(page, "hello, e2e &lt;Ω&gt;") || !strings.Contains(page, "the parameter is") {
		t.Error("the run's page shows not both its result and its output")
	}

	// Follow a slow one while it runs, and kill it.
	slow := browser.slowJob(t)
	id = browser.runOnce(t, slow, "600")
	browser.follow(t, id, "2 of 600 s")
	browser.must(t, fmt.Sprintf("/runs/%d/kill", id), nil)
	if r := d.await(t, id, "end", hasEnded); r.handled != wire.CodeFail || !strings.Contains(r.result, "admin") {
		t.Errorf("the run that was killed ended as %d %q", r.handled, r.result)
	}

	// Stop the program in the middle of a run, and start it again.
	id = browser.runOnce(t, slow, "600")
	browser.follow(t, id, "1 of 600 s")
	before := d.runs(t)
	if err := a.signal(t, os.Interrupt); err != nil {
		t.Errorf("Ctrl-C ends the program with %v", err)
	}
	a.noPanic(t)
	a = startAdmin(t, settings)
	if code, page := browser.get(t, fmt.Sprintf("/runs/%d", id)); code != http.StatusOK || !strings.Contains(page, "1 of 600 s") {
		t.Errorf("after the restart the run's page answers %d, or its output is gone", code)
	}
	if r := d.await(t, id, "end", hasEnded); r.handled != wire.CodeFail || r.result == "" {
		t.Errorf("the run that was stopped with the program ended as %d %q", r.handled, r.result)
	}
	for _, r := range before {
		if r := d.await(t, r.id, "end", hasEnded); r.code != wire.CodeSuccess {
			t.Errorf("run %d was not sent: %s", r.id, r.message)
		}
	}
	last := before[len(before)-1].id
	eventually(t, "run after the restart", func() error {
		if d.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE id > ? AND handle_code = 200", last) == 0 {
			return errNotYet
		}
		return nil
	})
	a.terminate(t)
	a.noPanic(t)
}
