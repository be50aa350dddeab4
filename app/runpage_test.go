package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/views/link"
)

// seenRuns are runs of a job, of which one failed and was retried twice, beside those of another job.
type seenRuns struct {
	a                                 *App
	admin                             *browser
	good, failed, retry, third, after int64
}

// set changes the row of a run.
func (r *seenRuns) set(t *testing.T, id int64, set string, args ...any) {
	t.Helper()
	if _, err := r.a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET "+set+" WHERE id = ?", append(args, id)...); err != nil {
		t.Fatal(err)
	}
}

func makeSeenRuns(t *testing.T, o Options) *seenRuns {
	t.Helper()
	a := start(t, o)
	admin := open(t, a).mustLogin()
	r := &seenRuns{a: a, admin: admin}
	admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
	for _, name := range []string{"nightly", "other"} {
		if got := admin.post("/jobs", form(url.Values{"name": {name}, "group": {"1"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
	}
	at := func(ago time.Duration) int64 { return time.Now().Add(-ago).UnixMilli() }
	run := func(job int64, ago, took time.Duration, code int64) int64 {
		id := oldRun(t, a, 1, job, ago, 200, code, nil)
		r.set(t, id, "planned_at = ?, sent_at = ?, finished_at = ?, executor_param = ?, executor_address = ''", at(ago), at(ago), at(ago)+took.Milliseconds(), "--day 1")
		return id
	}
	for i := range 20 {
		run(1, time.Duration(100-i)*time.Minute, 1400*time.Millisecond, 200)
		run(2, time.Duration(100-i)*time.Minute, time.Hour, 500)
	}
	r.good = run(1, 50*time.Minute, 1400*time.Millisecond, 200)
	r.failed = run(1, 40*time.Minute, 8820*time.Millisecond, 500)
	r.retry = run(1, 39*time.Minute, time.Second, 500)
	r.third = run(1, 38*time.Minute, time.Second, 500)
	r.after = run(1, 30*time.Minute, 1400*time.Millisecond, 200)
	r.set(t, r.failed, "outcome = ?, handle_msg = ?, executor_param = ?, events = ?", int64(event.Failed), "java.io.IOException: <gone>\n\tat x", "--day <2>",
		event.List{event.New(time.UnixMilli(at(39*time.Minute)), event.Retry, 1, r.retry)}.Stored())
	r.set(t, r.retry, "trigger_type = 'RETRY', origin_log_id = ?, events = ?", r.failed, event.List{event.New(time.UnixMilli(at(38*time.Minute)), event.Retry, 1, r.third)}.Stored())
	r.set(t, r.third, "trigger_type = 'RETRY', origin_log_id = ?", r.retry)
	if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_audit SET made_at = ? WHERE object_kind = 'job' AND object_id = 1", at(45*time.Minute)); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestThePageOfARun has a fire that failed twice after good runs, and runs of another job between them.
func TestThePageOfARun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		r := makeSeenRuns(t, o)
		admin := r.admin
		page := admin.get(link.Run(r.failed))
		doc := page.document(t)
		text := func(of *goquery.Document, selector string) string {
			return strings.Join(strings.Fields(of.Find(selector).Text()), " ")
		}
		if got := text(doc, ".run-failure.error .why"); got != "java.io.IOException: <gone>" {
			t.Errorf("first is said: %q", got)
		}
		if got := text(doc, ".run-failure .note"); got != "at x" || strings.Count(page.body, "java.io.IOException") != 1 {
			t.Errorf("said more than once, or not to its end: %q", got)
		}
		if got := text(doc, ".attempts"); got != "Attempt 1FailedAttempt 2FailedAttempt 3Failed" || doc.Find(`.attempts [aria-current]`).AttrOr("href", "") != link.Run(r.failed) {
			t.Errorf("attempts: %q", got)
		}
		for selector, want := range map[string]int64{`[rel=prev]`: r.good, `[rel=next]`: r.after, `.run-ways .beside a:last-child`: r.good} {
			if got := doc.Find(selector).AttrOr("href", ""); got != link.Run(want) {
				t.Errorf("%s leads to %s, want %s", selector, got, link.Run(want))
			}
		}
		if got := text(doc, ".summary"); !strings.Contains(got, "8.8 s ×6.3 usually 1.4 s, p95 1.4 s") {
			t.Errorf("usual: %q", got)
		}
		if n := doc.Find(".run-bars svg a").Length(); n != 25 || doc.Find(".run-bars svg a.this").AttrOr("href", "") != link.Run(r.failed) {
			t.Errorf("%d bars, or another one is marked", n)
		}
		if doc.Find(".run-bars svg a.this rect.mark").Length() != 1 || doc.Find(".run-bars svg rect.mark").Length() != 1 {
			t.Error("the run's bar has no mark that is seen whatever the bars are like")
		}
		against := text(doc, ".against[open]")
		for _, want := range []string{"1.4 s8.8 s", "--day 1--day <2>", "Changed in between", "Created"} {
			if !strings.Contains(against, want) {
				t.Errorf("%q is not in %q", want, against)
			}
		}
		if strings.Contains(page.body, "<gone>") || strings.Contains(page.body, "<2>") {
			t.Error("what others wrote is markup")
		}

		doc = admin.get(link.Run(r.retry)).document(t)
		if got := doc.Find(`.attempts [aria-current]`).AttrOr("href", ""); got != link.Run(r.retry) || doc.Find(`[rel=prev]`).AttrOr("href", "") != link.Run(r.good) {
			t.Errorf("the second attempt: %s, before it %s", got, doc.Find(`[rel=prev]`).AttrOr("href", ""))
		}
		doc = admin.get(link.Run(r.third)).document(t)
		if got := doc.Find(`[rel=prev]`).AttrOr("href", ""); got != link.Run(r.good) || doc.Find(`[rel=next]`).AttrOr("href", "") != link.Run(r.after) {
			t.Errorf("another attempt is taken for the run before the third: %s", got)
		}
		doc = admin.get(link.Run(r.after)).document(t)
		if doc.Find(".attempts, [rel=next], .run-failure, .against[open]").Length() != 0 || doc.Find(".against").Length() != 1 {
			t.Error("a good run is drawn as a bad one, or has attempts or a next run")
		}
	})
}

// TestThePageOfARunKeepsOtherGroupsToThem: the job belonged to another group when it last went well, and belongs to it again.
func TestThePageOfARunKeepsOtherGroupsToThem(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		r := makeSeenRuns(t, o)
		admin := r.admin
		admin.post("/executors", url.Values{"app_name": {"stock"}, "title": {"stock"}, "type": {"auto"}})
		r.set(t, r.good, "job_group = 2, executor_param = ?", secret)
		r.set(t, r.retry, "job_group = 2, handle_msg = ?", secret)
		if _, err := r.a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_msg = ? WHERE job_group = 2", secret); err != nil {
			t.Fatal(err)
		}
		if page := admin.get(link.Run(r.failed)); !strings.Contains(page.body, secret) || !strings.Contains(page.body, link.Run(r.retry)) {
			t.Error("an administrator does not see the runs of both groups")
		}
		user := url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}
		if got := admin.post("/users", user); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		jonas := open(t, r.a)
		jonas.login("jonas", testPassword)
		for _, at := range []string{link.Run(r.failed), "/jobs/1", "/runs?job=1"} {
			page := jonas.get(at)
			if page.status != http.StatusOK || strings.Contains(page.body, secret) || strings.Contains(page.body, link.Run(r.good)+`"`) || strings.Contains(page.body, link.Run(r.retry)+`"`) {
				t.Errorf("%s: %d, and shows runs of a group that is not theirs", at, page.status)
			}
		}
		if _, err := r.a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = 2 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		if page := jonas.get(link.Run(r.failed)); page.status != http.StatusOK || strings.Contains(page.body, "Changed in between") {
			t.Errorf("changes of a job that is not theirs are shown: %d", page.status)
		}
	})
}

// TestAFailureIsSaidOnce has runs that ended without their executor's word: their pages say the reason once, beside what may be done about it.
func TestAFailureIsSaidOnce(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
	if got := admin.post("/jobs", form(url.Values{"group": {"1"}})); got.status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	const address = "http://10.0.0.1:9999/"
	now := time.Now()
	for _, tt := range []struct {
		name           string
		outcome        event.Outcome
		why            event.Event
		once, advice   string
		trigger, state int64
	}{
		{"lost", event.Lost, event.New(now, event.LostRun, event.LostGone, address), "is gone: it cannot be reached any more", "Start the program there again", 200, 500},
		{"refused", event.NotSent, event.New(now, event.Refused, address, time.Millisecond, 500, "no such handler"), "no such handler", "Correct what the executor says", 500, 0},
	} {
		id := oldRun(t, a, 1, 1, time.Minute, tt.trigger, tt.state, nil)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ?, events = ?, executor_address = ? WHERE id = ?", int64(tt.outcome), event.List{tt.why}.Stored(), address, id); err != nil {
			t.Fatal(err)
		}
		text := admin.get(fmt.Sprintf("/runs/%d", id)).document(t).Find("main").Text()
		if n := strings.Count(text, tt.once); n != 1 || !strings.Contains(text, tt.advice) || strings.Contains(text, "under “Sending notes”") {
			t.Errorf("%s: %q is said %d times, or not what to do:\n%s", tt.name, tt.once, n, strings.Join(strings.Fields(text), " "))
		}
	}
}

// TestAPartOfABroadcastStandsBesideItsOwn has a broadcast whose second part fails after one that went well: it is compared with that
// part of the broadcast before, not with another part.
func TestAPartOfABroadcastStandsBesideItsOwn(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
	if got := admin.post("/jobs", form(url.Values{"group": {"1"}})); got.status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	part := func(ago time.Duration, shard string, code int64) int64 {
		id := oldRun(t, a, 1, 1, ago, 200, code, nil)
		at := time.Now().Add(-ago).UnixMilli()
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET executor_sharding_param = ?, planned_at = ?, sent_at = ?, finished_at = ? WHERE id = ?", shard, at/60_000, at, at+1000, id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	const first, last = 20 * time.Minute, 10 * time.Minute
	part(first, "0/3", 200)
	want := part(first, "1/3", 200)
	part(first, "2/3", 200)
	part(last, "0/3", 200)
	failed := part(last, "1/3", 500)
	part(last, "2/3", 200)
	doc := admin.get(fmt.Sprintf("/runs/%d", failed)).document(t)
	if got := doc.Find(".against[open] a").First().AttrOr("href", ""); got != fmt.Sprintf("/runs/%d", want) {
		t.Errorf("compared with %s, want run %d", got, want)
	}
	if doc.Find("[rel=next]").Length() != 0 {
		t.Error("another part of the broadcast is taken for the next run")
	}
}

// TestOutputThatIsLateIsFollowed has an executor that answers after the page of a run that has ended had to be drawn.
func TestOutputThatIsLateIsFollowed(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	release := make(chan struct{})
	stub := executortest.NewStub(t)
	log := executortest.Say(`{"code":200,"content":{"fromLineNum":1,"toLineNum":1,"logContent":"late but here","isEnd":true}}`)
	stub.BehaveAt("/log", func(w http.ResponseWriter, req executortest.Request, ended <-chan struct{}) {
		select {
		case <-release:
		case <-ended:
		}
		log(w, req, ended)
	})
	admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {stub.URL}})
	if got := admin.post("/jobs", form(url.Values{"group": {"1"}})); got.status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	id := oldRun(t, a, 1, 1, time.Minute, 200, 200, nil)
	if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET executor_address = ? WHERE id = ?", stub.URL, id); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/runs/%d", id)
	if page := admin.get(path); page.status != http.StatusOK || page.document(t).Find("[data-live]").Length() == 0 {
		t.Errorf("the page gave the output up: %d", page.status)
	}
	close(release)
	output := false
	admin.events(path+"/events?from=1", func(name, data string) bool {
		output = output || name == "log" && strings.Contains(data, "late but here")
		return name == "end"
	})
	if !output {
		t.Error("the output did not come")
	}
}
