package app

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/legacy"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/errorpage"
	"github.com/punctual-job/punctual/views/layout"
)

// object is a JSON answer.
type object = map[string]any

// starter is a program that was written for XXL-JOB's console.
type starter struct {
	*browser
	prefix string
}

// call posts a form and reads the answer, which is JSON with status 200 whatever it says.
func (s starter) call(path string, form url.Values) object {
	s.t.Helper()
	got := s.post(s.prefix+path, form)
	if got.status != http.StatusOK && got.status != http.StatusForbidden || !strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
		s.t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return s.read(path, got.body)
}

func (s starter) read(path, body string) object {
	s.t.Helper()
	var o object
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		s.t.Fatalf("%s: %s: %v", path, body, err)
	}
	return o
}

// must is call for what has to succeed; it returns the member with the result.
func (s starter) must(path, member string, form url.Values) any {
	s.t.Helper()
	o := s.call(path, form)
	content, has := o[member]
	members := 3
	if member == "data" {
		members = 4 // and success
	}
	if o["code"] != 200.0 || !has || len(o) != members || member == "data" && o["success"] != true {
		s.t.Fatalf("%s: %v", path, o)
	}
	return content
}

// jobForm is what a starter posts for a job. It has no retries, which would add runs while a test counts them.
func jobForm(group, handler string) url.Values {
	return url.Values{
		"jobGroup": {group}, "jobDesc": {"close the day"}, "author": {"ann"}, "alarmEmail": {""}, "scheduleType": {"CRON"}, "scheduleConf": {"0 0 2 * * ?"},
		"misfireStrategy": {"DO_NOTHING"}, "executorRouteStrategy": {"ROUND"}, "executorHandler": {handler}, "executorParam": {"eu"},
		"executorBlockStrategy": {"SERIAL_EXECUTION"}, "executorTimeout": {"30"}, "executorFailRetryCount": {"0"}, "glueType": {"BEAN"}, "glueSource": {""},
		"glueRemark": {"GLUE代码初始化"}, "childJobId": {""}, "triggerStatus": {"0"}, "cronGen_display": {"0 0 2 * * ?"}, "schedule_conf_CRON": {"0 0 2 * * ?"},
	}
}

func with(form url.Values, pairs ...string) url.Values {
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

func number(v any) string { return strconv.FormatFloat(v.(float64), 'f', -1, 64) }

// TestAStarterOfTheFirstGeneration plays what programs do that register their executor and jobs at an XXL-JOB of 2.3 to 3.1.
func TestAStarterOfTheFirstGeneration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		s := starter{open(t, a), "/xxl-job-admin"}
		got := s.post(s.prefix+"/login", url.Values{"userName": {"admin"}, "password": {testPassword}})
		cookie := got.header.Get("Set-Cookie")
		if got.body != `{"code":200,"msg":null,"content":null}` || !regexp.MustCompile(`^XXL_JOB_LOGIN_IDENTITY=[A-Z2-7]{52}; Path=/; HttpOnly; SameSite=Lax$`).MatchString(cookie) {
			t.Fatalf("login: %s, %s", got.body, cookie)
		}
		find := func(form url.Values) object {
			t.Helper()
			return s.call("/jobgroup/pageList", form)
		}
		if list := find(url.Values{"appname": {"order_Service"}, "title": {"orders"}}); list["recordsTotal"] != 0.0 || list["recordsFiltered"] != 0.0 || len(list["data"].([]any)) != 0 {
			t.Fatalf("before: %v", list)
		}
		if c := s.must("/jobgroup/save", "content", url.Values{"appname": {"order_Service"}, "title": {"orders"}, "addressType": {"1"}, "addressList": {"http://a:9999,http://b:9999"}}); c != nil {
			t.Errorf("save: %v", c)
		}
		list := find(url.Values{"appname": {"order"}, "start": {"0"}, "length": {"5"}})
		group := list["data"].([]any)[0].(object)
		want := object{"id": group["id"], "appname": "order_Service", "title": "orders", "addressType": 1.0, "addressList": "http://a:9999/,http://b:9999/",
			"updateTime": group["updateTime"], "registryList": []any{"http://a:9999/", "http://b:9999/"}}
		if diff := cmp.Diff(want, group); diff != "" || list["recordsTotal"] != 1.0 || len(list) != 3 {
			t.Fatalf("group: %s", diff)
		}
		if at, err := time.Parse("2006-01-02T15:04:05.000-07:00", group["updateTime"].(string)); err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("update time %v: %v", group["updateTime"], err)
		}
		groupID := number(group["id"])

		byHandler := url.Values{"jobGroup": {groupID}, "executorHandler": {"closeDay"}, "triggerStatus": {"-1"}, "start": {"0"}, "length": {"10"}, "jobDesc": {""}, "author": {""}}
		if list := s.call("/jobinfo/pageList", byHandler); list["recordsTotal"] != 0.0 {
			t.Fatalf("jobs before: %v", list)
		}
		id := s.must("/jobinfo/add", "content", jobForm(groupID, "closeDay")).(string)
		if _, err := strconv.Atoi(id); err != nil {
			t.Fatalf("add: %q", id)
		}
		jobs := s.call("/jobinfo/pageList", byHandler)
		job := jobs["data"].([]any)[0].(object)
		want = object{
			"id": job["id"], "jobGroup": group["id"], "jobDesc": "close the day", "addTime": job["addTime"], "updateTime": job["updateTime"], "author": "ann", "alarmEmail": "",
			"scheduleType": "CRON", "scheduleConf": "0 0 2 * * ?", "misfireStrategy": "DO_NOTHING", "executorRouteStrategy": "ROUND", "executorHandler": "closeDay",
			"executorParam": "eu", "executorBlockStrategy": "SERIAL_EXECUTION", "executorTimeout": 30.0, "executorFailRetryCount": 0.0, "glueType": "BEAN",
			"glueSource": "", "glueRemark": "GLUE代码初始化", "glueUpdatetime": job["glueUpdatetime"], "childJobId": "", "triggerStatus": 0.0, "triggerLastTime": 0.0, "triggerNextTime": 0.0,
		}
		if diff := cmp.Diff(want, job); diff != "" || number(job["id"]) != id {
			t.Fatalf("job: %s", diff)
		}
		if list := s.call("/jobinfo/pageList", with(url.Values{}, "jobGroup", groupID, "jobDesc", id)); list["recordsTotal"] != 0.0 {
			t.Errorf("a description that is an id found %v", list)
		}

		s.must("/jobinfo/start", "content", url.Values{"id": {id}})
		job = s.call("/jobinfo/pageList", byHandler)["data"].([]any)[0].(object)
		if job["triggerStatus"] != 1.0 || job["triggerNextTime"].(float64) <= float64(time.Now().UnixMilli()) {
			t.Errorf("after start: %v", job)
		}
		// An update sends everything, and a script perhaps less.
		s.must("/jobinfo/update", "content", with(jobForm(groupID, "closeDay"), "id", id, "executorParam", "us", "glueType", "GLUE_SHELL"))
		s.must("/jobinfo/update", "content", url.Values{"id": {id}, "scheduleConf": {"0 30 2 * * ?"}})
		job = s.call("/jobinfo/pageList", byHandler)["data"].([]any)[0].(object)
		if job["executorParam"] != "us" || job["scheduleConf"] != "0 30 2 * * ?" || job["glueType"] != "BEAN" || job["triggerStatus"] != 1.0 || job["executorTimeout"] != 30.0 {
			t.Errorf("after update: %v", job)
		}
		if c := s.must("/jobinfo/trigger", "content", url.Values{"id": {id}, "executorParam": {"now"}, "addressList": {""}}); c != nil {
			t.Errorf("trigger: %v", c)
		}
		logs := s.call("/joblog/pageList", url.Values{"jobGroup": {groupID}, "jobId": {id}, "logStatus": {"-1"}, "start": {"0"}, "length": {"10"},
			"filterTime": {time.Now().Add(-48*time.Hour).Format(time.DateTime) + " - " + time.Now().Add(48*time.Hour).Format(time.DateTime)}})
		run := logs["data"].([]any)[0].(object)
		if logs["recordsTotal"] != 1.0 || number(run["jobId"]) != id || run["executorParam"] != "now" || len(run) != 15 {
			t.Errorf("logs: %v", logs)
		}
		times := s.must("/jobinfo/nextTriggerTime", "content", url.Values{"scheduleType": {"CRON"}, "scheduleConf": {"0 0 3 1 1 ?"}}).([]any)
		if len(times) != 5 || !strings.HasSuffix(times[4].(string), "-01-01 03:00:00") {
			t.Errorf("next times: %v", times)
		}
		if list := s.must("/joblog/getJobsByGroup", "content", url.Values{"jobGroup": {groupID}}).([]any); len(list) != 1 {
			t.Errorf("jobs of the group: %v", list)
		}
		s.must("/jobinfo/stop", "content", url.Values{"id": {id}})
		started := s.must("/jobinfo/add", "content", with(jobForm(groupID, "second"), "triggerStatus", "1")).(string)
		job = s.call("/jobinfo/pageList", with(byHandler, "executorHandler", "second", "triggerStatus", "1"))["data"].([]any)[0].(object)
		if number(job["id"]) != started {
			t.Errorf("a job that was added as started: %v", job)
		}
		for _, id := range []string{id, started} {
			s.must("/jobinfo/remove", "content", url.Values{"id": {id}})
		}
		s.must("/jobgroup/save", "content", url.Values{"appname": {"another"}, "title": {"another"}, "addressType": {"0"}})
		s.must("/jobgroup/remove", "content", url.Values{"id": {groupID}})
		s.must("/logout", "content", url.Values{})
		if got := s.post(s.prefix+"/jobinfo/pageList", byHandler); got.status != http.StatusFound || got.header.Get("Location") != "/xxl-job-admin/toLogin" {
			t.Errorf("after the logout: %d %s", got.status, got.body)
		}
	})
}

// TestAStarterOfTheSecondGeneration is the same at an XXL-JOB of 3.3 to 3.5, whose context path is the root.
func TestAStarterOfTheSecondGeneration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		s := starter{open(t, a), ""}
		got := s.post("/auth/doLogin", url.Values{"userName": {"admin"}, "password": {testPassword}, "ifRemember": {"on"}})
		if got.body != `{"code":200,"msg":"Success","data":null,"success":true}` ||
			!regexp.MustCompile(`^xxl_job_login_token=[A-Z2-7]{52}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax$`).MatchString(got.header.Get("Set-Cookie")) {
			t.Fatalf("login: %s, %s", got.body, got.header.Get("Set-Cookie"))
		}
		s.must("/jobgroup/insert", "data", url.Values{"appname": {"orders"}, "name": {"orders of 3.5"}, "addressType": {"0"}, "accessToken": {a.Token()}})
		data := s.must("/jobgroup/pageList", "data", url.Values{"appname": {"orders"}, "name": {""}, "offset": {"0"}, "pagesize": {"10"}}).(object)
		if data["total"] != 1.0 || len(data) != 4 {
			t.Fatalf("groups: %v", data)
		}
		group := data["data"].([]any)[0].(object)
		want := object{"id": group["id"], "appname": "orders", "name": "orders of 3.5", "addressType": 0.0, "addressList": nil, "updateTime": group["updateTime"], "registryList": nil,
			"accessToken": "********"}
		if diff := cmp.Diff(want, group); diff != "" {
			t.Fatalf("group: %s", diff)
		}
		if _, err := time.Parse(time.DateTime, group["updateTime"].(string)); err != nil {
			t.Errorf("update time %v", group["updateTime"])
		}
		groupID := number(group["id"])
		form := with(jobForm(groupID, "closeDay"), "name", "close the day")
		form.Del("jobDesc")
		id := s.must("/jobinfo/insert", "data", form).(string)
		s.must("/jobinfo/start", "data", url.Values{"ids[]": {id}})
		s.call("/jobinfo/trigger", url.Values{"id": {id}, "executorParam": {""}, "addressList": {""}})
		data = s.must("/jobinfo/pageList", "data", url.Values{"jobGroup": {groupID}, "triggerStatus": {"1"}, "jobDesc": {"day"}, "executorHandler": {""}, "author": {""},
			"offset": {"0"}, "pagesize": {"10"}}).(object)
		job := data["data"].([]any)[0].(object)
		if number(job["id"]) != id || job["jobDesc"] != "close the day" || job["name"] != nil || data["total"] != 1.0 {
			t.Errorf("jobs: %v", data)
		}
		data = s.must("/joblog/pageList", "data", url.Values{"jobGroup": {groupID}, "jobId": {"0"}, "logStatus": {"-1"}, "filterTime": {""}, "offset": {"0"}, "pagesize": {"10"}}).(object)
		if data["total"] != 1.0 || data["data"].([]any)[0].(object)["executorParam"] != "" {
			t.Errorf("logs: %v", data)
		}
		// Of these nothing tells the generation, so that the answer is in both members.
		if o := s.call("/jobgroup/loadById", url.Values{"id": {groupID}}); o["success"] != true || o["data"].(object)["title"] != "orders of 3.5" || o["data"].(object)["name"] != "orders of 3.5" {
			t.Errorf("group: %v", o)
		}
		s.must("/jobinfo/stop", "data", url.Values{"ids[]": {id}})
		s.must("/jobinfo/delete", "data", url.Values{"ids[]": {id}})
		s.must("/jobgroup/insert", "data", url.Values{"appname": {"another"}, "title": {"another"}, "addressType": {"0"}})
		s.must("/jobgroup/delete", "data", url.Values{"ids[]": {groupID}})
		s.must("/auth/updatePwd", "data", url.Values{"oldPassword": {testPassword}, "password": {"another-horse-lamp"}})
		s.call("/auth/logout", url.Values{})
		if o := s.call("/jobinfo/pageList", url.Values{"offset": {"0"}}); o["code"] != 500.0 || !strings.Contains(o["msg"].(string), "not login for path:/jobinfo/pageList") {
			t.Errorf("after the logout: %v", o)
		}
	})
}

// forbiddenText is how these endpoints say that somebody lacks a right; callers that ask for no language get the installation's.
var forbiddenText = errorpage.Line(errorpage.Page{Page: layout.Page{Printer: locales.New().Printer(locales.English)}, Status: http.StatusForbidden})

// formerForm is a form of XXL-JOB's console about somebody's things.
func formerForm(path string, o objects) url.Values {
	id := o.job
	switch {
	case strings.HasPrefix(path, "/joblog/"):
		id = o.run
	case strings.HasPrefix(path, "/jobgroup/"):
		id = o.group
	case strings.HasPrefix(path, "/user/"):
		id = o.user
	}
	form := with(jobForm(strconv.FormatInt(o.group, 10), "x"), "id", strconv.FormatInt(id, 10), "logId", strconv.FormatInt(o.run, 10), "type", "4", "jobId", strconv.FormatInt(o.job, 10),
		"glueSource", "changed", "glueRemark", "changed it", "appname", "taken-over", "title", "x", "addressType", "0",
		"username", "intruder", "password", "a-new-lamp-otter", "role", "1", "permission", "1,2")
	form.Del("triggerStatus")
	return form
}

// refusedFormerly looks at the refusal of such an endpoint.
func (p person) refusedFormerly(t *testing.T, what string, got answer) {
	t.Helper()
	if p.name == "" && got.status == http.StatusFound && got.header.Get("Location") == "/toLogin" {
		return
	}
	var body struct {
		Code int
		Msg  string
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != http.StatusOK && got.status != http.StatusForbidden || body.Code != 500 {
		t.Errorf("%s: %d %s, %v", what, got.status, got.body, err)
		return
	}
	switch {
	case p.name == "" && strings.Contains(body.Msg, "not login for path:/"):
	case p.name != "" && body.Msg == forbiddenText && got.status == http.StatusForbidden:
	case p.name != "" && strings.HasSuffix(body.Msg, " does not exist any more, or you may not see it."): // so they hear of what they may not see
	case p.name != "" && (strings.HasPrefix(body.Msg, "jobGroup: ") || strings.Contains(what, "jobcode/save")): // no such group; no right to write scripts
	default:
		t.Errorf("%s: %s", what, got.body)
	}
}

// TestFormerEndpointsAreUnderBothPaths proves that what is tested under one path holds under the other.
func TestFormerEndpointsAreUnderBothPaths(t *testing.T) {
	t.Parallel()
	routes := start(t, testOptions(t)).Routes()
	for route := range formerNeeds {
		method, path, _ := strings.Cut(route, " ")
		if !slices.Contains(routes, route) || !slices.Contains(routes, method+" "+legacy.Prefix+path) {
			t.Errorf("%s is not under both paths", route)
		}
	}
	for _, route := range []string{"POST /xxl-job-admin/login", "POST /xxl-job-admin/logout"} {
		if !slices.Contains(routes, route) {
			t.Errorf("%s is not there", route)
		}
	}
}
