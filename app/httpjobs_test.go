package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// withHTTP are options of an installation that has HTTP jobs.
func withHTTP(o Options, allow string) Options {
	o.HTTPJobs, o.HTTPAllow = SampleOn, allow
	return o
}

// httpJob makes a job with a call.
func httpJob(t *testing.T, a *App, call httpcall.Call, change ...func(*jobspec.Job)) int64 {
	t.Helper()
	groups, err := a.manage.Groups.ByAppName(t.Context(), manage.HTTPAppName)
	if err != nil || len(groups) != 1 {
		t.Fatalf("the groups of HTTP jobs: %v, %v", groups, err)
	}
	j := jobspec.Job{
		Name: "call", Author: "ann", ScheduleType: jobspec.ScheduleNone, Misfire: jobspec.MisfireDoNothing, Route: jobspec.RouteRound,
		Block: wire.BlockSerial, Glue: wire.GlueBean, Handler: httpcall.Handler, Param: call.String(),
	}
	for _, c := range change {
		c(&j)
	}
	id, err := a.manage.Jobs.Create(t.Context(), auth.NewPrincipal(0, "ann", auth.RoleAdmin, ""), manage.JobInput{Job: j, Group: groups[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// httpRun runs a job and waits for its end.
func httpRun(t *testing.T, a *App, jobID int64) db.Run {
	t.Helper()
	j, err := db.New().GetJob(t.Context(), a.pool, jobID)
	if err != nil {
		t.Fatal(err)
	}
	open(t, a).mustLogin().runOnce("/jobs/"+strconv.FormatInt(jobID, 10), url.Values{"param": {string(j.ExecutorParam)}, "addresses": {""}})
	return runEnd(t, a, jobID, func(r db.Run) bool { return r.Outcome != event.Open })
}

// runEnd waits for what becomes of the newest run of a job.
func runEnd(t *testing.T, a *App, jobID int64, is func(db.Run) bool) (r db.Run) {
	t.Helper()
	eventually(t, "the run of job "+strconv.FormatInt(jobID, 10), func() bool {
		var id int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COALESCE(MAX(id), 0) FROM xxl_job_log WHERE job_id = ?", jobID).Scan(&id); err != nil {
			t.Fatal(err)
		}
		if id == 0 {
			return false
		}
		var err error
		if r, err = db.New().GetRun(t.Context(), a.pool, id); err != nil {
			t.Fatal(err)
		}
		return is(r)
	})
	return r
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	executortest.Eventually(t, what, func() error {
		if !is() {
			return executortest.ErrNotYet
		}
		return nil
	})
}

func TestHTTPJobsRunInsideTheAdmin(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body)+" <b>"+r.Header.Get("Authorization")+"</b>")
	}))
	t.Cleanup(site.Close)
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, withHTTP(o, strings.TrimPrefix(site.URL, "http://")))
		well := httpRun(t, a, httpJob(t, a, httpcall.Call{URL: site.URL + "/well", Method: http.MethodPut, Data: "x", Text: "PUT /well x"}))
		if well.Outcome != event.Succeeded || !strings.Contains(string(well.HandleMsg), "HTTP status 200") {
			t.Errorf("a call: %v %q %q", well.Outcome, well.TriggerMsg, well.HandleMsg)
		}
		log, err := a.engine.ReadLog(t.Context(), &well, 1)
		if err != nil || !strings.Contains(log.LogContent, "PUT /well x <b>") {
			t.Errorf("the answer is not kept: %q, %v", log.LogContent, err)
		}
		page := open(t, a).mustLogin().get("/runs/" + strconv.FormatInt(well.ID, 10)).body
		if strings.Contains(page, "<b></b>") {
			t.Error("an answer is drawn as HTML")
		}
		for name, tt := range map[string]struct {
			call httpcall.Call
			says string
		}{
			"another text":       {httpcall.Call{URL: site.URL, Method: "GET", Text: "wonder"}, "lacks the expected text"},
			"another status":     {httpcall.Call{URL: site.URL, Method: "GET", Expected: mustStatuses(t, "204")}, "expected 204"},
			"the admin itself":   {httpcall.Call{URL: a.localURL(a.listener.Addr().String(), "127.0.0.1") + "/healthz", Method: "GET"}, "is not an address that HTTP jobs may call"},
			"a private address":  {httpcall.Call{URL: "http://10.0.0.1/", Method: "GET"}, "is not an address that HTTP jobs may call"},
			"a cloud's metadata": {httpcall.Call{URL: "http://169.254.169.254/latest/meta-data", Method: "GET"}, "is not an address that HTTP jobs may call"},
		} {
			if r := httpRun(t, a, httpJob(t, a, tt.call)); r.Outcome != event.Failed || !strings.Contains(string(r.HandleMsg), tt.says) {
				t.Errorf("%s: %v %q", name, r.Outcome, r.HandleMsg)
			}
		}
	})
}

func mustStatuses(t *testing.T, text string) httpcall.Statuses {
	t.Helper()
	s, err := httpcall.ParseStatuses(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestANewInstallationHasHTTPJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o = unmade(t, o)
		o.HTTPJobs, o.Sample = SampleAuto, SampleOn
		a := start(t, o)
		var id int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_info WHERE job_desc = 'HTTP · hello'").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if r := httpRun(t, a, id); r.Outcome != event.Succeeded {
			t.Errorf("the sample: %v %q", r.Outcome, r.HandleMsg)
		}
		address := a.http.address()
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Listener, o.Sample = testOptions(t).Listener, SampleOff
		a = start(t, o)
		if got := a.http.address(); got == "" || got == address {
			t.Errorf("after a start on another port it is at %q", got)
		}
	})
}

func TestTheExecutorForHTTPJobsAnswersAdminsOnly(t *testing.T) {
	t.Parallel()
	a := start(t, withHTTP(testOptions(t), ""))
	for token, want := range map[string]int{"": wire.CodeFail, "guess": wire.CodeFail, "test-token": wire.CodeSuccess} {
		answer, err := wire.NewExecutorClient(nil).Beat(t.Context(), wire.Target{Address: a.http.address(), Token: token})
		if err != nil || answer.Code != want {
			t.Errorf("with the token %q: %+v, %v", token, answer, err)
		}
	}
}

func TestOfSeveralAdminsEachMakesHTTPCalls(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o = unmade(t, o)
	o.DatabaseURL = dbtest.MariaDB(t)
	a := start(t, withHTTP(o, ""))
	o.Listener, o.DataDir = testOptions(t).Listener, t.TempDir()
	o.HTTPJobs = SampleAuto
	b := start(t, o)
	if b.http.address() == "" || b.http.address() == a.http.address() {
		t.Fatalf("the second is at %q, the first at %q", b.http.address(), a.http.address())
	}
	id := httpJob(t, a, httpcall.Call{URL: "http://" + httpInside + "/", Method: http.MethodGet})
	eventually(t, "both know both", func() bool {
		groups, _ := a.manage.Groups.ByAppName(t.Context(), manage.HTTPAppName)
		return len(a.engine.Addresses(groups[0].ID)) == 2 && len(b.engine.Addresses(groups[0].ID)) == 2
	})
	for name, c := range map[string]struct{ at, other *App }{"the first": {a, b}, "the second": {b, a}} {
		r := httpRun(t, c.at, id)
		if r.Outcome != event.Succeeded || string(r.ExecutorAddress) != c.at.http.address() && string(r.ExecutorAddress) != c.other.http.address() {
			t.Errorf("%s: %v at %q, %q", name, r.Outcome, r.ExecutorAddress, r.HandleMsg)
		}
		log, err := c.other.engine.ReadLog(t.Context(), &r, 1)
		if err != nil || !strings.Contains(log.LogContent, "from inside Punctual") {
			t.Errorf("%s: the other reads %q, %v", name, log.LogContent, err)
		}
	}
}

func TestAJobOfTheHTTPGroupIsACall(t *testing.T) {
	t.Parallel()
	a := start(t, withHTTP(testOptions(t), ""))
	groups, err := a.manage.Groups.ByAppName(t.Context(), manage.HTTPAppName)
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	b := open(t, a).mustLogin()
	form := url.Values{
		"name": {"n"}, "author": {"a"}, "group": {strconv.FormatInt(groups[0].ID, 10)}, "schedule_type": {"NONE"}, "misfire": {"DO_NOTHING"},
		"glue": {"BEAN"}, "handler": {httpcall.Handler}, "route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "timeout": {"0"}, "retries": {"0"},
	}
	for param, field := range map[string]string{"": "param", "{": "param", `{"url":"ftp://x/"}`: "param", `{"url":"http://x/","headers":{"a b":"c"}}`: "param", `{"url":"https://x/","timeout":9999999}`: "param"} {
		form.Set("param", param)
		doc := b.post("/jobs", form).document(t)
		if doc.Find("#"+field+"-error").Length() != 1 {
			t.Errorf("%q is taken: %s", param, doc.Find(".error").Text())
		}
	}
	form.Set("param", `{"url":"https://x/"}`)
	form.Set("handler", "demoJobHandler")
	if b.post("/jobs", form).document(t).Find("#handler-error").Length() != 1 {
		t.Error("another handler is taken")
	}
}

// A kill ends the call itself, also where another admin is asked for it.
func TestAKillEndsAnHTTPCall(t *testing.T) {
	t.Parallel()
	called, left := make(chan struct{}, 2), make(chan struct{}, 2)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}))
	t.Cleanup(site.Close)
	o := testOptions(t)
	o.DatabaseURL = dbtest.MariaDB(t)
	a := start(t, withHTTP(o, strings.TrimPrefix(site.URL, "http://")))
	o.Listener, o.DataDir = testOptions(t).Listener, t.TempDir()
	b := start(t, withHTTP(o, strings.TrimPrefix(site.URL, "http://")))
	t.Cleanup(site.CloseClientConnections) // nothing waits for a call that was not ended
	id := httpJob(t, a, httpcall.Call{URL: site.URL, Method: http.MethodGet, Timeout: 3_600_000})
	job := "/jobs/" + strconv.FormatInt(id, 10)
	call := httpcall.Call{URL: site.URL, Method: http.MethodGet, Timeout: 3_600_000}.String()
	for _, elsewhere := range []bool{false, true} {
		open(t, a).mustLogin().runOnce(job, url.Values{"param": {call}, "addresses": {""}})
		eventually(t, "the call", func() bool { return len(called) > 0 })
		<-called
		r := runEnd(t, a, id, func(r db.Run) bool { return r.ExecutorAddress != "" })
		by := a
		if (string(r.ExecutorAddress) == a.http.address()) == elsewhere {
			by = b
		}
		if got := open(t, by).mustLogin().post("/runs/"+strconv.FormatInt(r.ID, 10)+"/kill", url.Values{}); got.status != http.StatusSeeOther {
			t.Fatalf("elsewhere %v: %d %s", elsewhere, got.status, got.document(t).Find(".notice").Text())
		}
		eventually(t, "its end", func() bool { return len(left) > 0 })
		<-left
		if r = runEnd(t, a, id, func(r db.Run) bool { return r.Outcome != event.Open }); r.Outcome != event.Killed {
			t.Errorf("elsewhere %v: %v %q", elsewhere, r.Outcome, r.HandleMsg)
		}
	}
}
