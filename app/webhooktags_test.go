package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestATaggedWebhookIsToldOfJobsThatAreGone has a job run and deleted while the receiver is away.
func TestATaggedWebhookIsToldOfJobsThatAreGone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, withHTTP(o, "127.0.0.1"))
		root := open(t, a).mustLogin()
		admin := caller{t, root.base, makeToken(t, root, url.Values{"name": {"all"}, "scope": {"admin"}, "days": {"7"}})}
		l := newTold(t)
		l.answer(http.StatusServiceUnavailable)
		if got := admin.do("POST", "/webhooks", `{"name":"hub","url":"`+l.server.URL+`","tags":["pay"]}`); got.status != http.StatusCreated {
			t.Fatalf("%d %s", got.status, got.body)
		}
		tagged := func(tags string) func(*jobspec.Job) { return func(j *jobspec.Job) { j.Tags = tags } }
		call := httpcall.Call{URL: "http://" + httpInside + "/"}
		pay, other, left := httpJob(t, a, call, tagged("night,pay")), httpJob(t, a, call, tagged("night")), httpJob(t, a, call, tagged("pay"))
		httpRun(t, a, pay)
		httpRun(t, a, other)
		for _, id := range []int64{pay, other} {
			if got := admin.do("DELETE", fmt.Sprintf("/jobs/%d", id), ""); got.status >= 300 {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		if got := admin.do("PATCH", fmt.Sprintf("/jobs/%d", left), `{"tags":[]}`); got.status >= 300 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		l.answer(http.StatusNoContent)
		for what, n := range map[string]int{"job.created": 2, "run.finished": 1, "job.deleted": 1, "job.updated": 1} {
			l.about(what, n, func(e toldEvent) bool { return e.Type == "punctual."+what })
		}
		l.about("the other job", 0, func(e toldEvent) bool { return e.Subject == "jobs/"+strconv.FormatInt(other, 10) })
	})
}

// TestAWebhookIsToldThatAJobLeavesItsGroup, and of nothing that it does elsewhere.
func TestAWebhookIsToldThatAJobLeavesItsGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		c.token = makeToken(t, open(t, a).mustLogin(), url.Values{"name": {"whole"}, "scope": {"admin"}, "days": {"7"}})
		var here, there, job struct{ ID int64 }
		c.json(201, &here, "POST", "/groups", `{"app_name":"here","title":"Here"}`)
		c.json(201, &there, "POST", "/groups", `{"app_name":"there","title":"There"}`)
		l := newTold(t)
		c.json(201, &struct{}{}, "POST", "/webhooks", fmt.Sprintf(`{"name":"hub","url":%q,"group_ids":[%d]}`, l.server.URL, here.ID))
		c.json(201, &job, "POST", "/jobs", fmt.Sprintf(`{"group_id":%d,"description":"moves","author":"ann","handler":"h","schedule":"NONE"}`, here.ID))
		at := fmt.Sprintf("/jobs/%d", job.ID)
		c.json(200, &struct{}{}, "PATCH", at, fmt.Sprintf(`{"group_id":%d}`, there.ID))
		c.json(200, &struct{}{}, "PATCH", at, `{"retries":3}`)
		c.json(200, &struct{}{}, "PATCH", at, fmt.Sprintf(`{"group_id":%d}`, here.ID))
		c.do("DELETE", at, "")
		for what, n := range map[string]int{"job.created": 1, "job.deleted": 1, "job.updated": 2} {
			l.about(what, n, func(e toldEvent) bool { return e.Type == "punctual."+what })
		}
	})
}
