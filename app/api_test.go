package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// apiCaller is a program with an administrator's token, and a group with the number 1.
func apiCaller(t *testing.T, o Options) (*App, *caller) {
	t.Helper()
	a := start(t, o)
	root := open(t, a).mustLogin()
	c := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, root, url.Values{"name": {"all"}, "scope": {"admin"}, "days": {"7"}})}
	var group struct{ ID int }
	if c.json(201, &group, "POST", "/groups", `{"app_name":"orders","title":"Orders","type":"manual","addresses":["http://127.0.0.1:1/"]}`); group.ID != 1 {
		t.Fatalf("the first group is %d", group.ID)
	}
	return a, c
}

// refusal is a problem document.
type refusal struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct{ In, Field, Detail, Code, Pointer string }
}

// fields are what a problem says about which field.
func (r refusal) fields() (list []string) {
	for _, e := range r.Errors {
		list = append(list, e.In+" "+e.Field+" "+e.Code)
	}
	return list
}

func TestAJobIsCreatedChangedAndDeletedByAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		type job = map[string]any
		var made job
		got := c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"close the day","author":"ann","schedule":"CRON","cron":"0 0 2 * * ?","time_zone":"Asia/Shanghai",
			"handler":"closeDay","tags":["night","007"],"retries":2,"retry_backoff":"10s,1m","not_before":"2026-01-01T00:00:00+08:00","alarm_email":["ops@example.com"],"parameter_fixed":true}`)
		at := fmt.Sprintf("/jobs/%.0f", made["id"])
		if got.header.Get("Location") != "/api/v1"+at || got.header.Get("ETag") == "" || made["state"] != "stopped" {
			t.Errorf("created: %v %v", got.header, made)
		}
		want := job{"time_zone": "Asia/Shanghai", "cron": "0 0 2 * * ?", "tags": []any{"night", "007"}, "retries": 2.0, "not_before": "2025-12-31T16:00:00Z", "not_after": nil,
			"alarm_email": []any{"ops@example.com"}, "parameter_fixed": true, "misfire": "DO_NOTHING", "children": []any{}, "script_omitted": false}
		for name, value := range want {
			if diff := cmp.Diff(value, made[name]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		for _, f := range jobspec.Fields { // nothing of a definition is left out, but for the other schedules' fields and a script
			if _, ok := made[f.File]; !ok && !strings.HasPrefix(f.File, "script") && f.File != "every_seconds" && f.File != "at" {
				t.Errorf("%s is not told", f.File)
			}
		}

		var started job
		c.json(200, &started, "POST", at+"/start", "")
		if started["state"] != "running" || started["next_due_at"] == nil {
			t.Errorf("started: %v", started)
		}
		var stopped job
		c.json(200, &stopped, "POST", at+"/stop", "")

		// A patch changes what it names; null is what a new job has.
		var patched job
		after := c.json(200, &patched, "PATCH", at, `{"description":"close it","tags":null,"schedule":"FIX_RATE","every_seconds":60}`, "If-Match", got.header.Get("ETag"))
		if patched["description"] != "close it" || patched["author"] != "ann" || len(patched["tags"].([]any)) != 0 || patched["every_seconds"] != 60.0 || patched["cron"] != nil {
			t.Errorf("patched: %v", patched)
		}
		// Who read it before changes nothing.
		for _, method := range []string{"PATCH", "PUT", "DELETE"} {
			body := `{"group_id":1,"description":"late","author":"ann","handler":"h"}`
			if method == "DELETE" {
				body = ""
			}
			var r refusal
			c.json(412, &r, method, at, body, "If-Match", got.header.Get("ETag"))
			if r.Code != "changed" || r.Type != "about:blank" || r.Status != 412 {
				t.Errorf("%s of a version that is gone: %+v", method, r)
			}
		}
		var replaced job
		c.json(200, &replaced, "PUT", at, `{"group_id":1,"description":"anew","author":"bob","handler":"h"}`, "If-Match", after.header.Get("ETag"))
		if replaced["schedule"] != "NONE" || replaced["retries"] != 0.0 || replaced["time_zone"] != "" {
			t.Errorf("replaced: %v", replaced)
		}
		var dry, gone struct {
			Done    bool
			Parents []string
		}
		c.json(200, &dry, "DELETE", at+"?dry_run=true", "")
		c.json(200, &replaced, "GET", at, "")
		c.json(200, &gone, "DELETE", at, "")
		if dry.Done || !gone.Done || dry.Parents == nil {
			t.Errorf("dry %+v, done %+v", dry, gone)
		}
		if again := c.do("GET", at, ""); again.status != 404 {
			t.Errorf("deleted: %d", again.status)
		}
		var by string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(user_name) FROM punctual_audit WHERE object_kind = 'job' AND action = 'delete'").Scan(&by); err != nil || by != "admin via token all" {
			t.Errorf("the audit log says %q, %v", by, err)
		}
	})
}

func TestTheAPISaysWhichFieldIsWrong(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		for _, tt := range []struct {
			name, method, path, body string
			status                   int
			code                     string
			fields                   []string
		}{
			{"no JSON", "POST", "/jobs", `{"a`, 400, "json", nil},
			{"no body", "POST", "/jobs", ``, 400, "body_required", nil},
			{"null in place of a body", "POST", "/jobs", `null`, 400, "body_required", nil},
			{"null in place of one that may be left out", "POST", "/jobs/999999/trigger", `null`, 404, "job.gone", nil},
			{"what is as long", "POST", "/jobs/999999/trigger", `true`, 422, "invalid", []string{"body  error.object"}},
			{"a field that there is not", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","timeZone":"UTC"}`, 422, "invalid", []string{"body timeZone error.unexpected"}},
			{"in other letters", "POST", "/jobs", `{"group_id":1,"Description":"d","description":"d","author":"a","handler":"h"}`, 422, "invalid", []string{"body Description error.unexpected"}},
			{"what is missing", "POST", "/jobs", `{"group_id":1,"author":"a"}`, 422, "invalid", []string{"body description job.error.required"}},
			{"of another type", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","retries":"2"}`, 422, "invalid", []string{"body retries error.integer"}},
			{"what the console refuses", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","schedule":"CRON","cron":"x","time_zone":"Nowhere"}`, 422, "invalid",
				[]string{"body cron cron.error.field_count", "body time_zone job.error.zone"}},
			{"a field of another schedule", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","schedule":"FIX_RATE","every_seconds":5,"cron":"0 0 2 * * ?"}`, 422, "invalid",
				[]string{"body cron import.error.schedule"}},
			{"the number of another misfire strategy", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","misfire_last":3,"misfire_within_seconds":60,"misfire":"FIRE_WITHIN"}`, 422, "invalid",
				[]string{"body misfire_last job.error.strategy"}},
			{"the rule of no calendar", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","calendar_rule":"WORKDAYS"}`, 422, "invalid", []string{"body calendar_rule job.error.nocalendar"}},
			{"what no form can show", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","parameter":"a\u0000b","tags":["x\ny"]}`, 422, "invalid",
				[]string{"body tags job.error.characters", "body parameter job.error.text"}},
			{"a group that is not there", "POST", "/jobs", `{"group_id":99,"description":"d","author":"a","handler":"h"}`, 422, "invalid", []string{"body group_id job.error.group"}},
			{"a parameter that there is not", "GET", "/jobs?page=2", "", 422, "invalid", []string{"query page error.parameter"}},
			{"one with a percent sign", "GET", "/jobs?text=100%", "", 422, "invalid", []string{"query text error.escape"}},
			{"a dry run with a semicolon", "DELETE", "/jobs/1?dry_run=true;", "", 422, "invalid", []string{"query dry_run error.escape"}},
			{"one that cannot be read", "GET", "/jobs?limit=x", "", 422, "invalid", []string{"query limit error.integer"}},
			{"a time that cannot be read", "GET", "/runs?since=x", "", 422, "invalid", []string{"query since error.datetime"}},
			{"a number of a job that cannot be read", "GET", "/jobs/x", "", 422, "invalid", []string{"path id error.integer"}},
			{"what is true or false", "DELETE", "/jobs/1?dry_run=x", "", 422, "invalid", []string{"query dry_run error.boolean"}},
			{"a time to wait", "GET", "/runs/1?wait=2m", "", 422, "invalid", []string{"query wait error.wait"}},
			{"a time to look", "GET", "/runs?text=x&look=11s", "", 422, "invalid", []string{"query look error.look"}},
			{"an action that is none", "GET", "/audit?action=updated", "", 422, "invalid", []string{"query action error.choice"}},
			{"a kind of thing that is none", "GET", "/audit?object_kind=jobs", "", 422, "invalid", []string{"query object_kind error.choice"}},
			{"no time to look", "GET", "/audit?look=0s", "", 422, "invalid", []string{"query look error.look"}},
			{"a time of day", "POST", "/alarms/channels", `{"name":"a","kind":"webhook","quiet_from":"25:00"}`, 422, "invalid", []string{"body quiet_from error.clock"}},
			{"a cursor of somebody's own", "GET", "/runs?cursor=x", "", 422, "invalid", []string{"query cursor error.cursor"}},
			{"a text that is not there", "GET", "/runs/search?job_id=1", "", 422, "invalid", []string{"query text job.error.required"}},
			{"a time that ends before it begins", "GET", "/timeline?from=2026-03-02T00:00:00Z&until=2026-03-01T00:00:00Z", "", 422, "invalid", []string{"query until timeline.order"}},
			{"a time that is too long", "GET", "/timeline?from=2026-01-02T00:00:00Z&until=2026-03-01T00:00:00Z", "", 422, "invalid", []string{"query from timeline.long"}},
			{"members that there are not", "POST", "/teams", `{"name":"day","member_ids":[1,999,998]}`, 422, "invalid", []string{"body member_ids team.error.member", "body member_ids team.error.member"}},
			{"a cursor of another order", "GET", "/jobs?cursor=zzz", "", 422, "invalid", []string{"query cursor error.cursor"}},
			{"a parameter twice", "GET", "/jobs?limit=1&limit=2", "", 422, "invalid", []string{"query limit error.twice"}},
			{"a field twice", "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","author":"b"}`, 400, "invalid", []string{"body author error.twice"}},
			{"no text", "POST", "/jobs", "{\"group_id\":1,\"description\":\"\xff\",\"author\":\"a\",\"handler\":\"h\"}", 400, "json", nil},
			{"a time without its value", "GET", "/runs?since=", "", 422, "invalid", []string{"query since error.empty"}},
			{"a choice without its value", "GET", "/runs?result=", "", 422, "invalid", []string{"query result error.empty"}},
			{"a group beyond all numbers", "POST", "/jobs", `{"group_id":9223372036854775808,"description":"d","author":"a","handler":"h"}`, 422, "invalid", []string{"body group_id error.maximum"}},
			{"too many at once", "GET", "/jobs?limit=501", "", 422, "invalid", []string{"query limit error.maximum"}},
			{"nothing here", "GET", "/nothing", "", 404, "not_found", nil},
			{"not in that way", "PUT", "/jobs", "{}", 405, "method_not_allowed", nil},
			{"a job that is not there", "GET", "/jobs/999999", "", 404, "job.gone", nil},
		} {
			var r refusal
			got := c.json(tt.status, &r, tt.method, tt.path, tt.body)
			if r.Code != tt.code || r.Title == "" || r.Detail == "" || strings.Contains(got.body, "!") || got.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %+v %s", tt.name, r, got.header)
			}
			if diff := cmp.Diff(tt.fields, r.fields()); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
		}
		var r refusal
		got := c.json(422, &r, "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","retries":"2"}`, "Accept-Language", "zh-CN")
		if r.Errors[0].Detail != "请使用整数。" || got.header.Get("Content-Language") != "zh-CN" {
			t.Errorf("in Chinese: %+v %v", r, got.header)
		}
		if got := c.do("DELETE", "/jobs", ""); got.header.Get("Allow") != "GET, HEAD, POST" {
			t.Errorf("methods: %v", got.header)
		}
	})
}

func TestListsOfTheAPIAreReadWithACursor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		var want []float64
		for i := range 5 {
			var made struct{ ID float64 }
			c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"page %d","author":"a","handler":"h","tags":["t"]}`, i))
			want = append([]float64{made.ID}, want...)
		}
		for _, filter := range []string{"text=page", "tag=t&group_id=1", "author=a&state=stopped", "handler=h"} {
			var ids []float64
			for cursor := ""; ; {
				var list struct {
					Items []struct{ ID float64 }
					Next  string
				}
				c.json(200, &list, "GET", "/jobs?limit=2&"+filter+cursor, "")
				for _, j := range list.Items {
					ids = append(ids, j.ID)
				}
				if list.Next == "" {
					break
				}
				cursor = "&cursor=" + list.Next
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Errorf("%s: %s", filter, diff)
			}
		}
	})
}

// TestAListIsLookedForAsLongAsItsCallerSays and no longer than some milliseconds for one that says nothing (manage.TestASearchThatTakesLong…
// makes it take longer).
func TestAListIsLookedForAsLongAsItsCallerSays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		for _, path := range []string{"/runs?state=lost", "/runs?text=nothing&look=2s", "/runs?text=nothing&look=10s", "/audit?text=nothing&look=1s"} {
			var list map[string]any
			c.json(200, &list, "GET", path, "")
			if diff := cmp.Diff(map[string]any{"items": []any{}}, list); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
		}
	})
}

// TestAKeyIsKeptOfWhatWasDone and could not be read for the answer: a repeat does not do it again. Of what was refused none is kept.
func TestAKeyIsKeptOfWhatWasDone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		// Somebody deletes the job before it is read.
		gone := "CREATE TRIGGER gone AFTER INSERT ON punctual_audit FOR EACH ROW DELETE FROM xxl_job_info WHERE job_desc = 'short-lived' AND NEW.object_kind = 'job'"
		if a.pool.Dialect() == db.SQLite {
			gone = "CREATE TRIGGER gone AFTER INSERT ON punctual_audit BEGIN DELETE FROM xxl_job_info WHERE job_desc = 'short-lived' AND NEW.object_kind = 'job'; END"
		}
		if _, err := a.pool.ExecContext(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		const body = `{"group_id":1,"description":"short-lived","author":"a","handler":"h"}`
		var r refusal
		c.json(404, &r, "POST", "/jobs", body, "Idempotency-Key", "k")
		for range 2 {
			if c.json(409, &r, "POST", "/jobs", body, "Idempotency-Key", "k"); r.Code != "once.done" {
				t.Errorf("a repeat of what was done: %+v", r)
			}
		}
		n := 0
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE object_kind = 'job' AND object_name = 'short-lived'").Scan(&n); err != nil || n != 1 {
			t.Errorf("the job was made %d times, %v", n, err)
		}
	})
}

// TestAKeyOfARequestThatWasCutOff: who sends a request and loses the connection at any moment of it sends it again with its key, and it is done
// once and answered.
func TestAKeyOfARequestThatWasCutOff(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		const requests = 40
		name := func(i int) string {
			return fmt.Sprintf(`{"group_id":1,"description":"cut %d","author":"a","handler":"h"}`, i)
		}
		for i := range requests {
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			body := name(i)
			fmt.Fprintf(conn, "POST /api/v1/jobs HTTP/1.1\r\nHost: punctual\r\nAuthorization: Bearer %s\r\nIdempotency-Key: cut-%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.token, i, len(body), body)
			for range i * 100 { // so that they end at other moments
				runtime.Gosched()
			}
			conn.Close()
		}
		for i := range requests {
			eventually(t, "the first is done", func() bool {
				got := c.do("POST", "/jobs", name(i), "Idempotency-Key", fmt.Sprintf("cut-%d", i))
				if got.status == http.StatusConflict && got.header.Get("Retry-After") == "" {
					t.Fatalf("cut %d: when to ask again is not said: %s", i, got.body)
				}
				return got.status == http.StatusCreated
			})
		}
		n := 0
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_info WHERE job_desc LIKE 'cut %'").Scan(&n); err != nil || n != requests {
			t.Errorf("%d jobs were made, %v", n, err)
		}
	})
}

func TestARequestWithAKeyIsDoneOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		const body = `{"group_id":1,"description":"once","author":"a","handler":"h"}`
		var first, second struct{ ID float64 }
		one := c.json(201, &first, "POST", "/jobs", body, "Idempotency-Key", "k1")
		two := c.json(201, &second, "POST", "/jobs", body, "Idempotency-Key", "k1")
		if first.ID != second.ID || two.header.Get("Idempotent-Replayed") != "true" || one.header.Get("Idempotent-Replayed") != "" || one.header.Get("ETag") != two.header.Get("ETag") {
			t.Errorf("%v and %v: %v", first, second, two.header)
		}
		var r refusal
		c.json(409, &r, "POST", "/jobs", strings.Replace(body, "once", "twice", 1), "Idempotency-Key", "k1")
		if r.Code != "once.other" {
			t.Errorf("another request with the key: %+v", r)
		}
		// A refusal is not kept.
		at := fmt.Sprintf("/jobs/%.0f/trigger", first.ID)
		c.json(422, &r, "POST", at, `{"addresses":["nonsense"]}`, "Idempotency-Key", "k2")
		var runs, again struct{ Runs []float64 }
		c.json(201, &runs, "POST", at, `{"parameter":"p"}`, "Idempotency-Key", "k2")
		c.json(201, &again, "POST", at, `{"parameter":"p"}`, "Idempotency-Key", "k2")
		if len(runs.Runs) != 1 || again.Runs[0] != runs.Runs[0] {
			t.Errorf("runs %v and %v", runs, again)
		}
		// An admin that ends before it answers leaves the key without one.
		for madeAt, code := range map[int64]string{time.Now().UnixMilli(): "once.running", time.Now().Add(-time.Hour).UnixMilli(): "once.unknown"} {
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_idempotency SET answer = '', made_at = ?", madeAt); err != nil {
				t.Fatal(err)
			}
			if c.json(409, &r, "POST", "/jobs", body, "Idempotency-Key", "k1"); r.Code != code {
				t.Errorf("no answer is kept: %+v, want %s", r, code)
			}
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_idempotency SET made_at = 1"); err != nil {
			t.Fatal(err)
		}
		if err := a.api.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.json(201, &second, "POST", "/jobs", body, "Idempotency-Key", "k1")
		if second.ID == first.ID {
			t.Error("a key is known for ever")
		}
	})
}

func TestGroupsAreLookedAfterByAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		type group struct {
			ID           int
			AppName      string `json:"app_name"`
			Title, Type  string
			Addresses    []string
			ScriptReview bool `json:"script_review"`
		}
		var made, patched group
		got := c.json(201, &made, "POST", "/groups", `{"app_name":"stock","title":"Stock","type":"manual","addresses":["http://10.0.0.1:9999/"],"script_review":true}`)
		at := strings.TrimPrefix(got.header.Get("Location"), "/api/v1")
		c.json(200, &patched, "PATCH", at, `{"title":"Stocks"}`, "If-Match", got.header.Get("ETag"))
		made.Title = "Stocks"
		if diff := cmp.Diff(made, patched); diff != "" {
			t.Error(diff)
		}
		var r refusal
		c.json(412, &r, "DELETE", at, "", "If-Match", got.header.Get("ETag"))
		c.json(422, &r, "PUT", at, `{"app_name":"stock","title":"Stock","type":"manual"}`, "If-Match", "*")
		if diff := cmp.Diff([]string{"body addresses job.error.required"}, r.fields()); diff != "" {
			t.Error(diff)
		}
		var list struct{ Items []group }
		c.json(200, &list, "GET", "/groups", "")
		if len(list.Items) != 2 || list.Items[1].AppName != "stock" {
			t.Errorf("list: %+v", list)
		}
		var gone struct{ Done bool }
		c.json(200, &gone, "DELETE", at, "")
		if got := c.do("GET", at, ""); got.status != http.StatusNotFound || !gone.Done {
			t.Errorf("deleted: %d", got.status)
		}
	})
}

func TestAProgramRunsAJobAndReadsWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		hold := make(chan struct{})
		ex := executortest.New(t, c.base, executortest.Handlers{
			"greet": func(ctx context.Context, r *executor.Run) error {
				r.Logf("hello %s", r.Param)
				r.Logf("bye")
				return nil
			},
			"talk": func(_ context.Context, r *executor.Run) error {
				for range 40 {
					r.Logf("%s", strings.Repeat("x", 200_000))
				}
				return nil
			},
			"hang": func(ctx context.Context, r *executor.Run) error {
				select {
				case <-ctx.Done():
				case <-hold:
				}
				return ctx.Err()
			},
		}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
		t.Cleanup(func() { close(hold) })
		var group struct{ Addresses []string }
		c.json(200, &group, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
		trigger := func(handler string) string {
			t.Helper()
			var made struct{ ID int }
			c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"`+handler+`","author":"a","handler":"`+handler+`","parameter":"world"}`)
			got := c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "")
			if got.status != 201 {
				t.Fatalf("trigger: %d %s", got.status, got.body)
			}
			return strings.TrimPrefix(got.header.Get("Location"), "/api/v1")
		}
		type run struct {
			ID        int
			JobID     int `json:"job_id"`
			Job       string
			State     string
			Ended     bool
			Trigger   string
			Parameter string
			Events    []struct{ Key, Text string }
		}
		at := trigger("greet")
		var r run
		c.json(200, &r, "GET", at+"?wait=60s", "")
		if r.State != "success" || !r.Ended || r.Trigger != "API" || r.Parameter != "world" || r.Job != "greet" || len(r.Events) == 0 || r.Events[0].Text == "" {
			t.Errorf("the run: %+v", r)
		}
		output := c.do("GET", at+"/output", "")
		if !strings.Contains(output.body, "hello world") || !strings.Contains(output.body, "bye\n") || !strings.HasPrefix(output.header.Get("Content-Type"), "text/plain") || output.header.Get("Output-End") != "true" {
			t.Errorf("output: %+v", output)
		}
		if rest := c.do("GET", at+"/output?from_line="+output.header.Get("Next-Line"), ""); rest.status != 200 || rest.body != "" {
			t.Errorf("the rest of the output: %+v", rest)
		}
		// A long one comes in parts, of which many programs may ask for one at once.
		long := trigger("talk")
		c.json(200, &r, "GET", long+"?wait=60s", "")
		var lines int
		for from, end := "1", false; !end; {
			part := c.do("GET", long+"/output?from_line="+from, "")
			lines += strings.Count(part.body, "xx\n")
			if from, end = part.header.Get("Next-Line"), part.header.Get("Output-End") == "true"; part.status != 200 || len(part.body) > 2<<20 {
				t.Fatalf("a part of %d bytes, status %d", len(part.body), part.status)
			}
		}
		if lines != 40 {
			t.Errorf("%d lines in all, want 40", lines)
		}
		var again struct{ Runs []int }
		c.json(201, &again, "POST", at+"/rerun", "", "Idempotency-Key", "again")
		c.json(200, &r, "GET", fmt.Sprintf("/runs/%d?wait=60s", again.Runs[0]), "")
		if r.State != "success" || r.Parameter != "world" {
			t.Errorf("run again: %+v", r)
		}
		var list struct {
			Items []run
			Next  string
		}
		c.json(200, &list, "GET", fmt.Sprintf("/runs?job_id=%d&result=success&limit=1", r.JobID), "")
		if len(list.Items) != 1 || list.Items[0].ID != r.ID || list.Items[0].Job != "greet" || list.Next == "" {
			t.Errorf("list: %+v", list)
		}
		c.json(200, &list, "GET", fmt.Sprintf("/runs?job_id=%d&result=success&limit=1&cursor=%s", r.JobID, list.Next), "")
		if len(list.Items) != 1 || "/runs/"+strconv.Itoa(list.Items[0].ID) != at {
			t.Errorf("the next page: %+v, want %s", list, at)
		}

		// A job that was deleted, or moved to where the reader sees nothing, has no name.
		for groups, want := range map[string]string{"1": "greet", "2": ""} {
			reader := auth.NewPrincipal(2, "ann", auth.RoleUser, db.Text(groups))
			if names, err := a.manage.Jobs.NamesOf(t.Context(), reader, []int64{int64(r.JobID), 9999}); err != nil || names[int64(r.JobID)] != want || names[9999] != "" {
				t.Errorf("names for who sees group %s: %v, %v", groups, names, err)
			}
		}

		at = trigger("hang")
		if c.json(200, &r, "GET", at+"?wait=1s", ""); r.Ended {
			t.Errorf("a run that hangs: %+v", r)
		}
		executortest.Eventually(t, "kill", func() error { // not while it is being sent
			if got := c.do("POST", at+"/kill", ""); got.status != 200 {
				return fmt.Errorf("%d %s", got.status, got.body)
			}
			return nil
		})
		if c.json(200, &r, "GET", at+"?wait=60s", ""); r.State != "killed" {
			t.Errorf("killed: %+v", r)
		}

		var dry, done struct {
			Runs int
			Done bool
		}
		c.json(200, &dry, "POST", "/runs/clear?dry_run=true", `{"group_id":1,"keep":"nothing"}`)
		c.json(200, &done, "POST", "/runs/clear", `{"group_id":1,"keep":"nothing"}`)
		if dry.Runs != 4 || dry.Done || !done.Done {
			t.Errorf("clear: %+v %+v", dry, done)
		}
	})
}

func TestSchedulesAndScriptsOfTheAPI(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		var next struct{ Times []string }
		c.json(200, &next, "POST", "/schedules/preview?count=3", `{"schedule":"CRON","cron":"0 0 2 * * ?","time_zone":"Asia/Shanghai"}`)
		if len(next.Times) != 3 || !strings.HasSuffix(next.Times[0], "T02:00:00+08:00") {
			t.Errorf("preview: %v", next)
		}
		var r refusal
		c.json(422, &r, "POST", "/schedules/preview", `{"schedule":"CRON","cron":"0 0 25 * * ?"}`)
		if len(r.Errors) != 1 || r.Errors[0].Field != "cron" {
			t.Errorf("a cron that is none: %+v", r)
		}
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"s","author":"a","kind":"GLUE_SHELL","script":"echo 1\n","script_remark":"first","schedule":"FIX_RATE","every_seconds":60}`)
		at := fmt.Sprintf("/jobs/%d", made.ID)
		c.json(200, &next, "GET", at+"/next?count=2", "")
		if len(next.Times) != 2 {
			t.Errorf("next: %v", next)
		}
		var job struct{ Script string }
		got := c.json(200, &job, "GET", at, "")
		c.json(200, &job, "PUT", at+"/script", `{"script":"echo 2\n","script_remark":"second"}`, "If-Match", got.header.Get("ETag"))
		var versions struct {
			Items []struct {
				ID     int
				Remark string `json:"script_remark"`
			}
		}
		c.json(200, &versions, "GET", at+"/script/versions", "")
		if len(versions.Items) != 2 || job.Script != "echo 2\n" || versions.Items[0].Remark != "second" {
			t.Fatalf("versions: %+v of %+v", versions, job)
		}
		var old struct{ Script string }
		version := fmt.Sprintf("%s/script/versions/%d", at, versions.Items[1].ID)
		c.json(200, &old, "GET", version, "")
		c.json(200, &job, "POST", version+"/restore", "")
		if old.Script != "echo 1\n" || job.Script != old.Script {
			t.Errorf("restored: %+v, of %+v", job, old)
		}
		c.json(422, &r, "PATCH", at, `{"kind":"BEAN","handler":"x"}`)
		if diff := cmp.Diff([]string{"body kind error.kind"}, r.fields()); diff != "" {
			t.Error(diff)
		}
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"h","author":"a","handler":"x","schedule":"NONE"}`)
		for _, of := range []string{"versions", "versions/1", "change"} {
			if c.json(409, &r, "GET", fmt.Sprintf("/jobs/%d/script/%s", made.ID, of), ""); r.Code != "glue.bean" {
				t.Errorf("the %s of a job without a script: %+v", of, r)
			}
		}
	})
}

func TestATokenRevokesItself(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		var list struct {
			Items []struct {
				ID    int
				State string
				Scope []string
			}
		}
		got := c.json(200, &list, "GET", "/tokens", "")
		if len(list.Items) != 1 || list.Items[0].Scope[0] != "admin" || strings.Contains(got.body, c.token) || got.header.Get("RateLimit-Remaining") == "" {
			t.Fatalf("tokens: %+v %v", list, got.header)
		}
		var gone struct{ State string }
		if c.json(200, &gone, "DELETE", fmt.Sprintf("/tokens/%d", list.Items[0].ID), ""); gone.State != "revoked" {
			t.Errorf("revoked: %+v", gone)
		}
		var r refusal
		if c.json(401, &r, "GET", "/tokens", ""); r.Code != "token.revoked" {
			t.Errorf("afterwards: %+v", r)
		}
	})
}

// curls are the requests of a page of the manual: the lines of its examples that begin with curl, with those that continue them.
func curls(t *testing.T, page string) (commands []string) {
	t.Helper()
	raw, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	inside, open := false, false
	for line := range strings.Lines(string(raw)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside
		case inside && open:
			commands[len(commands)-1] += line
			open = strings.HasSuffix(line, "\\\n")
		case inside && strings.HasPrefix(line, "curl "):
			commands = append(commands, line)
			open = strings.HasSuffix(line, "\\\n")
		}
	}
	return commands
}

// TestTheRequestsOfTheManual runs each request of the pages about API v1, in its order, as a reader would.
func TestTheRequestsOfTheManual(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is missing")
	}
	for page, least := range map[string]int{"api.md": 12, "zh-CN/api.md": 12, "webhooks.md": 3, "zh-CN/webhooks.md": 3} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			o.SecretKeys = []string{secretOne}
			_, c := apiCaller(t, o)
			commands := curls(t, page)
			if len(commands) < least {
				t.Fatalf("only %d requests were found", len(commands))
			}
			for _, command := range commands {
				run := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(command, "curl ", "curl --silent --show-error --fail-with-body ", 1))
				run.Env = append(os.Environ(), "ADMIN="+c.base, "TOKEN="+c.token)
				if said, err := run.CombinedOutput(); err != nil {
					t.Errorf("%s%v: %s", command, err, said)
				}
			}
		})
	}
}
