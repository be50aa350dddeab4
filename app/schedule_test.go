package app

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
)

// TestRunningAJobIsNotStartingItsSchedule goes every way on which a schedule is started or stopped: those who may run and edit jobs,
// and not that, are refused on each and are shown none of them; those who may only that get through.
func TestRunningAJobIsNotStartingItsSchedule(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		root := open(t, a).mustLogin()
		group := strconv.FormatInt(groups["orders"], 10)
		var ids []string
		for _, name := range []string{"stopped", "started"} {
			s := orders.must("addJob", `{"name":"`+name+`","author":"x","executorHandler":"pay","scheduleType":"CRON","scheduleConf":"0 0 3 * * ?"}`)
			ids = append(ids, *s.Data)
		}
		reset := func() {
			t.Helper()
			for i, do := range []string{"stop", "start"} {
				if got := root.post("/jobs/"+ids[i]+"/"+do, nil); got.status != http.StatusSeeOther {
					t.Fatalf("%s: %d %s", do, got.status, got.body)
				}
			}
		}
		states := func() (states string) {
			t.Helper()
			for _, id := range ids {
				var s string
				if err := a.pool.QueryRowContext(t.Context(), "SELECT trigger_status FROM xxl_job_info WHERE id = ?", id).Scan(&s); err != nil {
					t.Fatal(err)
				}
				states += s
			}
			return states
		}
		somebody := func(name string, rights ...string) *browser {
			t.Helper()
			form := url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}
			for _, r := range rights {
				form.Add("right", group+"."+r)
			}
			if got := root.post("/users", form); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
			b := open(t, a)
			b.login(name, testPassword)
			return b
		}
		runner, keeper := somebody("runner", "run", "edit"), somebody("keeper", "schedule")
		runs := makeToken(t, runner, url.Values{"name": {"wide"}, "scope": {"run", "schedule", "edit"}, "days": {"7"}}) // wider than its owner
		narrow := makeToken(t, root, url.Values{"name": {"narrow"}, "scope": {"run", "edit", "glue"}, "days": {"7"}})
		keeps := makeToken(t, keeper, url.Values{"name": {"keeps"}, "scope": {"schedule"}, "days": {"7"}})

		type way struct {
			name string
			do   func(b *browser, token string) (refused bool)
		}
		var ways []way
		htmx := []string{"HX-Request", "true", "Accept", "text/html, */*"}
		for i, do := range []string{"start", "stop"} {
			id, was := ids[i], map[string]string{"start": "stop", "stop": "start"}[do]
			undone := url.Values{"do": {do}, "id": {id}, "undo": {"1"}, "was_" + id: {""}}
			refusedBy := func(got answer) bool { return got.status == http.StatusForbidden }
			bulk := func(got answer) bool { return got.document(t).Find(".bad").Length() == 1 }
			ways = append(ways,
				way{"page " + do, func(b *browser, _ string) bool { return refusedBy(b.post("/jobs/"+id+"/"+do, nil)) }},
				way{"htmx " + do, func(b *browser, _ string) bool { return refusedBy(b.do("POST", "/jobs/"+id+"/"+do, nil, htmx...)) }},
				way{"undo of " + was, func(b *browser, _ string) bool {
					return refusedBy(b.do("POST", "/jobs/"+id+"/"+do, url.Values{"undo": {"1"}}, htmx...))
				}},
				way{"bulk " + do, func(b *browser, _ string) bool {
					return bulk(b.post("/jobs/bulk", url.Values{"do": {do}, "id": {id}}))
				}},
				way{"bulk undo of " + was, func(b *browser, _ string) bool { return bulk(b.post("/jobs/bulk", undone)) }},
				way{"former " + do, func(b *browser, _ string) bool {
					return strings.Contains(b.post("/xxl-job-admin/jobinfo/"+do, url.Values{"id": {id}}).body, forbiddenText)
				}},
				way{"former 3.x " + do, func(b *browser, _ string) bool {
					return strings.Contains(b.post("/jobinfo/"+do, url.Values{"ids[]": {id}}).body, forbiddenText)
				}},
				way{"token " + do, func(_ *browser, token string) bool {
					_, s := bearer(t, a, token, do+"Job", `{"id":`+id+`}`)
					return s.Code != 200
				}},
			)
		}
		for _, w := range ways {
			reset()
			before := states()
			for name, token := range map[string]string{"of a runner": runs, "of an administrator, narrowed": narrow} {
				if !w.do(runner, token) || states() != before {
					t.Errorf("%s, token %s: it went through: %s, before %s", w.name, name, states(), before)
				}
			}
			if w.do(keeper, keeps) || states() == before {
				t.Errorf("%s: whoever has the right was refused: %s", w.name, states())
			}
		}

		// A file that says so starts nothing either.
		reset()
		text := root.get("/jobs/export/file").body
		swapped := strings.NewReplacer("state: running", "state: stopped", "state: stopped", "state: running").Replace(text)
		if swapped == text {
			t.Fatalf("the file says nothing of states: %s", text)
		}
		doc := runner.upload(t, swapped, url.Values{"states": {"file"}}).document(t)
		if doc.Find(".badge.failed").Length() == 0 || doc.Find(`button[name="confirm"]`).Length() != 0 {
			t.Error("an import may start and stop")
		}
		if got := runner.post("/jobs/import", url.Values{"text": {swapped}, "states": {"file"}, "confirm": {"1"}}); got.status < 400 || states() != "01" {
			t.Errorf("import: %d, %s", got.status, states())
		}

		// Nobody is shown what they may not do.
		shown := func(b *browser) (found []string) {
			t.Helper()
			b.get("/jobs") // takes the message away, which offers to undo
			for _, path := range []string{"/", "/jobs", "/palette?q=st", "/palette", "/runs?range=all", "/jobs/" + ids[0] + "/edit", "/executors/" + group} {
				doc := b.get(path).document(t)
				for _, s := range []string{`form[action$="/start"]`, `form[action$="/stop"]`, ".switch", `[name="do"][value="start"]`, `[name="do"][value="stop"]`, `a[href$="/start"]`, `a[href$="/stop"]`} {
					if doc.Find(s).Length() > 0 {
						found = append(found, path+" "+s)
					}
				}
			}
			return found
		}
		if found := shown(runner); len(found) > 0 {
			t.Errorf("runner is shown %q", found)
		}
		want := []string{`/jobs form[action$="/start"]`, `/jobs form[action$="/stop"]`, "/jobs .switch", `/jobs [name="do"][value="start"]`, `/jobs [name="do"][value="stop"]`}
		if found := shown(keeper); !slices.Equal(found, want) {
			t.Errorf("keeper is shown %q", found)
		}
		doc = keeper.get("/jobs").document(t)
		if doc.Find(`[name="do"][value="delete"]`).Length() != 0 || doc.Find(`a[href$="/run"]`).Length() != 0 || doc.Find(".pick[name]").Length() != 2 {
			t.Error("keeper is shown more than starting and stopping")
		}
	})
}

// TestTheRightToScheduleIsOfItsOwn looks at what stands for it in XXL-JOB's list and in rows.
func TestTheRightToScheduleIsOfItsOwn(t *testing.T) {
	t.Parallel()
	p := auth.NewPrincipal(1, "ann", auth.RoleUser, "7").Grant(8, auth.RightRun).Grant(9, auth.RightSchedule)
	for group, want := range map[int64][]string{7: {"view", "run", "schedule", "edit", "glue"}, 8: {"view", "run"}, 9: {"view", "schedule"}} {
		if got := auth.RightNames(p.Rights(group)); !slices.Equal(got, want) {
			t.Errorf("group %d: %q, want %q", group, got, want)
		}
	}
}
