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
