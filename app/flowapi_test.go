package app

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestAFlowIsSteeredByPrograms makes a flow by API v1, whose definition is a field of the job, and steers a run of it by API and command line.
func TestAFlowIsSteeredByPrograms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := working(t, o, "greet", "fail")
		source := "on_failure: continue\nsteps: [{id: ask, approve: {message: 'Pay?'}}, {id: pay, needs: [ask], job: {id: 1}, parameter: 'day ${{ flow.param }}'}, {id: tell, needs: [ask], job: {id: 2}}]"
		var made struct {
			ID     int64
			Script string
		}
		c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"flow","author":"a","kind":"FLOW","script":%q}`, source))
		if made.Script != source {
			t.Errorf("the definition is %q", made.Script)
		}
		var used struct {
			In *struct {
				Flows []struct {
					ID   int64
					Name string `json:"description"`
				}
				Hidden int
			} `json:"used_in"`
		}
		for _, of := range []string{"GET /jobs/1", "DELETE /jobs/1?dry_run=true"} {
			method, path, _ := strings.Cut(of, " ")
			used.In = nil
			if c.json(200, &used, method, path, ""); used.In == nil || len(used.In.Flows) != 1 || used.In.Flows[0].ID != made.ID || used.In.Flows[0].Name != "flow" || used.In.Hidden != 0 {
				t.Errorf("%s says that it is used in %+v", of, used.In)
			}
		}
		root := open(t, a).mustLogin()
		if page := root.get("/jobs/1").document(t).Find("#job-flows").Parent(); page.Find(fmt.Sprintf("a[href='/jobs/%d']", made.ID)).Length() != 1 {
			t.Errorf("the page of the job does not lead to its flow: %s", page.Text())
		}
		if got := root.get("/jobs/1/delete"); !strings.Contains(got.body, "A step of the flow “flow” runs it") {
			t.Errorf("nobody who deletes the job is told of the flow: %d", got.status)
		}
		wrong := c.do("POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"wrong","author":"a","kind":"FLOW","script":%q}`, strings.Replace(source, "needs: [ask]", "needs: [aks]", 1)))
		if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.body, `"script"`) || !strings.Contains(wrong.body, "pay") {
			t.Errorf("a definition that does not hold: %d %s", wrong.status, wrong.body)
		}
		got := c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), `{"parameter":"2026-03-03"}`)
		at := strings.TrimPrefix(got.header.Get("Location"), "/api/v1")
		if got.status != http.StatusCreated || at == "" {
			t.Fatalf("trigger: %d %s", got.status, got.body)
		}
		id := strings.TrimPrefix(at, "/runs/")
		type step struct {
			ID, State, Parameter, Remark string
			RunID                        int64  `json:"run_id"`
			DecidedBy                    string `json:"decided_by"`
		}
		type whole struct {
			State  string
			Steps  []step
			StepOf *struct {
				RunID int64 `json:"run_id"`
				Step  string
			} `json:"step_of"`
		}
		until := func(at string, place int, state string) (r whole) {
			t.Helper()
			executortest.Eventually(t, state, func() error {
				r = whole{}
				if c.json(200, &r, "GET", at, ""); len(r.Steps) != 3 || r.Steps[place].State != state {
					return fmt.Errorf("the run is %+v", r)
				}
				return nil
			})
			return r
		}
		if r := until(at, 0, "approval"); r.Steps[0].Parameter != "Pay?" || r.Steps[1].State != "waiting" {
			t.Errorf("the steps: %+v", r.Steps)
		}
		if out, err := punctual(t, "runs", "steps", id, "--url", c.base, "--token", c.token); err != nil || !strings.Contains(out, "approval") || !strings.Contains(out, "pay") {
			t.Errorf("the steps on the command line: %v\n%s", err, out)
		}
		if got := c.do("POST", at+"/steps/nobody/approve", `{}`); got.status != http.StatusNotFound {
			t.Errorf("a step that there is not: %d", got.status)
		}
		if got := c.do("POST", at+"/steps/pay/approve", ""); got.status != http.StatusConflict {
			t.Errorf("a step that asks nothing: %d %s", got.status, got.body)
		}
		if got := c.do("POST", at+"/repeat", `{}`); got.status != http.StatusConflict {
			t.Errorf("repeated while it goes on: %d %s", got.status, got.body)
		}
		viewer := makeToken(t, open(t, a).mustLogin(), url.Values{"name": {"looks"}, "scope": {"view"}, "days": {"7"}})
		if _, err := punctual(t, "runs", "approve", id, "ask", "--url", c.base, "--token", viewer); err == nil {
			t.Error("approved without the right")
		}
		if out, err := punctual(t, "runs", "approve", id, "ask", "-m", "the amounts agree", "--url", c.base, "--token", c.token); err != nil {
			t.Fatalf("approve: %v\n%s", err, out)
		}
		until(at, 2, "failed")
		r := until(at, 1, "success")
		if r.Steps[0].DecidedBy == "" || r.Steps[0].Remark != "the amounts agree" || r.Steps[1].Parameter != "day 2026-03-03" || r.Steps[1].RunID == 0 {
			t.Errorf("what became of the steps: %+v", r.Steps)
		}
		var of whole
		if c.json(200, &of, "GET", fmt.Sprintf("/runs/%d", r.Steps[1].RunID), ""); of.StepOf == nil || of.StepOf.Step != "pay" || fmt.Sprint(of.StepOf.RunID) != id || of.Steps != nil {
			t.Errorf("the run of a step: %+v", of)
		}
		executortest.Eventually(t, "over", func() error {
			if c.json(200, &r, "GET", at, ""); r.State != "failed" {
				return fmt.Errorf("the run is %s", r.State)
			}
			return nil
		})
		out, err := punctual(t, "runs", "rerun", id, "--failed", "--url", c.base, "--token", c.token)
		if err != nil {
			t.Fatalf("rerun: %v\n%s", err, out)
		}
		again := "/runs/" + strings.TrimSpace(out)
		if r := until(again, 2, "failed"); r.Steps[0].Remark != "the amounts agree" || r.Steps[1].State != "success" {
			t.Errorf("the rerun begins with %+v", r.Steps)
		}
		executortest.Eventually(t, "from a step on", func() error {
			got := c.do("POST", again+"/repeat", `{"from_step":"pay"}`)
			if got.status != http.StatusCreated {
				return fmt.Errorf("%d %s", got.status, got.body)
			}
			return nil
		})
	})
}

// TestAnAllowedFailureIsToldAsOne by API v1, the command line and the page of the run.
func TestAnAllowedFailureIsToldAsOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := working(t, o, "fail")
		var made struct{ ID int64 }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"flow","author":"a","kind":"FLOW","script":"steps: [{id: may, job: {id: 1}, continue_on_error: true, retry_backoff: 1m}]"}`)
		at := strings.TrimPrefix(c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "").header.Get("Location"), "/api/v1")
		var r struct {
			State string
			Steps []struct {
				State   string
				Allowed bool
			}
		}
		executortest.Eventually(t, "over", func() error {
			if c.json(200, &r, "GET", at, ""); r.State != "success" {
				return fmt.Errorf("the run is %s", r.State)
			}
			return nil
		})
		if len(r.Steps) != 1 || r.Steps[0].State != "failed" || !r.Steps[0].Allowed {
			t.Errorf("the step: %+v", r.Steps)
		}
		if out, err := punctual(t, "runs", "steps", strings.TrimPrefix(at, "/runs/"), "-o", "wide", "--url", c.base, "--token", c.token); err != nil || !strings.Contains(out, "ALLOWED") {
			t.Errorf("on the command line: %v\n%s", err, out)
		}
		page := open(t, a).mustLogin().get(at).document(t)
		if got := page.Find("#step-may .badge.step-allowed").Text(); !strings.Contains(got, "Failed, allowed") || page.Find("svg.flow-wide .at-allowed").Length() != 1 {
			t.Errorf("the page says %q", got)
		}
	})
}

// TestAStartedFlowIsHiddenFromXXLJOBAlone: its row says so that an XXL-JOB admin on the same database takes it for stopped, and everything
// of ours that it is started.
func TestAStartedFlowIsHiddenFromXXLJOBAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := working(t, o, "greet")
		var made struct{ ID int64 }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"nightly","author":"a","kind":"FLOW","schedule":"CRON","cron":"0 0 2 * * ?","script":"steps: [{id: ask, approve: {}}]"}`)
		at := fmt.Sprintf("/jobs/%d", made.ID)
		status := func() (n int) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), "SELECT trigger_status FROM xxl_job_info WHERE id = ?", made.ID).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		b := open(t, a).mustLogin()
		seen := func(started bool) {
			t.Helper()
			states := map[bool]string{true: "running", false: "stopped"}
			var job struct{ State string }
			var list, others struct{ Items []struct{ ID int64 } }
			c.json(200, &job, "GET", at, "")
			c.json(200, &list, "GET", "/jobs?text=nightly&state="+states[started], "")
			c.json(200, &others, "GET", "/jobs?text=nightly&state="+states[!started], "")
			if job.State != states[started] || len(list.Items) != 1 || len(others.Items) != 0 {
				t.Errorf("API v1 says %q; %d of that state, %d of the other", job.State, len(list.Items), len(others.Items))
			}
			former := map[bool]string{true: "1", false: "0"}[started]
			got := b.post("/xxl-job-admin/jobinfo/pageList", url.Values{"jobGroup": {"1"}, "triggerStatus": {former}, "jobDesc": {"nightly"}, "start": {"0"}, "length": {"10"}})
			if !strings.Contains(got.body, `"triggerStatus":`+former) || !strings.Contains(got.body, `"recordsTotal":1`) {
				t.Errorf("a program that speaks to XXL-JOB's console is told %s", got.body)
			}
			for _, order := range []string{"", "&sort=next", "&sort=name"} {
				if page := b.get("/jobs?q=nightly&state=" + states[started] + order); !strings.Contains(page.body, fmt.Sprintf("/jobs/%d", made.ID)) {
					t.Errorf("it is not in the list%s", order)
				}
			}
			if deed := map[bool]string{true: "/stop", false: "/start"}[started]; !strings.Contains(b.get(at).body, at+deed) {
				t.Errorf("its page does not offer %s", deed)
			}
		}
		seen(false)
		for range 2 {
			if got := c.do("POST", at+"/start", ""); got.status >= 300 || status() != 2 {
				t.Fatalf("start: %d %s; the status is %d", got.status, got.body, status())
			}
			seen(true)
		}
		if got := c.do("POST", at+"/stop", ""); got.status >= 300 || status() != 0 {
			t.Fatalf("stop: %d %s; the status is %d", got.status, got.body, status())
		}
		seen(false)
	})
}

// TestItemsOfAStepAreRead by API v1 and on the command line, page after page.
func TestItemsOfAStepAreRead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := working(t, o, "greet")
		var made struct{ ID int64 }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"each","author":"a","kind":"FLOW","script":"steps: [{id: each, foreach: {items: 'fromJSON(flow.param)', parallel: 3}, job: 1, parameter: 'no ${{ item }}'}, {id: ask, approve: {}}]"}`)
		got := c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), `{"parameter":"[1,2.5,\"c\",4,5,6,7]"}`)
		at := strings.TrimPrefix(got.header.Get("Location"), "/api/v1")
		if got.status != http.StatusCreated || at == "" {
			t.Fatalf("trigger: %d %s", got.status, got.body)
		}
		var whole struct {
			Steps []struct {
				State, Message string
			}
		}
		executortest.Eventually(t, "all items", func() error {
			if c.json(200, &whole, "GET", at, ""); len(whole.Steps) == 0 || whole.Steps[0].State != "success" {
				var message sql.NullString
				err := a.pool.QueryRowContext(t.Context(), "SELECT message FROM punctual_flow_step WHERE message <> '' LIMIT 1").Scan(&message)
				return fmt.Errorf("the run is %+v; %q, %v", whole, message.String, err)
			}
			return nil
		})
		var seen []string
		cursor := ""
		for range 10 {
			var page struct {
				Items []struct {
					Item      int64
					State     string
					RunID     int64 `json:"run_id"`
					Parameter string
				}
				Next string
			}
			c.json(200, &page, "GET", at+"/steps/each/items?limit=3"+cursor, "")
			for _, i := range page.Items {
				if i.RunID == 0 {
					t.Errorf("item %d has no run", i.Item)
				}
				seen = append(seen, fmt.Sprintf("%d %s %s", i.Item, i.State, i.Parameter))
			}
			if page.Next == "" {
				break
			}
			cursor = "&cursor=" + page.Next
		}
		want := "0 success no 1, 1 success no 2.5, 2 success no c, 3 success no 4, 4 success no 5, 5 success no 6, 6 success no 7"
		if got := strings.Join(seen, ", "); got != want {
			t.Errorf("the items are %s", got)
		}
		var none struct{ Items []any }
		if c.json(200, &none, "GET", at+"/steps/ask/items", ""); len(none.Items) != 0 {
			t.Errorf("a step without items has %v", none.Items)
		}
		if got := c.do("GET", at+"/steps/nobody/items", ""); got.status != http.StatusNotFound {
			t.Errorf("a step that there is not: %d", got.status)
		}
		out, err := punctual(t, "runs", "steps", strings.TrimPrefix(at, "/runs/"), "each", "--limit", "5", "-o", "wide", "--url", c.base, "--token", c.token)
		if err != nil || strings.Count(out, "success") != 5 || !strings.Contains(out, "no 5") || strings.Contains(out, "no 6") {
			t.Errorf("on the command line: %v\n%s", err, out)
		}
	})
}
