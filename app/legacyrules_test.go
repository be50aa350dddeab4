package app

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
)

// loggedIn is a starter that is logged in, of the first generation under the old context path.
func loggedIn(t *testing.T, a *App) starter {
	t.Helper()
	s := starter{open(t, a), "/xxl-job-admin"}
	s.must("/login", "content", url.Values{"userName": {"admin"}, "password": {testPassword}})
	return s
}

// refused is call for what has to fail, and why.
func (s starter) refused(path string, form url.Values, why string) {
	s.t.Helper()
	o := s.call(path, form)
	if msg, _ := o["msg"].(string); o["code"] != 500.0 || !strings.Contains(msg, why) {
		s.t.Errorf("%s %v: %v, want %q", path, form, o, why)
	}
}

// TestFormerRefusalsSayWhatToDo goes through what programs send wrong.
func TestFormerRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		s := loggedIn(t, a)
		s.must("/jobgroup/save", "content", url.Values{"appname": {"orders"}, "title": {"orders"}, "addressType": {"0"}})
		id := s.must("/jobinfo/add", "content", jobForm("1", "closeDay")).(string)
		job := func(pairs ...string) url.Values { return with(with(jobForm("1", "closeDay"), "id", id), pairs...) }
		for _, tt := range []struct {
			name, path string
			form       url.Values
			why        string
		}{
			{"no group", "/jobinfo/add", job("jobGroup", "0"), "jobGroup: "},
			{"a group that is none", "/jobinfo/add", job("jobGroup", "x1"), "jobGroup: “x1” is no whole number."},
			{"no such group", "/jobinfo/add", job("jobGroup", "99"), "jobGroup: "},
			{"several faults at once", "/jobinfo/add", job("jobDesc", "", "author", " "), "jobDesc: Fill this in. author: Fill this in."},
			{"a schedule type that is none", "/jobinfo/add", job("scheduleType", "HOURLY"), "scheduleType: "},
			{"a cron text that is none", "/jobinfo/add", job("scheduleConf", "0 0 25 * * ?"), "scheduleConf: "},
			{"a route that is none", "/jobinfo/add", job("executorRouteStrategy", "NEAREST"), "executorRouteStrategy: "},
			{"a block strategy that is none", "/jobinfo/update", job("executorBlockStrategy", "x"), "executorBlockStrategy: "},
			{"a misfire strategy that is none", "/jobinfo/update", job("misfireStrategy", ""), "misfireStrategy: "},
			{"a glue type that is none", "/jobinfo/add", job("glueType", "GLUE_COBOL"), "glueType: "},
			{"a retry count that is none", "/jobinfo/update", job("executorFailRetryCount", "many"), "executorFailRetryCount: "},
			{"a time-out below nothing", "/jobinfo/update", job("executorTimeout", "-5"), "executorTimeout: "},
			{"a time-out beyond everything", "/jobinfo/update", job("executorTimeout", "9223372036854775807"), "executorTimeout: "},
			{"a child that is none", "/jobinfo/update", job("childJobId", "77"), "childJobId: "},
			{"a status that is none", "/jobinfo/add", job("triggerStatus", "2"), "triggerStatus: "},
			{"no id", "/jobinfo/start", url.Values{}, "id: Name exactly one row."},
			{"two ids", "/jobinfo/stop", url.Values{"ids[]": {"1", "2"}}, "ids[]: Name exactly one row."},
			{"two ids in one", "/jobinfo/delete", url.Values{"ids[]": {"1,2"}}, "ids[]: Name exactly one row."},
			{"an id below nothing", "/jobinfo/remove", url.Values{"id": {"-1"}}, "id: “-1” is no whole number."},
			{"a job that is none", "/jobinfo/trigger", url.Values{"id": {"99"}}, "This job does not exist any more, or you may not see it."},
			{"an address that is none", "/jobinfo/trigger", url.Values{"id": {id}, "addressList": {"somewhere"}}, "addressList: "},
			{"an address of nobody's", "/jobinfo/trigger", url.Values{"id": {id}, "addressList": {"http://10.9.8.7:1/"}}, "addressList: "},
			{"a script of a handler", "/jobcode/save", url.Values{"id": {id}, "glueSource": {"x"}, "glueRemark": {"changed"}}, "has no script"},
			{"a cron text to try", "/jobinfo/nextTriggerTime", url.Values{"scheduleType": {"CRON"}, "scheduleConf": {"x"}}, "scheduleConf: "},
			{"a type to try", "/jobinfo/nextTriggerTime", url.Values{"scheduleType": {"?"}, "scheduleConf": {"x"}}, "ONCE"},
			{"a list from nowhere", "/jobinfo/pageList", url.Values{"start": {"-1"}, "length": {"10"}}, "start: "},
			{"a range that is none", "/joblog/pageList", url.Values{"filterTime": {"today"}}, "filterTime: “today” is no range of times"},
			{"a list of runs too far down", "/joblog/pageList", url.Values{"start": {"1000001"}}, "Choose a shorter range of times."},
			{"a group's name", "/jobgroup/save", url.Values{"appname": {"a b"}, "title": {"x"}}, "appname: An app name has 4–64 characters: letters, digits, dots"},
			{"a group's name twice", "/jobgroup/save", url.Values{"appname": {"ORDERS"}, "title": {"x"}}, "appname: "},
			{"a group's title", "/jobgroup/save", url.Values{"appname": {"more"}, "title": {""}}, "title: Fill this in."},
			{"a group's type", "/jobgroup/update", url.Values{"id": {"1"}, "addressType": {"3"}}, "addressType: "},
			{"a group's addresses", "/jobgroup/update", url.Values{"id": {"1"}, "addressType": {"1"}, "addressList": {"ftp://a:1"}}, "addressList: "},
			{"a token of one's own", "/jobgroup/insert", url.Values{"appname": {"more"}, "name": {"x"}, "accessToken": {"default_token"}}, "accessToken: Access tokens are made by Punctual"},
			{"a group with jobs", "/jobgroup/remove", url.Values{"id": {"1"}}, "job still belongs to this executor"},
			{"a user without a password", "/user/add", url.Values{"username": {"bert"}, "role": {"0"}}, "password: Fill this in."},
			{"a user with a short password", "/user/add", url.Values{"username": {"bert"}, "role": {"0"}, "password": {"1234"}}, "password: "},
			{"a user's role", "/user/add", url.Values{"username": {"bert"}, "role": {"7"}, "password": {testPassword}}, "role: "},
			{"a user's groups", "/user/add", url.Values{"username": {"bert"}, "permission": {"1,x"}, "password": {testPassword}}, "permission: “x” is no whole number."},
			{"oneself", "/user/remove", url.Values{"id": {"1"}}, "Nobody changes their own account here"},
			{"a wrong old password", "/user/updatePwd", url.Values{"password": {"another-horse-lamp"}, "oldPassword": {"x"}}, "oldPassword: "},
			{"no old password", "/user/updatePwd", url.Values{"password": {"another-horse-lamp"}}, "oldPassword: "},
			{"a way to clear that is none", "/joblog/clearLog", url.Values{"jobGroup": {"1"}, "type": {"10"}}, "type: "},
			{"a run that is none", "/joblog/logKill", url.Values{"id": {"5"}}, "This run does not exist any more, or you may not see it."},
			{"the output of a run that is none", "/joblog/logDetailCat", url.Values{"logId": {"5"}, "fromLineNum": {"1"}}, "This run does not exist any more, or you may not see it."},
			{"a day that is none", "/chartInfo", url.Values{"startDate": {"2026-13-01 00:00:00"}}, "startDate: "},
			{"too many days", "/chartInfo", url.Values{"startDate": {"1970-01-01 00:00:00"}, "endDate": {"2026-01-01 00:00:00"}}, "must not be longer than"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := starter{&browser{t: t, base: s.base, http: s.http}, s.prefix}
				before := contents(t, a)
				s.refused(tt.path, tt.form, tt.why)
				if diff := cmp.Diff(before, contents(t, a)); diff != "" {
					t.Errorf("it was refused and has changed %s", diff)
				}
			})
		}
		// A schedule without a time to come: the job is there, and somebody is told that it does not run.
		s.refused("/jobinfo/add", with(jobForm("1", "late"), "scheduleConf", "0 0 2 1 1 ? 2020", "triggerStatus", "1"), "was saved but not started: scheduleConf: ")
		// Upstream lets this pass too: the job is never due.
		s.must("/jobinfo/add", "content", with(jobForm("1", "never"), "scheduleType", "NONE", "scheduleConf", "", "triggerStatus", "1"))
		if got := s.do("POST", s.prefix+"/jobinfo/start", url.Values{}, "Accept-Language", "zh-CN"); !strings.Contains(got.body, "请指定") {
			t.Errorf("Chinese was asked for: %s", got.body)
		}
	})
}

// TestFormerLogins are the ways in, and what keeps somebody out.
func TestFormerLogins(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.loginNow = still()
		a := start(t, o)
		right := url.Values{"userName": {"admin"}, "password": {testPassword}}
		list := url.Values{"start": {"0"}, "length": {"10"}}

		s := starter{open(t, a), ""}
		if got := s.post("/login", right); got.body != `{"code":200,"msg":null,"content":null}` || !strings.HasPrefix(got.header.Get("Set-Cookie"), "XXL_JOB_LOGIN_IDENTITY=") {
			t.Errorf("at the root: %d %s", got.status, got.body)
		}
		if o := s.call("/jobgroup/pageList", list); o["recordsTotal"] == nil {
			t.Errorf("after the login: %v", o)
		}
		if got := s.get("/jobs"); got.status != http.StatusSeeOther {
			t.Errorf("the console takes the cookie of a program: %d", got.status)
		}
		// Who is logged in at the console may call as well, and reads are open to GET.
		b := starter{open(t, a).mustLogin(), "/xxl-job-admin"}
		if got := b.get("/xxl-job-admin/jobgroup/pageList?start=0&length=1"); !strings.HasPrefix(got.body, `{"recordsTotal":`) {
			t.Errorf("GET: %s", got.body)
		}
		for _, path := range []string{"/jobinfo/add", "/xxl-job-admin/jobinfo/remove?id=1", "/jobinfo/trigger?id=1", "/xxl-job-admin/joblog/clearLog?type=9&jobGroup=0&jobId=0"} {
			if got := b.get(path); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" || !strings.Contains(got.body, `"code":500`) || !strings.Contains(got.body, "POST only") {
				t.Errorf("GET %s: %d %s", path, got.status, got.body)
			}
		}
		for _, path := range []string{"/xxl-job-admin/login", "/login", "/auth/doLogin", "/jobinfo/pageList", "/xxl-job-admin/jobinfo/remove", "/xxl-job-admin/nothing"} {
			if got := s.do("POST", path, right, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); got.status != http.StatusForbidden || got.header.Get("Set-Cookie") != "" {
				t.Errorf("another site posts to %s: %d %s", path, got.status, got.body)
			}
		}
		if got := s.post("/xxl-job-admin/jobinfo/explode", url.Values{}); got.status != http.StatusNotFound || !strings.Contains(got.body, "There is no /xxl-job-admin/jobinfo/explode here.") {
			t.Errorf("no such endpoint: %d %s", got.status, got.body)
		}

		// Parameters in the query and in a multipart form, as some libraries send them.
		q := starter{open(t, a), "/xxl-job-admin"}
		q.must("/login?"+right.Encode(), "content", nil)
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("appname", "in-parts")
		_ = form.WriteField("title", "parts")
		_ = form.Close()
		req, err := http.NewRequestWithContext(t.Context(), "POST", q.base+"/xxl-job-admin/jobgroup/save", &body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", form.FormDataContentType())
		resp, err := q.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if list := q.call("/jobgroup/pageList", url.Values{"appname": {"in-parts"}}); resp.StatusCode != http.StatusOK || !strings.Contains(fmt.Sprint(list), "in-parts") {
			t.Errorf("multipart: %d, %v", resp.StatusCode, list)
		}

		// The cookie of an XXL-JOB on the same host is nobody's session, and neither is a made-up one.
		for _, value := range []string{"7b226964223a312c22757365726e616d65223a2261646d696e227d", strings.Repeat("A", 52), "x"} {
			for name, path := range map[string]string{"XXL_JOB_LOGIN_IDENTITY": "/toLogin", "xxl_job_login_token": ""} {
				got := open(t, a).do("POST", "/jobinfo/stop", url.Values{"id": {"1"}}, "Cookie", name+"="+value)
				if path != "" && got.header.Get("Location") != path || path == "" && !strings.Contains(got.body, "not login for path:/jobinfo/stop") {
					t.Errorf("%s=%s: %d %s", name, value, got.status, got.body)
				}
			}
		}
		if got := s.get("/toLogin"); got.header.Get("Location") != "/login" {
			t.Errorf("the login page: %d", got.status)
		}

		// Guessing is slowed down, together with that at the console.
		for range 10 {
			s.refused("/auth/doLogin", url.Values{"userName": {"Admin"}, "password": {"guess"}}, "wrong")
		}
		if got := s.post("/xxl-job-admin/login", right); !strings.Contains(got.body, `"code":500`) || got.header.Get("Retry-After") == "" || got.header.Get("Set-Cookie") != "" {
			t.Errorf("too many: %s", got.body)
		}
		if got := open(t, a).login("admin", testPassword); got.status != http.StatusTooManyRequests {
			t.Errorf("too many, at the console: %d", got.status)
		}
	})
}

// TestFormerScripts holds that scripts are kept, and shown to nobody who may not write them.
func TestFormerScripts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		s := loggedIn(t, a)
		s.must("/jobgroup/save", "content", url.Values{"appname": {"orders"}, "title": {"orders"}, "addressType": {"0"}})
		id := s.must("/jobinfo/add", "content", with(jobForm("1", ""), "glueType", "GLUE_SHELL", "glueSource", "echo one\r\n")).(string)
		if got := s.post("/jobs/"+id, nil); got.status == http.StatusOK {
			t.Fatal("the console takes the cookie of a program")
		}
		// What only our jobs have, set at the console, survives an update by upstream's form, and so does the script.
		b := open(t, a).mustLogin()
		page := b.get("/jobs/" + id + "/edit").document(t)
		if got := b.post("/jobs/"+id, form(url.Values{"handler": {""}, "glue": {"GLUE_SHELL"}, "source": {"echo one\n"}, "time_zone": {"Asia/Tokyo"}, "tags": {"payments"},
			"version": {page.Find("input[name=version]").AttrOr("value", "")}})); got.status != http.StatusSeeOther {
			t.Fatalf("at the console: %d", got.status)
		}
		s.must("/jobinfo/update", "content", with(jobForm("1", ""), "id", id, "jobDesc", "renamed", "glueType", "GLUE_SHELL", "glueSource", ""))
		job := func(s starter) object {
			t.Helper()
			return s.call("/jobinfo/pageList", url.Values{"jobDesc": {"renamed"}, "start": {"0"}, "length": {"10"}})["data"].([]any)[0].(object)
		}
		if got := job(s); got["glueSource"] != "echo one\n" || got["glueType"] != "GLUE_SHELL" {
			t.Errorf("after the update: %v", got)
		}
		var zone, tags string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT time_zone, tags FROM xxl_job_info WHERE id = ?", id).Scan(&zone, &tags); err != nil || zone != "Asia/Tokyo" || tags != "payments" {
			t.Errorf("zone %q, tags %q, %v", zone, tags, err)
		}
		for range 2 { // the second time there is nothing to change, which is no fault
			s.must("/jobcode/save", "content", with(url.Values{}, "id", id, "glueSource", "echo two\r\n", "glueRemark", "second text"))
			s.must("/jobinfo/update", "content", with(jobForm("1", ""), "id", id, "jobDesc", "renamed"))
		}
		if got := job(s); got["glueSource"] != "echo two\n" || got["glueRemark"] != "second text" {
			t.Errorf("after saving: %v", got)
		}
		var versions int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_logglue WHERE job_id = ?", id).Scan(&versions); err != nil || versions != 2 {
			t.Errorf("%d versions, %v", versions, err)
		}
		b.post("/users", url.Values{"name": {"viewer"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}})
		v := starter{open(t, a), ""}
		v.must("/login", "content", url.Values{"userName": {"viewer"}, "password": {testPassword}})
		if got := job(v); got["glueSource"] != "" || got["glueRemark"] != "" || got["jobDesc"] != "renamed" {
			t.Errorf("who may not write scripts sees %v", got)
		}
	})
}

// TestFormerUsers goes there and back with upstream's list of groups, which knows no finer rights.
func TestFormerUsers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		s := loggedIn(t, a)
		for _, name := range []string{"orders", "stock", "mail"} {
			s.must("/jobgroup/save", "content", url.Values{"appname": {name}, "title": {name}, "addressType": {"0"}})
		}
		s.must("/user/add", "content", url.Values{"username": {"bert"}, "password": {testPassword}, "role": {"0"}, "permission": {"2,1"}})
		user := func() object {
			t.Helper()
			list := s.call("/user/pageList", url.Values{"username": {"BER"}, "role": {"-1"}, "start": {"0"}, "length": {"10"}})
			if list["recordsTotal"] != 1.0 {
				t.Fatalf("users: %v", list)
			}
			return list["data"].([]any)[0].(object)
		}
		bert := user()
		if diff := cmp.Diff(object{"id": bert["id"], "username": "bert", "password": nil, "role": 0.0, "permission": "1,2"}, bert); diff != "" {
			t.Fatal(diff)
		}
		id := number(bert["id"])
		// At the console: everything in 1, to look at 3, and nothing in 2.
		b := open(t, a).mustLogin()
		if got := b.post("/users/"+id, url.Values{"role": {"user"}, "state": {"active"}, "right": {"1.view", "1.run", "1.schedule", "1.edit", "1.glue", "3.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("at the console: %d", got.status)
		}
		if got := user(); got["permission"] != "1" {
			t.Errorf("permission %v", got["permission"])
		}
		s.must("/user/update", "content", url.Values{"id": {id}, "username": {"bert"}, "password": {""}, "role": {"0"}, "permission": {"1", "2"}})
		rows, err := db.New().ListPermissionsOf(t.Context(), a.pool, int64(bert["id"].(float64)))
		if got := user(); got["permission"] != "1,2" || err != nil || len(rows) != 1 || rows[0].GroupID != 3 {
			t.Errorf("%v, %v, %v", got, rows, err)
		}
		them := starter{open(t, a), ""}
		them.must("/login", "content", url.Values{"userName": {"bert"}, "password": {testPassword}})
		if list := them.call("/jobgroup/pageList", url.Values{"length": {"-1"}}); list["recordsTotal"] != 3.0 {
			t.Errorf("their groups: %v", list)
		}
		s.must("/user/update", "content", url.Values{"id": {id}, "password": {"another-horse-lamp"}})
		if got := them.post("/jobgroup/pageList", url.Values{"start": {"0"}}); got.status != http.StatusFound {
			t.Errorf("with the session of the old password: %d %s", got.status, got.body)
		}
		them.must("/login", "content", url.Values{"userName": {"bert"}, "password": {"another-horse-lamp"}})
		them.must("/user/updatePwd", "content", url.Values{"oldPassword": {"another-horse-lamp"}, "password": {testPassword}})
		s.must("/user/remove", "content", url.Values{"id": {id}})
		if list := s.call("/user/pageList", url.Values{"username": {"bert"}, "start": {"0"}}); list["recordsTotal"] != 0.0 {
			t.Errorf("after the removal: %v", list)
		}

		// Who has left a directory stays so, and comes back by it: this is no administrator's decision.
		gone, err := db.New().InsertUser(t.Context(), a.pool, db.InsertUserParams{Username: "jonas", Password: "-", Provider: "office", IdentityKey: "key"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.New().SetUserDisabled(t.Context(), a.pool, db.SetUserDisabledParams{ID: gone, Disabled: 2}); err != nil {
			t.Fatal(err)
		}
		s.must("/user/update", "content", url.Values{"id": {strconv.FormatInt(gone, 10)}, "username": {"jonas"}, "password": {""}, "role": {"0"}, "permission": {""}})
		if u, err := db.New().GetUser(t.Context(), a.pool, gone); err != nil || u.Disabled != 2 {
			t.Errorf("who left: %d, %v", u.Disabled, err)
		}
	})
}

// TestFormerLogs reads runs by offset, in both generations.
func TestFormerLogs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		s := loggedIn(t, a)
		s.must("/jobgroup/save", "content", url.Values{"appname": {"orders"}, "title": {"orders"}, "addressType": {"0"}})
		job := s.must("/jobinfo/add", "content", jobForm("1", "closeDay")).(string)
		jobID, _ := strconv.ParseInt(job, 10, 64)
		var ids []string
		for i := range 25 {
			handled := []int64{200, 500, 502, 0, 200}[i%5]
			id := oldRun(t, a, 1, jobID, time.Duration(30-i)*time.Hour, 200, handled, func(r *db.NewRun) {
				if r.Message = "a line <b>\n"; handled != 0 { // the executor of one that is open would be asked for it, and be taken for gone
					r.Address = "http://a:1/"
				}
			})
			ids = append([]string{strconv.FormatInt(id, 10)}, ids...)
		}
		oldRun(t, a, 2, 999, time.Hour, 200, 200, nil)
		page := func(form url.Values) (total float64, got []string) {
			t.Helper()
			o := s.call("/joblog/pageList", form)
			for _, row := range o["data"].([]any) {
				got = append(got, number(row.(object)["id"]))
			}
			return o["recordsTotal"].(float64), got
		}
		form := func(pairs ...string) url.Values {
			return with(url.Values{"jobGroup": {"1"}, "jobId": {"0"}, "logStatus": {"-1"}, "filterTime": {""}, "start": {"0"}, "length": {"10"}}, pairs...)
		}
		at := func(ago time.Duration) string { return time.Now().Add(-ago).In(a.pool.Zone()).Format(time.DateTime) }
		for name, tt := range map[string]struct {
			form  url.Values
			total float64
			want  []string
		}{
			"the first page":      {form(), 25, ids[:10]},
			"the last page":       {form("start", "20"), 25, ids[20:]},
			"beyond the end":      {form("start", "30"), 25, nil},
			"far beyond the end":  {form("start", "20000"), 25, nil},
			"of a job":            {form("jobId", job, "start", "5", "length", "3"), 25, ids[5:8]},
			"of no job":           {form("jobId", "12345"), 0, nil},
			"all of them":         {form("length", "-1"), 25, ids},
			"successes":           {form("logStatus", "1", "length", "3"), 10, []string{ids[0], ids[4], ids[5]}},
			"failures":            {form("logStatus", "2", "length", "3"), 10, []string{ids[2], ids[3], ids[7]}},
			"those that run":      {form("logStatus", "3", "length", "3"), 5, []string{ids[1], ids[6], ids[11]}},
			"of a range of times": {form("filterTime", at(9*time.Hour+time.Minute)+" - "+at(7*time.Hour-time.Minute)), 3, ids[1:4]},
			"of a time to come":   {form("filterTime", at(-time.Hour)+" - "+at(-2*time.Hour)), 0, nil},
		} {
			if total, got := page(tt.form); total != tt.total || !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v of %v, want %v of %v", name, got, total, tt.want, tt.total)
			}
		}
		second := s.call("/joblog/pageList", url.Values{"jobGroup": {"1"}, "offset": {"1"}, "pagesize": {"2"}})
		data := second["data"].(object)
		row := data["data"].([]any)[0].(object)
		if data["total"] != 25.0 || data["offset"] != 1.0 || data["pagesize"] != 2.0 || number(row["id"]) != ids[1] || row["triggerMsg"] != "a line <b>\n" {
			t.Errorf("the second generation: %v", second)
		}
		if _, err := time.Parse(time.DateTime, row["triggerTime"].(string)); err != nil || row["handleTime"] != nil {
			t.Errorf("times %v, %v", row["triggerTime"], row["handleTime"])
		}
		s.refused("/joblog/logKill", url.Values{"id": {ids[0]}}, "This run has already ended.")

		days := s.must("/chartInfo", "content", url.Values{"startDate": {"2026-01-01 00:00:00"}, "endDate": {"2026-01-03 23:59:59"}}).(object)
		want := object{"triggerDayList": []any{"2026-01-01", "2026-01-02", "2026-01-03"}, "triggerDayCountRunningList": []any{0.0, 0.0, 0.0}, "triggerDayCountSucList": []any{0.0, 0.0, 0.0},
			"triggerDayCountFailList": []any{0.0, 0.0, 0.0}, "triggerCountRunningTotal": 0.0, "triggerCountSucTotal": 0.0, "triggerCountFailTotal": 0.0}
		if diff := cmp.Diff(want, days); diff != "" {
			t.Errorf("chart: %s", diff)
		}
		if week := s.must("/chartInfo", "content", nil).(object); len(week["triggerDayList"].([]any)) != 7 {
			t.Errorf("chart: %v", week)
		}
		s.must("/joblog/clearLog", "content", url.Values{"jobGroup": {"1"}, "jobId": {job}, "type": {"9"}})
		var asked int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_clearing WHERE job_group = 1 AND job_id = ?", job).Scan(&asked); err != nil || asked != 1 {
			t.Errorf("%d clearings, %v", asked, err)
		}
	})
}

// TestFormerOutput follows a run of the sample executor as a script would.
func TestFormerOutput(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Sample = SampleOn
	a := start(t, o)
	s, b := loggedIn(t, a), open(t, a).mustLogin()
	job := s.call("/jobinfo/pageList", url.Values{"jobDesc": {"Go · greet"}, "start": {"0"}, "length": {"1"}})["data"].([]any)[0].(object)
	s.must("/jobinfo/trigger", "content", url.Values{"id": {number(job["id"])}, "executorParam": {`<b>"Ann"</b>`}, "addressList": {""}})
	run := s.call("/joblog/pageList", url.Values{"jobId": {number(job["id"])}, "start": {"0"}, "length": {"1"}})["data"].([]any)[0].(object)
	b.events("/runs/"+number(run["id"])+"/events?from=1", func(name, _ string) bool { return name == "end" })
	part := s.must("/joblog/logDetailCat", "content", url.Values{"logId": {number(run["id"])}, "fromLineNum": {"1"}}).(object)
	if text, _ := part["logContent"].(string); !strings.Contains(text, "&lt;b&gt;") || !strings.Contains(text, "&quot;") || strings.Contains(text, "<b>") || part["end"] != false || part["fromLineNum"] != 1.0 || len(part) != 4 {
		t.Errorf("output: %v", part)
	}
	rest := s.must("/joblog/logDetailCat", "content", with(url.Values{"logId": {number(run["id"])}}, "fromLineNum", strconv.Itoa(int(part["toLineNum"].(float64))+1))).(object)
	if rest["end"] != true || rest["logContent"] != "" {
		t.Errorf("the end: %v", rest)
	}
	run = s.call("/joblog/pageList", url.Values{"jobId": {number(job["id"])}, "start": {"0"}, "length": {"1"}})["data"].([]any)[0].(object)
	if _, err := time.Parse("2006-01-02T15:04:05.000-07:00", run["handleTime"].(string)); err != nil || run["handleCode"] != 200.0 || run["executorParam"] != `<b>"Ann"</b>` {
		t.Errorf("run: %v, %v", run, err)
	}
	for _, path := range []string{"/actuator/health", "/xxl-job-admin/actuator/health"} {
		if got := b.get(path); got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"status":"UP"}` {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}
