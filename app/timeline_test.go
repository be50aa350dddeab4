package app

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/views/link"
)

// TestShortRunsAreSeenInATimeline, and those that no executor took do not last until now.
func TestShortRunsAreSeenInATimeline(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	things(t, a, 1, "quick")
	at := func(ago, took time.Duration, code, handled int64) int64 {
		id := oldRun(t, a, 1, 1, ago, code, handled, nil)
		sent, finished := time.Now().Add(-ago), int64(0)
		if handled != 0 {
			finished = sent.Add(took).UnixMilli()
		}
		outcome := event.Succeeded
		if handled == 0 {
			outcome = event.NotSent
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET sent_at = ?, finished_at = ?, outcome = ? WHERE id = ?", sent.UnixMilli(), finished, outcome, id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	quick, refused := at(40*time.Minute, 7*time.Millisecond, 200, 200), at(30*time.Minute, 0, 500, 0)
	page := open(t, a).mustLogin().get(link.TimelinePath).document(t)
	for _, run := range []int64{quick, refused} {
		if got := page.Find(fmt.Sprintf(`svg a[href="/runs/%d"] rect`, run)).AttrOr("width", ""); got != "0.01%" {
			t.Errorf("run %d is %q wide", run, got)
		}
	}
}

// TestATimelineLeadsToItsRuns: a run that has just ended is a bar that leads to it, in the picture and in the list; jobs, executors, the
// dashboard and the forecast lead to their timelines, and what is due stands to the right of now.
func TestATimelineLeadsToItsRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c, trigger := tracedOrders(t, o, executortest.Handlers{})
		run := trigger("nothing of this name", "")
		var ended struct{ State string }
		c.json(200, &ended, "GET", "/runs/"+run+"?wait=60s", "")
		var made struct{ ID int64 }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"in a moment","author":"ann","schedule":"CRON","cron":"0 0/5 * * * ?","handler":"x"}`)
		c.json(200, &made, "POST", fmt.Sprintf("/jobs/%d/start", made.ID), "")

		b := open(t, a).mustLogin()
		page := b.get(link.TimelinePath).body
		bar := `<a href="/runs/` + run + `" tabindex="-1"><title>#` + run + " · "
		for _, want := range []string{
			bar, `<li><a class="link" href="/runs/` + run + `">#` + run, `<line class="now"`, `<text class="now"`, `data-live-every="15000"`,
			`<a class="clip" href="/jobs/1" title=`, `<line class="due"`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("no %s in %s", want, page)
			}
		}
		// What is due lies behind now, in the fifth of the picture that is to come.
		for _, due := range regexp.MustCompile(`<line class="due" x1="([0-9.]+)%"`).FindAllStringSubmatch(page, -1) {
			if x := due[1]; !strings.HasPrefix(x, "8") && !strings.HasPrefix(x, "9") {
				t.Errorf("due at %s%%", x)
			}
		}
		for path, want := range map[string]string{
			link.Root: link.TimelinePath, link.ForecastPath: link.TimelinePath, link.Job(1): link.TimelinePath + "?job=1",
			link.Executor(1): link.TimelinePath + "?by=executors&group=1",
		} {
			if body := html.UnescapeString(b.get(path).body); !strings.Contains(body, `href="`+want+`"`) {
				t.Errorf("%s does not lead to %s", path, want)
			}
		}
		now := time.Now().In(a.pool.Zone())
		at := func(d time.Duration) string { return now.Add(d).Format("2006-01-02T15:04") }
		for query, want := range map[string]string{
			"?job=1":                   bar,
			"?by=executors&group=1":    bar,
			"?range=24h&q=nowhere":     "Nothing ran in this time",
			"?range=custom&from=x&to=": "Type a beginning and an end",
			"?range=custom&from=" + at(0) + "&to=" + at(-time.Hour):             "The end of the timeline must lie after its beginning",
			"?range=custom&from=" + at(-400*time.Hour) + "&to=" + at(time.Hour): "no more than 14 days",
			"?range=custom&from=" + at(-2*time.Hour) + "&to=" + at(-time.Hour):  "Nothing ran in this time",
			"?range=fortnight&by=executors&tag=a":                               "range=fortnight",
		} {
			got := b.get(link.TimelinePath + query)
			if got.status != 200 || !strings.Contains(got.body, want) {
				t.Errorf("%s: %d, no %s in %s", query, got.status, want, got.body)
			}
		}
		if old := b.get(link.TimelinePath + "?range=custom&from=" + at(-2*time.Hour) + "&to=" + at(-time.Hour)).body; strings.Contains(old, "data-live-every") {
			t.Error("a time that is over is drawn anew")
		}
		if got := b.get(link.TimelinePath + "?job=4711"); got.status != 404 {
			t.Errorf("a job that there is not: %d", got.status)
		}
	})
}
