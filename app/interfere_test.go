package app

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// moving is what is another text each time it is asked for: times, and what is made up for one answer.
var moving = regexp.MustCompile(`>[^<]*</time>|datetime="[^"]*"|title="\d{4}-[^"]*"|\d{4}-\d\d-\d\dT[0-9:.]*Z?|"took_ms":\d+|[0-9a-f]{16,}|\d{10,}|<code>[A-Z0-9]{12}</code>|value="[A-Z2-7]{26}"|nonce="[^"]*"|\d+ [a-z]+ ago|[0-9.]+%|As of [0-9: -]*|\d\d-\d\d \d\d:\d\d to [0-9: -]*`)

// neighbours is an admin with two groups, and somebody with all rights in the first one.
type neighbours struct {
	*App
	person  *browser
	program *caller
	own     objects
}

func newNeighbours(t *testing.T, o Options) neighbours {
	t.Helper()
	o.apiLimit = api.Limit{Burst: 1 << 20, Every: time.Microsecond}
	a := start(t, o)
	root := open(t, a).mustLogin()
	for _, name := range []string{"orders", secret} {
		if got := root.post("/executors", url.Values{"app_name": {strings.ToLower(name)}, "title": {name}, "type": {"manual"}, "addresses": {"http://" + name + ":1/"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
	}
	form := url.Values{"name": {"every"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}
	for _, right := range auth.RightNames(auth.AllRights) {
		form.Add("right", "1."+right)
	}
	if got := root.post("/users", form); got.status != http.StatusSeeOther {
		t.Fatalf("create user: %d %s", got.status, got.body)
	}
	n := neighbours{App: a, person: open(t, a)}
	n.person.login("every", testPassword)
	n.program = &caller{t, root.base, makeToken(t, n.person, url.Values{"name": {"x"}, "scope": auth.RightNames(auth.AllRights), "days": {"7"}})}
	n.own = apiThings(t, a, 1, "mine")
	return n
}

// add makes things in the second group that every list, count and figure has.
func (n neighbours) add(t *testing.T) (o objects) {
	t.Helper()
	o = apiThings(t, n.App, 2, secret)
	for _, code := range []int64{500, 200, 0} {
		now := n.pool.Wall(time.Now())
		if _, err := db.InsertRuns(t.Context(), n.pool, []db.NewRun{{JobGroup: 2, JobID: o.job, TriggerTime: now, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: code, Message: secret, Param: secret}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []string{
		"UPDATE xxl_job_info SET tags = '" + secret + "', trigger_status = 1, trigger_next_time = 4102444800000, calendar = 'cn' WHERE job_group = 2",
		fmt.Sprintf("INSERT INTO punctual_alarm_state (job_id, cause, opened_at, revision) VALUES (%d, 'failed', 1, 1)", o.job),
		fmt.Sprintf("INSERT INTO punctual_job_day (day_at, job_id, job_group, runs, total_ms, longest_id, longest_ms) VALUES (%d, %d, 2, 5, 100000, 1, 90000)", time.Now().UTC().Truncate(24*time.Hour).Unix(), o.job),
	} {
		if _, err := n.pool.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// remove takes them away.
func (n neighbours) remove(t *testing.T) {
	t.Helper()
	for _, q := range []string{
		"DELETE FROM punctual_alarm_state WHERE job_id IN (SELECT id FROM xxl_job_info WHERE job_group = 2)", "DELETE FROM xxl_job_info WHERE job_group = 2", "DELETE FROM xxl_job_log WHERE job_group = 2",
		"DELETE FROM punctual_job_day WHERE job_group = 2", "DELETE FROM punctual_pause WHERE target = 2", "DELETE FROM punctual_note WHERE job_group = 2", "DELETE FROM punctual_clearing WHERE job_group = 2",
		"DELETE FROM punctual_secret WHERE group_id = 2", "DELETE FROM punctual_alarm_channel WHERE group_id = 2", "DELETE FROM punctual_script_change WHERE author = '" + secret + "'", "DELETE FROM punctual_backfill WHERE made_by = '" + secret + "'",
	} {
		if _, err := n.pool.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

// look is what every list, search and figure answers to whoever sees the first group alone.
func (n neighbours) look(operations []apiOperation) map[string]string {
	all := make(map[string]string)
	see := func(path string, got answer) {
		all[path] = fmt.Sprint(got.status, " ", moving.ReplaceAllString(got.body, "#"))
	}
	mark := url.QueryEscape(secret)
	queries := map[string][]string{
		"/jobs": {"show=failing", "show=late", "sort=name", "sort=last", "tag=" + mark, "text=" + mark, "author=" + mark, "state=paused", "state=review"},
		"/runs": {"show=long", "show=late", "text=" + mark, "executor=" + mark, "result=failed"}, "/timeline": {"by=executors", "tag=" + mark},
	}
	for _, op := range operations {
		if op.method != http.MethodGet || strings.Contains(op.path, "{") || strings.HasSuffix(op.path, "/live") || !apiNeeds[op.id].login {
			continue
		}
		for _, q := range append([]string{""}, queries[op.path]...) {
			see(op.path+"?"+q, n.program.do("GET", op.path+"?"+q, ""))
		}
	}
	pages := map[string][]string{"/jobs": {"tag=" + mark, "q=" + mark}, "/palette": {"q=" + mark, "q=run+" + mark, "q=x"}, "/runs/search": {"q=" + mark}, "/jobs/children": {"q=" + mark},
		"/jobs/bulk": {"all=1&do=start"}, "/pauses/jobs": {"scope=all"}}
	for route, need := range routeNeeds {
		method, path, _ := strings.Cut(route, " ")
		if method != "GET" || !need.login || need.former || need.admin || strings.ContainsAny(path, ":*") || strings.HasSuffix(path, "/events") || strings.Contains(path, "/profile/second") {
			continue
		}
		for _, q := range append([]string{""}, pages[path]...) {
			see("GET "+path+"?"+q, n.person.get(path+"?"+q))
		}
	}
	for _, path := range []string{"/jobinfo/pageList?jobGroup=0&triggerStatus=-1&start=0&length=10", "/joblog/pageList?jobGroup=0&jobId=0&logStatus=-1&start=0&length=10", "/jobgroup/pageList?start=0&length=10",
		"/chartInfo?startDate=2000-01-01+00:00:00&endDate=2099-12-31+00:00:00", "/joblog/getJobsByGroup?jobGroup=0"} {
		see("GET "+path, n.person.get(path))
	}
	return all
}

// TestOneGroupTellsNothingOfAnother: what is made in a group changes no answer to whoever does not see it, no count and no duration either.
func TestOneGroupTellsNothingOfAnother(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		n := newNeighbours(t, o)
		operations := apiOperations(t, n.App)
		n.look(operations) // what is only told once
		const tries = 3    // a minute that ends in between spoils one, and so does what the admin finds out meanwhile
		told := make(map[string]int)
		for range tries {
			before := n.look(operations)
			if len(before) < 60 {
				t.Fatalf("only %d answers were looked at", len(before))
			}
			n.add(t)
			for path, after := range n.look(operations) {
				if !strings.Contains(path, secret) && strings.Contains(strings.ToLower(after), strings.ToLower(secret)) {
					t.Errorf("%s tells of the other group", path)
				}
				if was := before[path]; was != after {
					told[path]++
					at := 0
					for at < min(len(was), len(after)) && was[at] == after[at] {
						at++
					}
					from := max(0, at-60)
					t.Logf("%s was …%.120s, and is …%.120s", path, was[from:], after[from:])
				}
			}
			n.remove(t)
		}
		for path, n := range told {
			if n == tries {
				t.Errorf("%s changes with what is made in the other group", path)
			}
		}
	})
}

// TestWhatSomebodyMayNotSeeIsNotThere: an answer about a thing of another group is the one about a thing that there is not.
func TestWhatSomebodyMayNotSeeIsNotThere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		n := newNeighbours(t, o)
		there := n.add(t)
		const none = 987654
		gone := objects{group: none, job: none, version: none, run: none, user: none, entry: none, clearing: none, team: none, channel: none, route: none, pause: none, note: none, backfill: none, webhook: none, delivery: none}
		digits := regexp.MustCompile(`\d+`)
		same := func(what string, x, y answer) {
			if x.status != y.status || digits.ReplaceAllString(moving.ReplaceAllString(x.body, "#"), "#") != digits.ReplaceAllString(moving.ReplaceAllString(y.body, "#"), "#") {
				t.Errorf("%s: %d %.300s\nof what is not there: %d %.300s", what, x.status, x.body, y.status, y.body)
			}
		}
		for _, op := range apiOperations(t, n.App) {
			if !apiNeeds[op.id].login || strings.HasSuffix(op.path, "/live") {
				continue
			}
			ask := func(o objects) answer { return n.program.do(op.method, op.at(o), apiBody(op.id, o), op.match()...) }
			same(op.id, ask(there), ask(gone))
		}
		for route, need := range routeNeeds {
			if !need.login || strings.HasSuffix(route, "/events") || !strings.Contains(route, ":") && !need.former {
				continue
			}
			ask := func(o objects) answer {
				method, path, form := request(route, o)
				return n.person.do(method, path, form, "Accept", "application/json")
			}
			same(route, ask(there), ask(gone))
		}
		// taken fails where a request is refused whatever it names: then it would say nothing of what it names.
		taken := func(what string, got answer) {
			if got.status >= 300 {
				t.Errorf("%s of what they may see: %d %s", what, got.status, got.body)
			}
		}
		for _, q := range []struct {
			path, body string
			own, id    int64
		}{
			{"/jobs", `{"group_id":1,"description":"x","author":"ann","handler":"x","children":[%d]}`, n.own.job, there.job},
			{"/jobs", `{"group_id":1,"description":"x","author":"ann","kind":"FLOW","script":"steps: [{id: a, job: %d}]"}`, n.own.job, there.job},
			{"/pauses", `{"scope":"job","target":%d,"strategy":"once","reason":"x","from":"2099-01-01T00:00:00Z"}`, n.own.job, there.job},
			{"/runs/rerun", `{"runs":[%d]}`, n.own.run, there.run},
		} {
			ask := func(id int64) answer { return n.program.do("POST", q.path, fmt.Sprintf(q.body, id)) }
			same(q.path, ask(q.id), ask(none))
			taken(q.path, ask(q.own))
		}
		apps := make(map[int64]string)
		for _, group := range []int64{1, 2} {
			g, err := db.New().GetGroup(t.Context(), n.pool, group)
			if err != nil {
				t.Fatal(err)
			}
			apps[group] = g.AppName
		}
		// What a group is called, and a job of it, in a file and in a flow.
		for what, write := range map[string]func(app string) (path, body string){
			"a file": func(app string) (string, string) {
				return "/jobs/apply?dry_run=true", fmt.Sprintf(`{"source":"x","files":[{"name":"a.yaml","text":"punctual_jobs: 1\nexecutors:\n  - app_name: %s\n    jobs: [{description: x, author: a, handler: y, schedule: NONE}]\n"}]}`, app)
			},
			"a file with a flow": func(app string) (string, string) {
				return "/jobs/apply?dry_run=true", fmt.Sprintf(`{"source":"x","files":[{"name":"a.yaml","text":"punctual_jobs: 1\nexecutors:\n  - app_name: %s\n    jobs: [{description: x, author: a, kind: FLOW, schedule: NONE, script: 'steps: [{id: a, job: {app_name: %s, description: %s}}]'}]\n"}]}`, apps[1], app, map[bool]string{true: "mine", false: secret}[app == apps[1]])
			},
			"a flow": func(app string) (string, string) {
				return "/jobs", fmt.Sprintf(`{"group_id":1,"description":"x","author":"ann","kind":"FLOW","script":"steps: [{id: a, job: {app_name: %s, description: %s}}]"}`, app, map[bool]string{true: "mine", false: secret}[app == apps[1]])
			},
		} {
			ask := func(app string) answer {
				path, body := write(app)
				got := n.program.do("POST", path, body)
				got.body = strings.ReplaceAll(got.body, app, "#")
				return got
			}
			same(what, ask(apps[2]), ask("xabsentx"))
			taken(what, ask(apps[1]))
		}
	})
}

// TestNoWayLeadsAroundTheSecondPerson: somebody with all rights in a group whose scripts a second person looks at asks for everything that there is, in
// the console, by API v1, as XXL-JOB's programs and as its console's scripts do. What runs stays what it was.
func TestNoWayLeadsAroundTheSecondPerson(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		n := newNeighbours(t, o)
		ctx := t.Context()
		if _, err := n.pool.ExecContext(ctx, "REPLACE INTO punctual_group (app_name, script_review) SELECT app_name, 1 FROM xxl_job_group"); err != nil {
			t.Fatal(err)
		}
		asked := 0
		try := func(what string, ask func(own objects) answer) {
			t.Helper()
			got := ask(things(t, n.App, 1, "mine"))
			if got.status < 300 || got.status == http.StatusSeeOther {
				asked++
			}
			for table, of := range map[string]string{"xxl_job_info": "glue_source NOT IN ('', 'mine') AND glue_type LIKE 'GLUE%'", "punctual_trial": "source <> 'mine'"} {
				var count int
				if err := n.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table+" WHERE "+of).Scan(&count); err != nil {
					t.Fatal(err)
				}
				if count > 0 {
					t.Fatalf("%s: %d scripts in %s that nobody has looked at; it was answered %d %.300s", what, count, table, got.status, got.body)
				}
			}
		}
		for _, op := range apiOperations(t, n.App) {
			if op.method != http.MethodGet && apiNeeds[op.id].login {
				try(op.id, func(own objects) answer {
					return n.program.do(op.method, op.at(own), apiBody(op.id, own), op.match()...)
				})
			}
		}
		for route, need := range routeNeeds {
			if strings.HasPrefix(route, "POST ") && need.login && need != user {
				try(route, func(own objects) answer {
					method, path, form := request(route, own)
					return n.person.do(method, path, form)
				})
			}
		}
		const file = `{"source":"repository","files":[{"name":"a.yaml","text":"executors:\n  orders:\n    jobs:\n      - name: mine\n        type: GLUE_SHELL\n        script: changed\n"}]}`
		for what, body := range map[string]string{
			"PATCH /jobs/%d": `{"script":"changed","script_remark":"changed it"}`, "POST /jobs|%d": `{"group_id":1,"description":"new","author":"ann","kind":"GLUE_SHELL","script":"changed","script_remark":"changed it"}`,
			"POST /jobs/apply|%d": file,
		} {
			method, path, _ := strings.Cut(what, " ")
			path, _, _ = strings.Cut(path, "|")
			try(what, func(own objects) answer {
				return n.program.do(method, strings.Replace(path, "%d", fmt.Sprint(own.job), 1), body)
			})
		}
		try("the form of a job", func(own objects) answer {
			method, path, form := request("POST /jobs/:id", own)
			form.Set("source", "changed")
			form.Set("glue", "GLUE_SHELL")
			return n.person.do(method, path, form)
		})
		for _, method := range []string{"addJob", "updateJob"} {
			try("/api/"+method, func(own objects) answer {
				return n.person.raw("POST", "/api/"+method, strings.NewReader(fmt.Sprintf(`{"id":%d,"jobGroup":1,"name":"x","author":"ann","scheduleType":"NONE","glueType":"GLUE_SHELL","glueSource":"changed","glueRemark":"changed it"}`, own.job)),
					"Authorization", "Bearer "+n.program.token, "Content-Type", "application/json")
			})
		}
		if asked < 40 {
			t.Errorf("only %d requests were let through", asked)
		}
		var waiting int
		if err := n.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_script_change WHERE source = 'changed' AND author_id > 0").Scan(&waiting); err != nil || waiting < 5 {
			t.Errorf("only %d changes wait, %v", waiting, err)
		}
	})
}
