package app

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// movedBench has somebody who may do everything in group 1 and nothing in group 2.
type movedBench struct {
	a    *App
	root *browser
	ann  *browser
	api  *caller // ann's
}

func newMovedBench(t *testing.T, o Options) *movedBench {
	t.Helper()
	o.AccessToken = ""
	a := start(t, o)
	b := &movedBench{a: a, root: open(t, a).mustLogin(), ann: open(t, a)}
	for _, name := range []string{"orders", "stock"} {
		if got := b.root.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"manual"}, "addresses": {"http://" + name + ":1/"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
	}
	form := url.Values{"name": {"anna"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}
	for _, r := range auth.RightNames(auth.AllRights) {
		form.Add("right", "1."+r)
	}
	if got := b.root.post("/users", form); got.status != http.StatusSeeOther {
		t.Fatalf("create user: %d %s", got.status, got.body)
	}
	if got := b.ann.login("anna", testPassword); got.status != http.StatusSeeOther {
		t.Fatalf("login: %d %s", got.status, got.body)
	}
	b.api = &caller{t: t, base: a.Welcome().URL, token: makeToken(t, b.ann, url.Values{"name": {"t"}, "scope": {"edit"}, "days": {"7"}})}
	return b
}

func (b *movedBench) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := b.a.pool.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// reads are the addresses of everything that can be read of some things, of the console and of API v1.
func (b *movedBench) reads(t *testing.T, o objects) (pages, api []string) {
	t.Helper()
	for _, r := range b.a.server.Handler.(heads).Routes() {
		name := r.Method + " " + r.Path
		if n, known := routeNeeds[name]; r.Method == http.MethodGet && r.Method != echo.RouteNotFound && known && n.login && !n.admin {
			_, path, _ := request(name, o)
			pages = append(pages, path)
		}
	}
	for _, op := range apiOperations(t, b.a) {
		if op.method == http.MethodGet && !strings.HasPrefix(op.id, "watch") {
			api = append(api, op.at(o))
		}
	}
	slices.Sort(pages)
	return slices.Compact(pages), api
}

// TestOfAJobThatWasMovedAwayItsNumberIsTold: rights to a run are judged by the group it was recorded with, and what its job is now, and is called, is
// told only to who may see the group in which that is now. Beside the run stands its number.
func TestOfAJobThatWasMovedAwayItsNumberIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newMovedBench(t, o)
		of := things(t, b.a, 1, "mine")
		open, err := db.InsertRuns(t.Context(), b.a.pool, []db.NewRun{{
			JobGroup: 1, JobID: of.job, TriggerTime: b.a.pool.Wall(time.Now()), PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: wire.CodeSuccess, Param: "mine",
		}})
		if err != nil {
			t.Fatal(err)
		}
		// A run that followed another one's, and its note.
		b.exec(t, "UPDATE xxl_job_log SET sent_at = ?, executor_address = 'http://orders:1/' WHERE id = ?", time.Now().UnixMilli(), open)
		if got := b.ann.post(fmt.Sprintf("/runs/%d/note", of.run), url.Values{"remark": {"mine"}}); got.status != http.StatusSeeOther {
			t.Fatalf("note: %d %s", got.status, got.body)
		}
		b.exec(t, "UPDATE xxl_job_info SET job_group = 2, job_desc = ?, author = ?, glue_source = ?, executor_param = ?, alarm_email = ?, runbook = ? WHERE id = ?", secret, secret, secret, secret, secret, "https://"+secret, of.job)

		pages, api := b.reads(t, of)
		run := fmt.Sprint(of.run)
		pages = append(pages, "/runs?range=all", "/runs?group=1&range=all", "/runs?group=1&range=all&sort=longest", "/palette?q=%23"+run, "/palette?q="+run, "/palette?q="+secret, "/wall", "/?x=1", "/timeline?group=1", "/timeline?rows=executors",
			fmt.Sprintf("/runs/%d", open), "/runs/rerun?id="+run, fmt.Sprintf("/jobs/%d", of.job), "/runs?job="+fmt.Sprint(of.job)+"&range=all", "/alarms/open", "/runs/"+run+"/note")
		shown := 0
		for _, path := range pages {
			if strings.HasSuffix(path, "/events") {
				continue // below
			}
			got := b.ann.get(path)
			if strings.Contains(strings.ReplaceAll(got.body, `value="`+secret+`"`, ""), secret) && path != "/palette?q="+secret {
				t.Errorf("%s tells what the job is called: %d", path, got.status)
			}
			if strings.Contains(got.body, fmt.Sprintf("Job #%d", of.job)) {
				shown++
			}
			if strings.Contains(got.body, fmt.Sprintf(`href="/jobs/%d"`, of.job)) {
				t.Errorf("%s leads to a page that ann has none of", path)
			}
		}
		for _, path := range append(api, fmt.Sprintf("/runs/%d", open), "/runs?group_id=1", fmt.Sprintf("/runs?job_id=%d", of.job), "/timeline?group_id=1") {
			if got := b.api.do("GET", path, ""); strings.Contains(got.body, secret) {
				t.Errorf("API %s tells what the job is called: %d %s", path, got.status, got.body)
			}
		}
		if shown < 5 {
			t.Errorf("its number stands on %d pages", shown)
		}
		// What comes live.
		b.ann.events("/runs/events?range=all", func(name, data string) bool {
			if strings.Contains(data, secret) {
				t.Errorf("the list of runs tells live what the job is called: %s", data)
			}
			return true
		})
		if got := b.ann.post("/runs/rerun", url.Values{"id": {run}}); strings.Contains(got.body, secret) {
			t.Errorf("what is run again: %d %s", got.status, got.body)
		}
		if got := b.api.do("POST", "/runs/rerun", fmt.Sprintf(`{"ids":[%d]}`, of.run)); strings.Contains(got.body, secret) {
			t.Errorf("what is run again by the API: %d %s", got.status, got.body)
		}
		// An administrator sees the name, and of a deleted job everybody that it is.
		if got := b.root.get("/runs?range=all"); !strings.Contains(got.body, secret) {
			t.Error("an administrator does not see what the job is called")
		}
		b.exec(t, "DELETE FROM xxl_job_info WHERE id = ?", of.job)
		if got := b.ann.get("/runs?range=all"); !strings.Contains(got.body, fmt.Sprintf("Deleted job #%d", of.job)) {
			t.Error("of a deleted job nothing is said")
		}
	})
}

// TestWhatAStepSaidIsItsRuns: steps and items of a flow are judged by the groups of their runs, as runs are, wherever their jobs are now.
func TestWhatAStepSaidIsItsRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newMovedBench(t, o)
		came, went := things(t, b.a, 2, secret), things(t, b.a, 1, "mine")
		b.exec(t, "UPDATE xxl_job_info SET job_group = 3 - job_group")
		of := db.Run{ID: 1000, JobGroup: 1}
		for i, x := range []objects{came, went} {
			b.exec(t, "INSERT INTO punctual_flow_step (flow_log_id, step, item, job_id, run_id, output) VALUES (1000, 'each', ?, ?, ?, 'said')", i, x.job, x.run)
		}
		see := func() (said []string) {
			t.Helper()
			rows, err := b.a.manage.Runs.SeenItems(t.Context(), auth.NewPrincipal(7, "anna", auth.RoleUser, "1"), of, "each", -1, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				said = append(said, string(row.Output))
			}
			return said
		}
		if got := see(); !slices.Equal(got, []string{"", "said"}) {
			t.Errorf("of runs of another group and of one's own is told %q", got)
		}
		b.exec(t, "DELETE FROM xxl_job_log") // nothing is left but where the jobs are
		if got := see(); !slices.Equal(got, []string{"said", ""}) {
			t.Errorf("of runs that are gone is told %q", got)
		}
	})
}
