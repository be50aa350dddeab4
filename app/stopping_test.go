package app

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
)

// TestAnAdminThatIsStoppingSaysToTryAgain asks for what needs the engine while it drains, and when it has ended and the
// listener has not: the times of a stop. Each kind of program is answered 503 in the shape that it parses; executors, which
// take any status but 200 for a broken connection, are answered what makes them come again.
func TestAnAdminThatIsStoppingSaysToTryAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		x := executortest.NewStub(t) // takes the run that is to be ended
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_group SET address_list = ? WHERE id = ?", x.URL, groups["orders"]); err != nil {
			t.Fatal(err)
		}
		if err := a.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		id := *orders.must("addJob", `{"jobGroup":`+strconv.FormatInt(groups["orders"], 10)+`,"name":"pay","author":"ann","scheduleType":"CRON","scheduleConf":"0 0 3 * * ?","executorHandler":"wait"}`).Data
		program := open(t, a)
		api := func(method, body string) answer {
			t.Helper()
			return program.raw("POST", "/api/"+method, strings.NewReader(body), wire.HeaderToken, orders.token)
		}
		signIn := func(path string) *browser {
			t.Helper()
			b := open(t, a)
			if got := b.post(path, url.Values{"userName": {"admin"}, "password": {testPassword}}); got.status != http.StatusOK || !strings.Contains(got.body, `"code":200`) {
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
			return b
		}
		first, second := signIn("/xxl-job-admin/login"), signIn("/auth/doLogin")
		form := url.Values{"id": {id}, "executorParam": {""}, "addressList": {""}}
		if got := second.post("/jobinfo/trigger", form); !strings.Contains(got.body, `"code":200`) {
			t.Fatalf("trigger: %s", got.body)
		}
		x.WaitFor(t, "run", func() bool { return len(x.Runs()) > 0 })
		run := x.Runs()[0].LogID
		text := locales.New().Printer(locales.English).T(problem.Stopping)
		refused := func(phase string) {
			t.Helper()
			wantTryAgain(t, phase+", job API", api("triggerJob", `{"id":`+id+`}`), object{"code": 500.0, "msg": text, "data": nil, "content": nil})
			wantTryAgain(t, phase+", first generation", first.post("/xxl-job-admin/jobinfo/trigger", form), object{"code": 500.0, "msg": text, "content": nil})
			wantTryAgain(t, phase+", second generation", second.post("/jobinfo/trigger", form), object{"code": 500.0, "msg": text, "data": nil, "success": false})
		}

		if err := a.engine.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused("draining")
		// What does not need the engine is done to the last.
		for _, method := range []string{"startJob", "stopJob"} {
			if got := api(method, `{"id":`+id+`}`); got.status != http.StatusOK || !strings.Contains(got.body, `"code":200`) {
				t.Errorf("%s: %d %s", method, got.status, got.body)
			}
		}
		if err := a.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused("stopped")
		kill := url.Values{"id": {strconv.FormatInt(run, 10)}}
		wantTryAgain(t, "kill", first.post("/xxl-job-admin/joblog/logKill", kill), object{"code": 500.0, "msg": text, "content": nil})
		if got := api("callback", `[{"logId":`+strconv.FormatInt(run, 10)+`,"logDateTim":0,"handleCode":200,"handleMsg":""}]`); got.status != http.StatusOK || !strings.Contains(got.body, `"code":500`) {
			t.Errorf("a result is answered %d %s, and nobody has taken it", got.status, got.body)
		}
	})
}

func wantTryAgain(t *testing.T, who string, got answer, want object) {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(got.body), &o); err != nil {
		t.Errorf("%s: %d %s: %v", who, got.status, got.body, err)
		return
	}
	if diff := cmp.Diff(want, o); diff != "" || got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("%s: status %d, Retry-After %q, body %s", who, got.status, got.header.Get("Retry-After"), diff)
	}
}
