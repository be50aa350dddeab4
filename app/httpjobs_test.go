package app

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		log, err := a.engine.Outputs().Read(t.Context(), &well, 1)
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
		log, err := c.other.engine.Outputs().Read(t.Context(), &r, 1)
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
	for param, field := range map[string]string{"": "param", "{": "param", `{"url":"ftp://x/"}`: "param", `{"url":"http://x/","headers":{"a b":"c"}}`: "param", `{"url":"https://x/","timeout":9999999}`: "param", `{"url":"https://x/","expected_status":"204"}`: "param"} {
		form.Set("param", param)
		doc := b.post("/jobs", form).document(t)
		if doc.Find("#"+field+"-error").Length() != 1 {
			t.Errorf("%q is taken: %s", param, doc.Find(".error").Text())
		}
		if said := doc.Find("#param-error").Text(); strings.Contains(param, "expected_status") && (!strings.Contains(said, "“expected_status”") || !strings.Contains(said, ", expectedStatus,")) {
			t.Errorf("of a field that there is not it says %q", said)
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

// TestAFlowOfHTTPJobsNeedsNoOtherGroup makes a flow where HTTP jobs are, in the form that a browser sends with the fields of a call, runs it,
// and makes one of a chain of HTTP jobs.
func TestAFlowOfHTTPJobsNeedsNoOtherGroup(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(site.Close)
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, withHTTP(o, strings.TrimPrefix(site.URL, "http://")))
		last := httpJob(t, a, httpcall.Call{URL: site.URL, Method: "GET"})
		first := httpJob(t, a, httpcall.Call{URL: site.URL, Method: "GET"}, func(j *jobspec.Job) { j.ChildJobIDs = strconv.FormatInt(last, 10) })
		groups, err := a.manage.Groups.ByAppName(t.Context(), manage.HTTPAppName)
		if err != nil || len(groups) != 1 {
			t.Fatal(groups, err)
		}
		source := "steps:\n  - id: first\n    job: " + strconv.FormatInt(last, 10) + "\n"
		b := open(t, a).mustLogin()
		got := b.post("/jobs", form(url.Values{
			"name": {"all calls"}, "group": {strconv.FormatInt(groups[0].ID, 10)}, "schedule_type": {"NONE"}, "glue": {string(jobspec.GlueFlow)}, "source": {source},
			"handler": {""}, "call_as": {"fields"}, "call_url": {""}, "call_method": {"POST"},
		}))
		if got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		if r := httpRun(t, a, first+1); r.Outcome != event.Succeeded {
			t.Errorf("its run: %v %q", r.Outcome, r.HandleMsg)
		}
		seen := formOf(b.get("/jobs/" + strconv.FormatInt(first+1, 10) + "/edit").document(t))
		if seen.Get("glue") != string(jobspec.GlueFlow) || seen.Get("source") != source {
			t.Fatalf("the form shows %v", seen)
		}
		seen.Set("name", "all the calls")
		if got := b.post("/jobs/"+strconv.FormatInt(first+1, 10), seen); got.status != http.StatusSeeOther {
			t.Errorf("save: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		if got := b.post("/jobs/"+strconv.FormatInt(first, 10)+"/chain", formOf(b.get("/jobs/"+strconv.FormatInt(first, 10)+"/chain").document(t))); got.status != http.StatusSeeOther {
			t.Errorf("of a chain: %d %s", got.status, got.document(t).Find(".notice, .error").Text())
		}
		if doc := b.post("/jobs", form(url.Values{"group": {strconv.FormatInt(groups[0].ID, 10)}, "glue": {string(wire.GlueShell)}, "source": {"date"}})).document(t); doc.Find("#glue-error").Length() != 1 {
			t.Errorf("a script: %s", doc.Find(".error").Text())
		}
	})
}

// TestACallIsTypedInFields makes a job of fields, sees them again when it is edited, and changes one; what the fields cannot hold stays the
// text that it is.
func TestACallIsTypedInFields(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, withHTTP(o, ""))
		groups, err := a.manage.Groups.ByAppName(t.Context(), manage.HTTPAppName)
		if err != nil || len(groups) != 1 {
			t.Fatal(groups, err)
		}
		b := open(t, a).mustLogin()
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		others, err := a.manage.Groups.ByAppName(t.Context(), "orders")
		if err != nil || len(others) != 1 {
			t.Fatal(others, err)
		}
		group := strconv.FormatInt(groups[0].ID, 10)
		call := func(change url.Values) url.Values {
			f := form(url.Values{
				"name": {"close the day"}, "group": {group}, "handler": {""}, "call_as": {"fields"}, "call_url": {" https://billing.example.com/close "}, "call_method": {"PUT"},
				"call_headers": {"X-Tenant: eu\r\n\r\n x-trace :  a:b \r\n"}, "call_auth": {"Bearer ${{ secrets.TOKEN }}"}, "call_body": {"{\"day\": 1}\r\nend"},
				"call_expected": {"200, 3xx"}, "call_text": {"closed"}, "call_timeout": {"9000"}, "call_type": {"text/plain"},
			})
			maps.Copy(f, change)
			return f
		}
		if got := b.post("/jobs", call(nil)); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		stored := func(id int64) (db.Job, httpcall.Call) {
			t.Helper()
			j, err := db.New().GetJob(t.Context(), a.pool, id)
			if err != nil {
				t.Fatal(err)
			}
			c, err := httpcall.Check(string(j.ExecutorParam))
			if err != nil && j.JobGroup == groups[0].ID {
				t.Fatalf("%s: %v", j.ExecutorParam, err)
			}
			return j, c
		}
		j, got := stored(1)
		want := httpcall.Call{
			URL: "https://billing.example.com/close", Method: "PUT", Headers: map[string]string{"X-Tenant": "eu", "x-trace": "a:b"}, Auth: "Bearer ${{ secrets.TOKEN }}",
			ContentType: "text/plain", Data: "{\"day\": 1}\nend", Text: "closed", Timeout: 9000, Expected: mustStatuses(t, "200,300-399"),
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b httpcall.Statuses) bool { return a.String() == b.String() })); diff != "" || j.ExecutorHandler != httpcall.Handler {
			t.Errorf("%s: %s", j.ExecutorHandler, diff)
		}

		seen := formOf(b.get("/jobs/1/edit").document(t))
		if seen.Get("call_as") != "fields" || seen.Get("call_url") != want.URL || seen.Get("call_headers") != "X-Tenant: eu\nx-trace: a:b" || seen.Get("call_body") != string(want.Data) || seen.Get("call_method") != "PUT" || seen.Get("call_timeout") != "9000" {
			t.Errorf("the form shows %v", seen)
		}
		seen.Set("call_text", "")
		seen.Set("call_method", "GET")
		if got := b.post("/jobs/1", seen); got.status != http.StatusSeeOther {
			t.Fatalf("save: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		want.Text, want.Method = "", "GET"
		if _, got := stored(1); got.Text != "" || got.Method != "GET" || string(got.Data) != string(want.Data) || got.Headers["x-trace"] != "a:b" {
			t.Errorf("changed to %+v", got)
		}

		// What is wrong is said at its field, and what was typed stays.
		for _, c := range []struct{ field, value string }{
			{"call_url", "ftp://x/"}, {"call_url", ""}, {"call_headers", "no colon"}, {"call_headers", "a b: c"}, {"call_expected", "9xx"}, {"call_timeout", "soon"}, {"call_timeout", "9999999999"}, {"call_method", "BREW"},
			{"call_body", strings.Repeat("z", 70_000)}, {"call_auth", "Bearer " + strings.Repeat("z", 70_000)},
		} {
			doc := b.post("/jobs", call(url.Values{c.field: {c.value}})).document(t)
			kept := formOf(doc)
			if doc.Find("#"+c.field+"-error").Length() != 1 || kept.Get("call_body") == "" || c.field != "call_method" && kept.Get(c.field) != c.value {
				t.Errorf("%s=%q: %q, kept %q", c.field, c.value, doc.Find(".error").Text(), kept.Get(c.field))
			}
		}
		if doc := b.post("/jobs", call(url.Values{"call_async": {"1"}, "timeout": {"0"}})).document(t); doc.Find("#timeout-error").Length() != 1 {
			t.Errorf("an asynchronous call without a time limit: %s", doc.Find(".error").Text())
		}

		// A call with cookies is a text, and is stored as it is.
		cookies := `{"url":"https://x.example/","cookies":{"a":"b"}}`
		if got := b.post("/jobs", call(url.Values{"call_as": {"text"}, "param": {cookies}})); got.status != http.StatusSeeOther {
			t.Fatalf("as a text: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		if j, _ := stored(2); string(j.ExecutorParam) != cookies {
			t.Errorf("stored: %s", j.ExecutorParam)
		}
		for _, param := range []string{cookies, `{"url":"https://x.example/","form":{"a":"b"}}`, `{"url":"https://x.example/","mine":1}`, `{"url":"https://x.example/","data":"--a\r\nb"}`, `{"url":"https://x.example/"} {}`, `{"url":"https://x.example/","headers":{"a":"b\r\nc"}}`, `{`} {
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET executor_param = ? WHERE id = 2", param); err != nil {
				t.Fatal(err)
			}
			if seen := formOf(b.get("/jobs/2/edit").document(t)); seen.Get("call_as") != "text" || seen.Get("param") != param {
				t.Errorf("%s is shown as %s: %s", param, seen.Get("call_as"), seen.Get("param"))
			}
		}

		// The fields are nothing to a job of another group.
		if got := b.post("/jobs", call(url.Values{"group": {strconv.FormatInt(others[0].ID, 10)}, "handler": {"demo"}, "param": {"7"}})); got.status != http.StatusSeeOther {
			t.Fatalf("another group: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		if j, _ := stored(3); j.ExecutorHandler != "demo" || string(j.ExecutorParam) != "7" {
			t.Errorf("a job of another group: %s %s", j.ExecutorHandler, j.ExecutorParam)
		}
	})
}

// TestAnHTTPJobRunsWhereItIsSaid: the executor inside an admin stands behind the admin's own port, at which otherwise no executor is called.
func TestAnHTTPJobRunsWhereItIsSaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, withHTTP(o, "127.0.0.1"))
		job := httpJob(t, a, httpcall.Call{URL: "http://" + httpInside + "/"})
		b := open(t, a).mustLogin()
		path := "/jobs/" + strconv.FormatInt(job, 10)
		b.runOnce(path, url.Values{"param": {httpcall.Call{URL: "http://" + httpInside + "/"}.String()}, "addresses": {a.http.address()}})
		if r := runEnd(t, a, job, func(r db.Run) bool { return r.Outcome != event.Open }); r.Outcome != event.Succeeded || string(r.ExecutorAddress) != a.http.address() {
			t.Errorf("%v at %s: %s", r.Outcome, r.ExecutorAddress, r.TriggerMsg)
		}
		for _, address := range []string{a.ownURL() + "/", strings.Replace(a.http.address(), httpPath, "/other", 1)} {
			if got := b.post(path+"/run", url.Values{"addresses": {address}}); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d", address, got.status)
			}
		}
	})
}
