package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// tries does something so many times at once, and returns what came of each.
func tries[T any](n int, do func(i int) T) []T {
	all := make([]T, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			all[i] = do(i)
		})
	}
	close(begin)
	wg.Wait()
	return all
}

// TestARequestWithAKeyIsDoneOnceThoughItComesTenTimes at the same moment: one job is made, and whoever is told of one is told of that.
func TestARequestWithAKeyIsDoneOnceThoughItComesTenTimes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		const body = `{"group_id":1,"description":"ten times","author":"a","handler":"h"}`
		made := make(map[string]bool)
		for _, got := range tries(10, func(int) answer { return c.do(http.MethodPost, "/jobs", body, "Idempotency-Key", "k") }) {
			switch got.status {
			case http.StatusCreated:
				made[got.header.Get("Location")] = true
			case http.StatusConflict: // while the first is under way
			default:
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		var list struct{ Items []struct{ ID int } }
		c.json(http.StatusOK, &list, http.MethodGet, "/jobs?text=ten+times", "")
		if len(made) != 1 || len(list.Items) != 1 {
			t.Errorf("made: %v, there are %v", made, list.Items)
		}
	})
}

// TestAKeyIsForOneRequest sends two requests at a time with one key, and a request again with a token that may less.
func TestAKeyIsForOneRequest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		made, other := 0, 0
		for _, got := range tries(20, func(i int) answer {
			return c.do(http.MethodPost, "/jobs", fmt.Sprintf(`{"group_id":1,"description":"body %d","author":"a","handler":"h"}`, i%2), "Idempotency-Key", "k")
		}) {
			switch {
			case got.status == http.StatusCreated:
				made++
			case got.status == http.StatusConflict:
				if strings.Contains(got.body, "once.other") {
					other++
				}
			default:
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		var list struct{ Items []struct{ ID int } }
		if c.json(http.StatusOK, &list, http.MethodGet, "/jobs?text=body", ""); len(list.Items) != 1 || made == 0 || other != 10 {
			t.Errorf("there are %v; %d answers say that one was made, %d that the key is another's", list.Items, made, other)
		}
		at := fmt.Sprintf("/jobs/%d/trigger", list.Items[0].ID)
		c.json(http.StatusCreated, new(struct{}), http.MethodPost, at, "", "Idempotency-Key", "once")
		view := &caller{t: t, base: c.base, token: makeToken(t, open(t, a).mustLogin(), url.Values{"name": {"view"}, "scope": {"view"}, "days": {"7"}})}
		if got := view.do(http.MethodPost, at, "", "Idempotency-Key", "once"); got.status != http.StatusConflict && got.status != http.StatusForbidden {
			t.Errorf("a token that may run nothing is answered %d %s", got.status, got.body)
		}
		if got := c.do(http.MethodPost, at, "", "Idempotency-Key", "once"); got.status != http.StatusCreated || got.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("again: %d %s", got.status, got.body)
		}
	})
}

// TestWhatIsToldOnceIsNotKeptForAKey asks again for an answer that holds a secret, and looks for that in the database.
func TestWhatIsToldOnceIsNotKeptForAKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		const body = `{"name":"hook","url":"http://127.0.0.1:1/hook"}`
		var first, again struct{ Secret string }
		c.json(http.StatusCreated, &first, http.MethodPost, "/webhooks", body, "Idempotency-Key", "5f0c")
		c.json(http.StatusCreated, &again, http.MethodPost, "/webhooks", body, "Idempotency-Key", "5f0c")
		if first.Secret == "" || again != first {
			t.Errorf("told of %q, and again of %q", first.Secret, again.Secret)
		}
		var kept string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT answer FROM punctual_idempotency").Scan(&kept); err != nil || kept == "" || strings.Contains(kept, first.Secret) {
			t.Errorf("kept: %q, %v", kept, err)
		}
	})
}

// contested is something that programs change when it is still what they have read.
type contested struct {
	create func(c *caller, n int) (at string) // makes one, and says where its ETag is read
	// changes are the operations that take its If-Match, by their ids in the document: method, what comes after its address, and the body.
	changes map[string][3]string
}

// contests are those of the whole API.
func contests() map[string]contested {
	made := func(c *caller, path, body string) string {
		c.t.Helper()
		var made struct{ ID int }
		c.json(http.StatusCreated, &made, http.MethodPost, path, body)
		return fmt.Sprintf("%s/%d", path, made.ID)
	}
	named := func(path, body string) func(*caller, int) string {
		return func(c *caller, n int) string { return made(c, path, strings.ReplaceAll(body, "#", strconv.Itoa(n))) }
	}
	return map[string]contested{
		"job": {named("/jobs", `{"group_id":1,"description":"j","author":"a","handler":"h"}`), map[string][3]string{
			"patchJob": {"PATCH", "", `{"retries":%d}`}, "replaceJob": {"PUT", "", `{"group_id":1,"description":"put %d","author":"a","handler":"h"}`}, "deleteJob": {"DELETE", "", ""},
		}},
		"script": {named("/jobs", `{"group_id":1,"description":"s","author":"a","kind":"GLUE_SHELL","script":"echo 0\n","script_remark":"first","schedule":"NONE"}`), map[string][3]string{
			"saveScript": {"PUT", "/script", `{"script":"echo %d\n","script_remark":"changed"}`}, "patchJob": {"PATCH", "", `{"retries":%d}`}, "deleteJob": {"DELETE", "", ""},
		}},
		"group": {named("/groups", `{"app_name":"group#","title":"g","type":"manual","addresses":["http://127.0.0.1:2/"]}`), map[string][3]string{
			"patchGroup":   {"PATCH", "", `{"title":"patched %d","idle_is_lost":true}`},
			"replaceGroup": {"PUT", "", `{"app_name":"other%d","title":"put","type":"manual","addresses":["http://127.0.0.1:3/"]}`}, "deleteGroup": {"DELETE", "", ""},
		}},
		"team": {named("/teams", `{"name":"team #"}`), map[string][3]string{
			"replaceTeam": {"PUT", "", `{"name":"put %d","rights":[{"group_id":1,"rights":["run"]}]}`}, "deleteTeam": {"DELETE", "", ""},
		}},
		"user": {named("/users", `{"name":"user#","password":"`+testPassword+`"}`), map[string][3]string{
			"patchUser": {"PATCH", "", `{"rights":[{"group_id":1,"rights":["run"]}],"password":"` + testPassword + `%d"}`}, "deleteUser": {"DELETE", "", ""},
		}},
		"channel": {func(c *caller, n int) string {
			return made(c, "/alarms/channels", fmt.Sprintf(`{"name":"chat %d","kind":"dingtalk","url":"http://127.0.0.1:1/robot","every_job":true}`, n))
		}, map[string][3]string{
			"patchAlarmChannel": {"PATCH", "", `{"name":"patched %d"}`}, "deleteAlarmChannel": {"DELETE", "", ""},
			"replaceAlarmRoute": {"PUT", "/routes/{route}", `{"scope":"all","causes":["lost"]}`}, "deleteAlarmRoute": {"DELETE", "/routes/{route}", ""},
		}},
		"webhook": {named("/webhooks", `{"name":"hook #","url":"http://127.0.0.1:1/hook"}`), map[string][3]string{
			"patchWebhook": {"PATCH", "", `{"name":"patched %d"}`}, "deleteWebhook": {"DELETE", "", ""}, "rotateWebhookSecret": {"POST", "/secret", ""},
		}},
		"calendar": {func(c *caller, n int) string {
			at := fmt.Sprintf("/calendars/plant%d", n)
			c.json(http.StatusOK, new(struct{}), http.MethodPut, at, `{"week":["sun"],"days":[]}`)
			return at
		}, map[string][3]string{
			"putCalendar": {"PUT", "", `{"title":"put %d","week":["sat"],"days":[]}`}, "importCalendar": {"POST", "/import", `{"title":"imported %d","week":["sat"],"icalendar":"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20270101\r\nSUMMARY:off\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"}`},
			"deleteCalendar": {"DELETE", "", ""},
		}},
		"pause": {named("/pauses", `{"scope":"group","target":1,"strategy":"skip","until":"2099-01-01T00:00:00Z","reason":"r"}`), map[string][3]string{"endPause": {"POST", "/end", ""}}},
		"settings": {func(c *caller, _ int) string {
			c.json(http.StatusOK, new(struct{}), http.MethodPatch, "/settings", `{"audit_days":"3000"}`) // none of what it is changed to
			return "/settings"
		}, map[string][3]string{"patchSettings": {"PATCH", "", `{"audit_days":"%d"}`}}},
	}
}

// TestEveryIfMatchIsContested sees to it that the next test leaves no operation out.
func TestEveryIfMatchIsContested(t *testing.T) {
	t.Parallel()
	_, c := apiCaller(t, testOptions(t))
	var document struct {
		Paths map[string]map[string]struct {
			ID         string `json:"operationId"`
			Parameters []struct{ Name string }
		}
	}
	c.json(http.StatusOK, &document, http.MethodGet, "/openapi.json", "")
	has := make(map[string]bool)
	for _, contest := range contests() {
		for id := range contest.changes {
			has[id] = true
		}
	}
	for _, methods := range document.Paths {
		for _, operation := range methods {
			for _, p := range operation.Parameters {
				if p.Name == "If-Match" && !has[operation.ID] {
					t.Errorf("%s takes an If-Match and is in none of the contests", operation.ID)
				}
			}
		}
	}
}

// TestOfManyChangesWithOneETagOneIsMade, and the others are told that it is no longer that: of each kind of change, and of all that something
// can be changed by.
func TestOfManyChangesWithOneETagOneIsMade(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.apiLimit = api.Limit{Burst: 1e6, Every: time.Millisecond}
		_, c := apiCaller(t, o)
		n := 0
		for name, contest := range contests() {
			kinds := [][]string{slices.Sorted(maps.Keys(contest.changes))}
			for _, id := range kinds[0] {
				kinds = append(kinds, []string{id})
			}
			for _, ids := range kinds {
				t.Run(name+" "+strings.Join(ids, " "), func(t *testing.T) {
					for range 4 {
						n++
						contest.hold(&caller{t: t, base: c.base, token: c.token}, n, ids)
					}
				})
			}
		}
	})
}

// TestAChangeWaitsForARowThatIsLocked longer than the database lets one statement wait: it is made when the others have done.
func TestAChangeWaitsForARowThatIsLocked(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.DatabaseURL, o.DataDir = dbtest.Migrated(t), t.TempDir()
	a, c := apiCaller(t, o)
	var job struct{ ID int }
	c.json(http.StatusCreated, &job, http.MethodPost, "/jobs", `{"group_id":1,"description":"j","author":"a","handler":"h"}`)
	other, err := a.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	dbtest.Hold(t, a.pool, other)
	gaveUp := func() (n int) {
		if err := other.QueryRowContext(t.Context(), "SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_timeouts'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := other.ExecContext(t.Context(), "UPDATE xxl_job_info SET author = 'b' WHERE id = ?", job.ID); err != nil {
		t.Fatal(err)
	}
	before := gaveUp()
	changed := make(chan answer, 1)
	go func() { changed <- c.do(http.MethodPatch, fmt.Sprintf("/jobs/%d", job.ID), `{"retries":3}`) }()
	executortest.Eventually(t, "a statement gives up waiting", func() error {
		if gaveUp() == before {
			return executortest.ErrNotYet
		}
		return nil
	})
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := <-changed; got.status != http.StatusOK {
		t.Errorf("the change: %d %s", got.status, got.body)
	}
}

// hold has eight changes made at once, of the kinds that are named in turn.
func (contest contested) hold(c *caller, n int, ids []string) {
	c.t.Helper()
	at := contest.create(c, n)
	var now struct{ Routes []struct{ ID int } }
	etag := c.json(http.StatusOK, &now, http.MethodGet, at, "").header.Get("ETag")
	var done []string
	for i, got := range tries(8, func(i int) answer {
		change := contest.changes[ids[i%len(ids)]]
		path := at + change[1]
		if len(now.Routes) > 0 {
			path = strings.ReplaceAll(path, "{route}", strconv.Itoa(now.Routes[0].ID))
		}
		body := change[2]
		if strings.Contains(body, "%d") {
			body = fmt.Sprintf(body, 40+10*n+i)
		}
		return c.do(change[0], path, body, "If-Match", etag)
	}) {
		switch id := ids[i%len(ids)]; got.status {
		case http.StatusOK, http.StatusCreated, http.StatusNoContent:
			done = append(done, fmt.Sprintf("%s %d: %s", id, i+1, got.header.Get("ETag")))
			after := c.do(http.MethodGet, at, "")
			if tag := got.header.Get("ETag"); after.header.Get("ETag") != tag || tag == "" && after.status != http.StatusNotFound {
				c.t.Errorf("%s %d was told of %q, and there is %q: %d %s", id, i+1, tag, after.header.Get("ETag"), after.status, after.body)
			}
		case http.StatusPreconditionFailed:
		case http.StatusNotFound: // it was deleted
			if !strings.Contains(strings.Join(ids, " "), "delete") {
				c.t.Errorf("%s: %d %s", id, got.status, got.body)
			}
		default:
			c.t.Errorf("%s: %d %s", id, got.status, got.body)
		}
	}
	if len(done) != 1 {
		c.t.Errorf("%s: told that they are done: %v", at, done)
	}
}

// TestPagesOfJobsMissNoneThatStays: while others come and go between the pages, each job that is there all the time is listed once.
func TestPagesOfJobsMissNoneThatStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		create := func(name string) (id int) {
			t.Helper()
			var made struct{ ID int }
			c.json(http.StatusCreated, &made, http.MethodPost, "/jobs", fmt.Sprintf(`{"group_id":1,"description":%q,"author":"a","handler":"h","schedule":"CRON","cron":"0 0 2 * * ?"}`, name))
			return made.ID
		}
		for _, sort := range []string{"", "&sort=name", "&sort=-name", "&sort=next"} {
			stays, goes := make(map[int]int), []int{}
			for i := range 6 {
				stays[create(fmt.Sprintf("stays %d %s", i, sort))] = 0
				goes = append(goes, create(fmt.Sprintf("goes %d %s", i, sort)))
			}
			for cursor, page := "", 0; ; page++ {
				var list struct {
					Items []struct{ ID int }
					Next  string
				}
				c.json(http.StatusOK, &list, http.MethodGet, "/jobs?limit=3"+sort+cursor, "")
				for _, j := range list.Items {
					if _, ok := stays[j.ID]; ok {
						stays[j.ID]++
					}
				}
				if list.Next == "" {
					break
				}
				cursor = "&cursor=" + list.Next
				if page < len(goes) {
					c.json(http.StatusOK, new(struct{}), http.MethodDelete, fmt.Sprintf("/jobs/%d", goes[page]), "")
					create(fmt.Sprintf("comes %d %s", page, sort))
				}
			}
			for id, n := range stays {
				if n != 1 {
					t.Errorf("%q: job %d was listed %d times", sort, id, n)
				}
			}
		}
	})
}

// TestTwoPipelinesAtOnce apply files of the same source, with prune: what is there afterwards is what one of them wanted, whole.
func TestTwoPipelinesAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		file := func(jobs ...string) string {
			text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n"
			for _, j := range jobs {
				text += "      - {author: ann, handler: h, schedule: CRON, cron: '0 0 2 * * ?', description: " + j + "}\n"
			}
			body, err := json.Marshal(map[string]any{"files": []any{map[string]string{"name": "a.yaml", "text": text}}, "source": "team/jobs", "prune": true})
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		for round := range 4 {
			wants := [][]string{{"both", fmt.Sprintf("left %d", round), "l"}, {"both", fmt.Sprintf("right %d", round)}}
			done, refusals := 0, ""
			for _, got := range tries(6, func(i int) answer { return c.do(http.MethodPost, "/jobs/apply", file(wants[i%2]...)) }) {
				switch got.status {
				case http.StatusOK:
					done++
				case http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity: // somebody was faster
					refusals += got.body
				default:
					t.Errorf("%d %s", got.status, got.body)
				}
			}
			var list struct {
				Items []struct{ Description string }
			}
			c.json(http.StatusOK, &list, http.MethodGet, "/jobs", "")
			names := make(map[string]int)
			for _, j := range list.Items {
				names[j.Description]++
			}
			got := slices.Sorted(maps.Keys(names))
			if len(list.Items) != len(got) || done == 0 || !slices.ContainsFunc(wants, func(want []string) bool { return slices.Equal(slices.Sorted(slices.Values(want)), got) }) {
				t.Errorf("round %d, %d were done: %v\n%s", round, done, names, refusals)
			}
		}
	})
}

// TestTenReplicasDeclareOneJob though they start at the same moment.
func TestTenReplicasDeclareOneJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		form := url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}, "token_manages": {"on"}}
		if got := open(t, a).mustLogin().post("/executors/"+strconv.FormatInt(groups["orders"], 10), form); got.status != http.StatusSeeOther {
			t.Fatalf("let the token manage: %d %s", got.status, got.body)
		}
		var replicas []*executor.Executor
		ran := make(chan struct{}, 100)
		for range 10 {
			ex, err := executor.New(executor.Config{AppName: "orders", Admins: []string{orders.base}, Token: orders.token, DataDir: t.TempDir(), Listen: "127.0.0.1:0", BeatInterval: 50 * time.Millisecond, NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			ex.Handle("pulse", func(context.Context, *executor.Run) error { ran <- struct{}{}; return nil })
			for i := range 3 {
				ex.Declare(executor.Job{Name: "pulse" + strings.Repeat("2", i), Handler: "pulse", Description: "pulse " + strconv.Itoa(i), Schedule: executor.Every(time.Second)})
			}
			replicas = append(replicas, ex)
		}
		for _, err := range tries(len(replicas), func(i int) error { return replicas[i].Start(t.Context()) }) {
			if err != nil {
				t.Error(err)
			}
		}
		t.Cleanup(func() {
			for _, ex := range replicas {
				_ = ex.Stop(context.Background())
			}
		})
		for range 6 { // each job twice, or about that: all have declared by then
			<-ran
		}
		rows, err := db.New().ListJobNames(t.Context(), a.pool, db.ListJobNamesParams{JobGroup: groups["orders"], Limit: 100})
		if err != nil || len(rows) != 3 {
			t.Errorf("%d jobs, %v: %+v", len(rows), err, rows)
		}
	})
}
