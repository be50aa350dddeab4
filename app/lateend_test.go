package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/scheduler/event"
)

// TestARunWhoseEndIsNotKnownExactly is said to have taken so long at most, on every page and by the API, and is no part of what is usual.
func TestARunWhoseEndIsNotKnownExactly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		if got := admin.post("/jobs", form(url.Values{"name": {"nightly"}, "group": {"1"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		began := time.Now().Add(-time.Hour).Truncate(time.Second)
		run := func(after, took time.Duration, events event.List) int64 {
			t.Helper()
			at := began.Add(after)
			id := oldRun(t, a, 1, 1, time.Since(at), 200, 200, nil)
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET planned_at = ?, sent_at = ?, finished_at = ?, outcome = ?, executor_address = '', events = ? WHERE id = ?",
				at.UnixMilli(), at.UnixMilli(), at.Add(took).UnixMilli(), int64(event.Succeeded), events.Stored(), id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		for i := range 10 {
			run(time.Duration(i)*time.Second, 5*time.Second, nil)
		}
		at := began.Add(time.Minute)
		until := at.Add(10 * time.Minute)
		unsure := run(time.Minute, 10*time.Minute, event.List{event.New(until, event.EndUnsure, at.Add(time.Second), until)})
		late := run(20*time.Minute, 5*time.Second, event.List{event.New(began.Add(30*time.Minute), event.EndLate, 10*time.Minute-5*time.Second)})
		doc := admin.get(fmt.Sprintf("/runs/%d", unsure)).document(t)
		summary := strings.Join(strings.Fields(doc.Find(".summary").First().Text()), " ")
		for _, want := range []string{"at most 10 min", "Ended between", "when exactly is not known", "usually 5 s, p95 5 s"} {
			if !strings.Contains(summary, want) {
				t.Errorf("%q is not in %q", want, summary)
			}
		}
		if strings.Contains(summary, "×") {
			t.Errorf("compared with what is usual: %q", summary)
		}
		doc = admin.get(fmt.Sprintf("/runs/%d", late)).document(t)
		if got := strings.Join(strings.Fields(doc.Find(".summary").First().Text()), " "); strings.Contains(got, "at most") || !strings.Contains(got, "5 s ×1") {
			t.Errorf("a known end: %q", got)
		}
		var steps []string
		doc.Find(".timeline li").Each(func(_ int, s *goquery.Selection) { steps = append(steps, strings.Join(strings.Fields(s.Text()), " ")) })
		if all := strings.Join(steps, "\n"); len(steps) == 0 || !strings.Contains(all, "Ended 9 min 55 s before its result was taken") || strings.Index(all, "Ended") > strings.Index(all, "Reported back") {
			t.Errorf("its timeline: %q", steps)
		}
		for _, page := range []string{"/runs?job=1&group=1", "/jobs/1", "/timeline?job=1"} {
			body := admin.get(page).body
			if page != "/timeline?job=1" && !strings.Contains(body, "at most 10 min") {
				t.Errorf("%s does not say how long it took at most", page)
			}
			if strings.Contains(body, "×120") {
				t.Errorf("%s says that it is unlike its job's past", page)
			}
		}
		api := &caller{t: t, base: admin.base, token: makeToken(t, admin, url.Values{"name": {"reads"}, "scope": {"admin"}, "days": {"7"}})}
		for id, want := range map[int64]string{unsure: at.Add(time.Second).UTC().Format(time.RFC3339), late: ""} {
			got := api.do("GET", fmt.Sprintf("/runs/%d", id), "")
			if want == "" && !strings.Contains(got.body, `"ended_after":null`) || want != "" && !strings.Contains(got.body, `"ended_after":"`+want) {
				t.Errorf("run %d: %s", id, got.body)
			}
		}
	})
}
