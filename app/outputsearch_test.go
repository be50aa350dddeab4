package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// outputBench has runs of two groups whose outputs are kept.
type outputBench struct {
	*caller
	a           *App
	jobs        [2]int   // of group 1 and 2
	good        string   // a run that succeeds though it wrote an error
	bad         []string // runs that failed, in their order, the last one of group 2
	admin, user *browser // the user may use group 2 only
}

func newOutputBench(t *testing.T, o Options) *outputBench {
	a, c := apiCaller(t, o)
	b := &outputBench{caller: c, a: a, admin: open(t, a).mustLogin(), user: open(t, a)}
	handlers := executortest.Handlers{
		"work": func(_ context.Context, r *executor.Run) error {
			r.Logf("begins with %s", r.Param)
			r.Logf("ERROR <b>Timeout</b> of %s", r.Param)
			r.Logf("java.lang.IllegalStateException: no")
			if strings.HasPrefix(r.Param, "bad") {
				return errors.New("it went wrong")
			}
			return nil
		},
	}
	address := func(name string) string {
		return executortest.New(t, c.base, handlers, func(cfg *executor.Config) { cfg.AppName, cfg.Token = name, o.AccessToken }).URL
	}
	var ignored struct{}
	c.json(200, &ignored, "PATCH", "/groups/1", `{"addresses":["`+address("orders")+`"]}`)
	c.json(201, &ignored, "POST", "/groups", `{"app_name":"billing","title":"Billing","type":"manual","addresses":["`+address("billing")+`"]}`)
	for i := range b.jobs {
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":%d,"description":"job %d","author":"a","handler":"work","keep_output":"ALL"}`, i+1, i+1))
		b.jobs[i] = made.ID
	}
	run := func(job int, param string) string {
		t.Helper()
		got := c.do("POST", fmt.Sprintf("/jobs/%d/trigger", job), `{"parameter":"`+param+`"}`)
		if got.status != http.StatusCreated {
			t.Fatalf("trigger: %d %s", got.status, got.body)
		}
		at := strings.TrimPrefix(got.header.Get("Location"), "/api/v1")
		var r struct {
			State, Message string
			SentAt         *string `json:"sent_at"`
		}
		if c.json(200, &r, "GET", at+"?wait=60s", ""); r.State != "success" && r.State != "failed" {
			t.Fatalf("%s is %+v", at, r)
		}
		id := at[strings.LastIndexByte(at, '/')+1:]
		executortest.Eventually(t, "the output of run "+id+" is kept", func() error {
			var state int
			err := a.pool.QueryRowContext(t.Context(), "SELECT state FROM punctual_output WHERE log_id = ?", id).Scan(&state)
			if err == nil && state != 2 {
				err = fmt.Errorf("its state is %d", state)
			}
			return err
		})
		return id
	}
	b.good = run(b.jobs[0], "good")
	b.bad = []string{run(b.jobs[0], "bad one"), run(b.jobs[0], "bad two"), run(b.jobs[1], "bad elsewhere")}
	if got := b.admin.post("/users", url.Values{"name": {"other"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"2.run"}}); got.status != http.StatusSeeOther {
		t.Fatalf("create a user: %d %s", got.status, got.body)
	}
	b.user.login("other", testPassword)
	return b
}

// TestKeptOutputIsSearched finds what runs wrote: in the console, in API v1 and on the command line, and nothing of groups that are not
// one's own.
func TestKeptOutputIsSearched(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newOutputBench(t, o)
		var found struct {
			Items []struct {
				Run   struct{ ID int }
				Lines []struct {
					Number int
					Text   string
				}
				More int `json:"more_lines"`
			}
			Next string
			Runs int `json:"searched_runs"`
		}
		ids := func() (list []string) {
			for _, m := range found.Items {
				list = append(list, fmt.Sprint(m.Run.ID))
			}
			return list
		}
		b.json(200, &found, "GET", "/runs/search?text=timeout%3C/B%3E+of+bad&group_id=1", "")
		if got := strings.Join(ids(), " "); got != b.bad[1]+" "+b.bad[0] || found.Next != "" || found.Runs != 3 {
			t.Errorf("found are %s, of %+v", got, found)
		} else if l := found.Items[0].Lines; len(l) != 1 || !strings.HasSuffix(l[0].Text, "ERROR <b>Timeout</b> of bad two") || l[0].Number < 2 {
			t.Errorf("the lines are %+v", l)
		}
		// Page by page, and over a time.
		var all []string
		for cursor := ""; ; cursor = "&cursor=" + found.Next {
			found.Items, found.Next = nil, ""
			b.json(200, &found, "GET", fmt.Sprintf("/runs/search?text=error&job_id=%d&limit=1%s", b.jobs[0], cursor), "")
			if all = append(all, ids()...); found.Next == "" || len(all) > 9 {
				break
			}
		}
		if got := strings.Join(all, " "); got != b.bad[1]+" "+b.bad[0]+" "+b.good {
			t.Errorf("page by page are found %s", got)
		}
		for _, span := range []string{"&until=2020-01-01T00:00:00Z", "&since=2120-01-01T00:00:00Z"} {
			found.Items = nil
			if b.json(200, &found, "GET", "/runs/search?text=error&group_id=1"+span, ""); len(found.Items) != 0 {
				t.Errorf("%s finds %v", span, ids())
			}
		}
		for path, field := range map[string]string{"/runs/search?text=error": "group_id", "/runs/search?text=%20&group_id=1": "text", "/runs/search?text=a%0Ab&group_id=1": "text"} {
			var r refusal
			b.json(422, &r, "GET", path, "")
			if len(r.Errors) != 1 || r.Errors[0].Field != field {
				t.Errorf("%s: %+v", path, r)
			}
		}

		// The console: what is found leads to its line, and what a line says is text.
		page := b.admin.get("/runs/search?q=TIMEOUT&group=1&range=all")
		doc := page.document(t)
		if n := doc.Find(".match").Length(); page.status != 200 || n != 3 || strings.Contains(page.body, "<b>Timeout") {
			t.Errorf("the page shows %d: %s", n, page.body)
		}
		first := doc.Find(".match").First()
		if href, _ := first.Find(".match-lines a").Attr("href"); !strings.HasPrefix(href, "/runs/"+b.bad[1]+"?line=") || first.Find("mark").Text() != "Timeout" {
			t.Errorf("the first match leads to %q, with %q marked", href, first.Find("mark").Text())
		}
		if got := b.admin.get("/runs/search?q=nowhere&group=1&range=all"); got.status != 200 || got.document(t).Find(".match").Length() != 0 || got.document(t).Find(".empty").Length() != 1 {
			t.Errorf("without a match: %s", got.body)
		}
		if got := b.admin.get("/runs/search?q=error"); got.status != 422 || got.document(t).Find(`#filters input[name="q"]`).AttrOr("value", "") != "error" || got.document(t).Find("#wrong-group").Length() != 1 {
			t.Errorf("without a group: %d %s", got.status, got.body)
		}
		part := b.admin.do("GET", fmt.Sprintf("/runs/search?q=error&group=1&range=all&round=3&looked=7&hits=2&before=%s", b.bad[1]), nil, "HX-Request", "true")
		if part.status != 200 || strings.Contains(part.body, "<html") || part.document(t).Find(".match").Length() != 2 || !strings.Contains(part.body, "4 runs found; outputs searched: 9 (") {
			t.Errorf("what goes on: %d %s", part.status, part.body)
		}
		stopped := b.admin.do("GET", "/runs/search?q=error&group=1&range=all&round=3&stop=1", nil, "HX-Request", "true")
		if doc := stopped.document(t); doc.Find(".match").Length() != 0 || doc.Find(`[hx-trigger="load"]`).Length() != 0 || doc.Find(`.search-progress a[hx-get]`).Length() != 1 {
			t.Errorf("what is stopped: %s", stopped.body)
		}

		// Only of one's own groups.
		for path, want := range map[string]int{"/runs/search?q=error&group=2&range=all": 1, "/runs/search?q=error&group=1&range=all": 0} {
			if got := b.user.get(path); got.status != 200 || got.document(t).Find(".match").Length() != want || want == 0 && strings.Contains(got.body, "bad one") {
				t.Errorf("%s, of another group's user: %d %s", path, got.status, got.body)
			}
		}
		if got := b.user.get(fmt.Sprintf("/runs/search?q=error&job=%d&range=all", b.jobs[0])); got.status != http.StatusNotFound && got.status != http.StatusForbidden {
			t.Errorf("another group's job: %d", got.status)
		}
		theirs := &caller{t: t, base: b.base, token: makeToken(t, b.user, url.Values{"name": {"t"}, "scope": {"run"}, "days": {"7"}})}
		for _, path := range []string{"/runs/search?text=error&group_id=1", fmt.Sprintf("/runs/search?text=error&job_id=%d", b.jobs[0])} {
			found.Items = nil
			if got := theirs.json(200, &found, "GET", path, ""); len(found.Items) != 0 {
				t.Errorf("%s, with a token for another group: %v", path, got)
			}
		}
		// A job that was moved leaves its former runs to the former group: a search that stops at a run tells that the text is in it.
		if _, err := b.a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = 2 WHERE id = ?", b.jobs[0]); err != nil {
			t.Fatal(err)
		}
		for _, group := range []string{"", "&group_id=1", "&group_id=2"} {
			found.Items, found.Next = nil, ""
			if theirs.json(200, &found, "GET", fmt.Sprintf("/runs/search?text=bad&limit=1&job_id=%d%s", b.jobs[0], group), ""); len(found.Items) != 0 || found.Next != "" {
				t.Errorf("of a job that was moved to the token's group, with %q: %+v", group, found)
			}
		}
		if _, err := b.a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = 1 WHERE id = ?", b.jobs[0]); err != nil {
			t.Fatal(err)
		}

		// The command line.
		out, err := punctual(t, "runs", "search", "timeout</b> OF BAD", "--group", "1", "--url", b.base, "--token", b.token)
		if err != nil || !strings.Contains(out, b.bad[1]+":") || !strings.Contains(out, "ERROR <b>Timeout</b> of bad two") || !strings.Contains(out, "Found in 2 of 3 kept outputs") {
			t.Errorf("punctual runs search: %v\n%s", err, out)
		}
		if out, err := punctual(t, "runs", "search", "error", "--job", "job 1", "--limit", "2", "-o", "name", "--url", b.base, "--token", b.token); err != nil || !strings.HasPrefix(out, b.bad[1]+"\n"+b.bad[0]+"\n") || !strings.Contains(out, "older ones were not looked at") {
			t.Errorf("with a limit: %v\n%s", err, out)
		}
		if out, err := punctual(t, "runs", "search", "nowhere", "--group", "1", "--url", b.base, "--token", b.token); err == nil || !strings.Contains(out, "0 of 3") {
			t.Errorf("without a match: %v\n%s", err, out)
		}
	})
}

// TestLinesWithErrorsAreCounted shows on the job's page and in the list of runs how many lines of a kept output have errors.
func TestLinesWithErrorsAreCounted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newOutputBench(t, o)
		page := b.admin.get(fmt.Sprintf("/jobs/%d", b.jobs[0]))
		doc := page.document(t)
		lines := doc.Find(`.run-line[href="/runs/` + b.bad[0] + `"]`)
		if got := lines.Text(); !strings.Contains(got, "2 lines with errors") {
			t.Errorf("the failure of the job's page says %q", got)
		}
		if got := doc.Find(`a[href="/runs/` + b.good + `"]`).Last().Text(); !strings.Contains(got, "2 lines with errors") || !strings.Contains(page.body, "1 run that succeeded also wrote errors") {
			t.Errorf("of the run that succeeded it says %q", got)
		}
		if got := b.admin.get("/runs?range=all").document(t).Find("tr[data-id='" + b.good + "']").Text(); !strings.Contains(got, "2 lines with errors") {
			t.Errorf("the list of runs says %q", got)
		}
		var r struct {
			Errors *int `json:"error_lines"`
		}
		if b.json(200, &r, "GET", "/runs/"+b.good, ""); r.Errors == nil || *r.Errors != 2 {
			t.Errorf("API v1 says %v", r.Errors)
		}
		if _, err := b.a.pool.ExecContext(t.Context(), "DELETE FROM punctual_output"); err != nil {
			t.Fatal(err)
		}
		if b.json(200, &r, "GET", "/runs/"+b.good, ""); r.Errors != nil {
			t.Errorf("without a copy API v1 says %d", *r.Errors)
		}
	})
}

// TestTheNodesTellOfKeptOutput shows administrators how the keeping of outputs stands.
func TestTheNodesTellOfKeptOutput(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newOutputBench(t, o)
		executortest.Eventually(t, "what waits is counted, and how fast it goes", func() error {
			text := strings.Join(strings.Fields(b.admin.get("/nodes").document(t).Find("[data-output]").Text()), " ")
			if !strings.HasPrefix(text, "Kept output, counted every ten minutes: ") || !strings.Contains(text, "; runs that wait for it: 0. Outputs since these nodes started: pushed by their executors ") || !strings.Contains(text, ", copied from them ") || strings.Contains(text, " 0 B of output a second") {
				return fmt.Errorf("the page says %q", text)
			}
			return nil
		})
	})
}
