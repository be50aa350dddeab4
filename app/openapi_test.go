package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// program is what calls the job methods with a token.
type program struct {
	t     *testing.T
	base  string
	token string
}

type said struct {
	Code    int     `json:"code"`
	Msg     string  `json:"msg"`
	Data    *string `json:"data"`
	Content *string `json:"content"`
}

func (p program) call(method, body string) said {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), "POST", p.base+"/xxl-job-admin/api/"+method, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set(wire.HeaderToken, p.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	var s said
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %d %s %v", method, resp.StatusCode, raw, err)
	}
	return s
}

// must wants success.
func (p program) must(method, body string) said {
	p.t.Helper()
	s := p.call(method, body)
	if s.Code != wire.CodeSuccess {
		p.t.Fatalf("%s %s: %+v", method, body, s)
	}
	return s
}

// refused wants a failure whose message names something.
func (p program) refused(method, body, names string) {
	p.t.Helper()
	if s := p.call(method, body); s.Code != wire.CodeFail || !strings.Contains(s.Msg, names) {
		p.t.Errorf("%s %s: %+v, want a refusal that names %q", method, body, s, names)
	}
}

// programs starts an app with the groups "orders" and "stock" and gives both a token of their own.
func programs(t *testing.T, o Options) (a *App, orders, stock program, groups map[string]int64) {
	a = start(t, o)
	groups = make(map[string]int64)
	for _, name := range []string{"orders", "stock"} {
		id, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: name, Title: name, AddressType: 1, AddressList: "http://127.0.0.1:1/"})
		if err != nil {
			t.Fatal(err)
		}
		groups[name] = id
	}
	as := func(name string) program {
		if err := db.New().SetGroupOptions(t.Context(), a.pool, db.SetGroupOptionsParams{AppName: name, TokenManages: 1}); err != nil {
			t.Fatal(err)
		}
		token, err := a.tokens.Rotate(t.Context(), name, 0)
		if err != nil {
			t.Fatal(err)
		}
		return program{t, a.Welcome().URL, token}
	}
	return a, as("orders"), as("stock"), groups
}

func TestProgramsLookAfterTheJobsOfTheirGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, stock, groups := programs(t, o)
		read := func(id int64) db.Job {
			t.Helper()
			j, err := db.New().GetJob(t.Context(), a.pool, id)
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		// The whole of what upstream's client sends, with the number of the group.
		added := orders.must("addJob", `{"jobGroup":`+strconv.FormatInt(groups["orders"], 10)+`,"name":"pay","author":"ann","alarmEmail":"a@example.com","scheduleType":"CRON",
			"scheduleConf":"0 0 3 * * ?","misfireStrategy":"DO_NOTHING","executorRouteStrategy":"ROUND","executorHandler":"pay","executorParam":"x=1",
			"executorBlockStrategy":"SERIAL_EXECUTION","executorTimeout":30,"executorFailRetryCount":"2","glueType":"BEAN","glueSource":null,"glueRemark":null}`)
		if added.Data == nil || added.Content == nil || *added.Data != *added.Content {
			t.Fatalf("addJob: %+v, want the id for both shapes of answers", added)
		}
		id, err := strconv.ParseInt(*added.Data, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if j := read(id); j.JobDesc != "pay" || j.ExecutorTimeout != 30 || j.ExecutorFailRetryCount != 2 || j.TriggerStatus != 0 || j.JobGroup != groups["orders"] {
			t.Errorf("added: %+v", j)
		}
		// A child, and an option that only Punctual has: a later update must not take them away.
		child := orders.must("addJob", `{"name":"receipt","author":"ann","executorHandler":"receipt"}`)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET child_jobid = ?, time_zone = 'UTC' WHERE id = ?", *child.Data, id); err != nil {
			t.Fatal(err)
		}
		ref := `{"id":` + strconv.FormatInt(id, 10)
		orders.must("updateJob", ref+`,"name":"pay at night","scheduleConf":"0 0 4 * * ?"}`)
		if j := read(id); j.JobDesc != "pay at night" || j.ScheduleConf != "0 0 4 * * ?" || j.ExecutorParam != "x=1" || string(j.ChildJobIDs) != *child.Data || j.TimeZone != "UTC" {
			t.Errorf("updated: %+v", j)
		}
		orders.must("startJob", ref+`}`)
		if j := read(id); j.TriggerStatus != 1 || j.TriggerNextTime == 0 {
			t.Errorf("started: %+v", j)
		}
		orders.must("stopJob", ref+`}`)
		if j := read(id); j.TriggerStatus != 0 {
			t.Errorf("stopped: %+v", j)
		}
		orders.must("updateJob", ref+`,"executorParamFixed":true}`)
		orders.refused("triggerJob", ref+`,"executorParam":"another"}`, "executorParam")
		orders.must("updateJob", ref+`,"executorParamFixed":false}`)
		orders.must("triggerJob", ref+`,"executorParam":"by program"}`)
		runs, err := db.New().ListRunsByID(t.Context(), a.pool, []int64{1, 2, 3})
		if err != nil || len(runs) == 0 || runs[0].TriggerType != "API" { // it may have a retry already
			t.Errorf("runs: %+v %v", runs, err)
		}
		entries, err := a.pool.QueryContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE user_name = 'openapi'")
		if err != nil {
			t.Fatal(err)
		}
		defer entries.Close()
		var n int
		if entries.Next() {
			err = entries.Scan(&n)
		}
		if err != nil || n != 8 {
			t.Errorf("%d entries in the audit log (%v), want one for each deed", n, err)
		}

		// Another group's token gets nowhere, nor does the executors' common one.
		common := program{t, orders.base, o.AccessToken}
		for method, body := range map[string]string{
			"updateJob": ref + `,"name":"mine"}`, "startJob": ref + `}`, "stopJob": ref + `}`, "triggerJob": ref + `}`, "removeJob": ref + `}`,
			"addJob": `{"jobGroup":` + strconv.FormatInt(groups["orders"], 10) + `,"name":"x","author":"x","executorHandler":"x"}`,
		} {
			if method != "removeJob" { // a job that they may not see is gone already, for all they are told
				stock.refused(method, body, "")
			}
			common.refused(method, body, "own access token")
		}
		if j := read(id); j.JobDesc != "pay at night" || j.TriggerStatus != 0 {
			t.Errorf("another group's token changed the job: %+v", j)
		}

		orders.must("removeJob", ref+`}`)
		orders.must("removeJob", ref+`}`) // as upstream: what is not there is removed
		if _, err := db.New().GetJob(t.Context(), a.pool, id); err == nil {
			t.Error("the job is still there")
		}
	})
}

func TestJobMethodsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, orders, _, _ := programs(t, testOptions(t))
	for _, tt := range []struct{ method, body, names string }{
		{"addJob", `{"author":"a","executorHandler":"h"}`, "name:"},
		{"addJob", `{"name":"n","author":"a","executorHandler":"h","scheduleType":"CRON","scheduleConf":"every day"}`, "scheduleConf:"},
		{"addJob", `{"name":"n","author":"a","executorHandler":"h","scheduleType":"CRON","scheduleConf":null}`, "scheduleConf:"},
		{"addJob", `{"name":"n","author":"a","executorHandler":"h","scheduleType":"NEVER"}`, "scheduleType:"},
		{"addJob", `{"name":"n","author":"a","executorHandler":null}`, "executorHandler:"},
		{"addJob", `{"name":"n","author":"a","executorHandler":"h","executorTimeout":-5}`, "executorTimeout:"},
		{"addJob", `{"name":"n","author":"a","executorHandler":"h","executorFailRetryCount":99999999999999}`, "executorFailRetryCount:"},
		{"addJob", `{"name":"n","author":"a","executorHandler":"h","jobGroup":999}`, "jobGroup:"},
		{"addJob", `{"name":"n","executorTimeout":"soon"}`, "soon is not an integer"},
		{"addJob", `[]`, "not the JSON of a job"},
		{"startJob", `{"id":99}`, "job"},
		{"startJob", `{}`, "job"},
		{"triggerJob", `{"id":99}`, "job"},
		{"updateJob", `{"id":99}`, "job"},
		{"fireJob", `{"id":99}`, "not found"},
	} {
		orders.refused(tt.method, tt.body, tt.names)
	}
}

// What only Punctual's jobs have is taken too, where it used to be dropped with a success.
func TestJobMethodsTakeWhatXXLJobDoesNotHave(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, _ := programs(t, o)
		made := orders.must("addJob", `{"name":"pay","author":"x","executorHandler":"pay","scheduleType":"CRON","scheduleConf":"0 0 2 * * ?","timeZone":"Asia/Shanghai","tags":["night","pay"],
			"retryBackoff":"10s,1m","maxConcurrent":2,"notBefore":"2026-01-01T00:00:00+08:00","retentionDays":"7","triggerStatus":1}`)
		ref := `{"id":` + *made.Data
		orders.must("updateJob", ref+`,"retryBackoff":"20s","tags":"day"}`)
		var got [6]string
		err := a.pool.QueryRowContext(t.Context(), "SELECT time_zone, tags, retry_backoff, max_concurrent, start_at, retention_days FROM xxl_job_info WHERE id = "+*made.Data).
			Scan(&got[0], &got[1], &got[2], &got[3], &got[4], &got[5])
		if want := [6]string{"Asia/Shanghai", "day", "20s", "2", "1767196800000", "7"}; err != nil || got != want {
			t.Errorf("%q, want %q, %v", got, want, err)
		}
		orders.refused("updateJob", ref+`,"timeZone":"Nowhere"}`, "timeZone")
		for _, method := range []string{"addJob", "updateJob", "removeJob", "startJob", "stopJob", "triggerJob"} {
			orders.refused(method, ref+`,"timezone_":"UTC","tag":"day"}`, "tag, timezone_: a job has no such field")
		}
		orders.refused("updateJob", ref+`,"notBefore":"tomorrow"}`, "notBefore")
		orders.refused("updateJob", ref+`,"misfireLast":5}`, "misfireLast:")
		orders.refused("updateJob", ref+`,"calendarRule":"DAYS_OFF"}`, "calendarRule:")
		orders.refused("addJob", `{"name":"n","author":"x","executorHandler":"pay","misfireWithinSeconds":60}`, "misfireWithinSeconds:")
		orders.must("updateJob", ref+`,"misfireStrategy":"FIRE_LAST","misfireLast":5}`)
		orders.must("updateJob", ref+`,"misfireStrategy":"DO_NOTHING"}`)
		run := orders.must("triggerJob", ref+`}`)
		if run.Data == nil {
			t.Fatal("triggerJob does not say which run it made")
		}
		var of string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT job_id FROM xxl_job_log WHERE id = "+*run.Data).Scan(&of); err != nil || of != *made.Data {
			t.Errorf("run %s is of job %s, %v", *run.Data, of, err)
		}
	})
}

// TestSlashesTooManyAreOne in what executors and old programs make of the address of their admin, as with XXL-JOB's own.
func TestSlashesTooManyAreOne(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	b := open(t, a)
	for _, path := range []string{"//api/registry", "/xxl-job-admin//api/registry", "//xxl-job-admin/api///registry"} {
		got := b.raw("POST", path, strings.NewReader(`{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"http://10.0.0.7:9999/"}`), wire.HeaderToken, "test-token")
		if got.status != http.StatusOK || !strings.Contains(got.body, `"code":200`) || got.header.Get("X-Request-Id") != "" {
			t.Errorf("%s: %d %v %.200s", path, got.status, got.header, got.body)
		}
	}
	for _, path := range []string{"//xxl-job-admin/login", "/xxl-job-admin//login", "//login"} {
		if got := b.post(path, url.Values{"userName": {"admin"}, "password": {testPassword}}); got.status != http.StatusOK || !strings.Contains(got.body, `"code":200`) {
			t.Errorf("%s: %d %.200s", path, got.status, got.body)
		}
	}
	if got := open(t, a).mustLogin().get("//evil.example/jobs"); got.status != http.StatusNotFound || got.header.Get("Location") != "" {
		t.Errorf("another host in place of a path: %d %v", got.status, got.header)
	}
}
