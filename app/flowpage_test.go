package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// flowText is a branch, an approval and a step for each item of a list that an earlier step gave.
const flowText = `on_failure: continue
steps:
  - id: fetch
    job: {id: 1}
    parameter: "day ${{ flow.param }}"
  - id: broken
    name: Broken branch
    needs: [fetch]
    job: {id: 2}
  - id: each
    needs: [fetch]
    job: {id: 1}
    foreach: {items: "steps.fetch.output.list", parallel: 2}
    parameter: "${{ item }}"
  - id: ask
    needs: [each]
    approve: {message: "Let ${{ steps.fetch.output.rows }} rows go?"}
  - id: pay
    needs: [ask]
    job: {id: 1}
`

// TestARunOfAFlowOutlivesThoseOfItsSteps: retention of their jobs, or somebody, has deleted them. What they came to is still told, and no
// link leads to what is not there.
func TestARunOfAFlowOutlivesThoseOfItsSteps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		ex := executortest.New(t, admin.base, executortest.Handlers{
			"work": func(_ context.Context, r *executor.Run) error { r.SetResult("did " + r.Param); return nil },
		}, func(c *executor.Config) { c.Token, c.AppName = o.AccessToken, "orders" })
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {ex.URL}})
		admin.post("/jobs", form(url.Values{"name": {"the work"}, "handler": {"work"}, "schedule_type": {"NONE"}, "cron": {""}}))
		source := "steps:\n  - {id: first, job: 1, parameter: alone}\n  - {id: each, needs: first, job: 1, foreach: {items: '[7, 8]', parallel: 1}, parameter: \"item ${{ item }}\"}\n"
		if got := admin.post("/jobs", form(url.Values{"name": {"counted"}, "glue": {"FLOW"}, "handler": {""}, "source": {source}, "schedule_type": {"NONE"}, "cron": {""}})); got.status != http.StatusSeeOther {
			t.Fatalf("create the flow: %d %s", got.status, got.body)
		}
		path := admin.runOnce("/jobs/2", nil)
		executortest.Eventually(t, "it has succeeded", func() error {
			if class := admin.get(path).document(t).Find("#step-each").AttrOr("class", ""); class != "at-success" {
				return fmt.Errorf("the last step is %q", class)
			}
			return nil
		})
		items := path + "/steps/each"
		if href := admin.get(path).document(t).Find("#step-each a").First().AttrOr("href", ""); href != items {
			t.Fatalf("the items are at %q", href)
		}
		gone := []string{admin.get(path).document(t).Find(`#step-first a[href^="/runs/"]`).AttrOr("href", ""), admin.get(items).document(t).Find(`tbody a[href^="/runs/"]`).First().AttrOr("href", "")}
		for _, run := range gone {
			if _, err := a.pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log WHERE id = ?", strings.TrimPrefix(run, "/runs/")); err != nil {
				t.Fatal(err)
			}
		}
		// Who may see the flow and not its steps' jobs hears of no run, neither that it is there nor that it is gone.
		admin.post("/executors", url.Values{"app_name": {"others"}, "title": {"others"}})
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = 2 WHERE id = 2"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET job_group = 2 WHERE job_id = 2"); err != nil {
			t.Fatal(err)
		}
		if got := admin.post("/users", url.Values{"name": {"looker"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"2.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("a user: %d %s", got.status, got.body)
		}
		looker := open(t, a)
		if got := looker.login("looker", testPassword); got.status != http.StatusSeeOther {
			t.Fatalf("login: %d", got.status)
		}
		if doc := looker.get(items).document(t); doc.Find("tbody tr").Length() != 2 || strings.Contains(doc.Find("main").Text(), "(no longer kept)") || doc.Find(`tbody a[href^="/runs/"]`).Length() != 0 {
			t.Errorf("somebody without the right hears %s", doc.Find("main").Text())
		}
		for _, at := range []string{path, items} {
			page := admin.get(at)
			doc := page.document(t)
			if page.status != http.StatusOK || doc.Find(`[href="`+gone[0]+`"], [href="`+gone[1]+`"]`).Length() != 0 {
				t.Errorf("%s: %d, and it leads to a run that is not there", at, page.status)
			}
			if !strings.Contains(doc.Find("main").Text(), "(no longer kept)") || !strings.Contains(page.body, "did ") {
				t.Errorf("%s does not tell of it, or what it came to", at)
			}
		}
		if doc := admin.get(items).document(t); doc.Find(`tbody a[href^="/runs/"]`).Length() != 1 || doc.Find("tbody tr").Length() != 2 {
			t.Error("the other item has lost its run")
		}
	})
}

// consoleOfFlows is a console with two jobs, for the steps of flowText, and the executor of both.
type consoleOfFlows struct {
	a      *App
	admin  *browser
	mended chan struct{} // closed: the job that fails does no longer
}

func openConsoleOfFlows(t *testing.T, o Options) consoleOfFlows {
	t.Helper()
	a := start(t, o)
	admin := open(t, a).mustLogin()
	mended := make(chan struct{})
	ex := executortest.New(t, admin.base, executortest.Handlers{
		"work": func(_ context.Context, r *executor.Run) error {
			if strings.HasPrefix(r.Param, "day") {
				r.SetResult(`{"rows": 412, "list": ["north", "south", "east"]}`)
			}
			return nil
		},
		"broken": func(context.Context, *executor.Run) error {
			select {
			case <-mended:
				return nil
			default:
				return fmt.Errorf("EUR/CNY missing")
			}
		},
	}, func(c *executor.Config) { c.Token, c.AppName = o.AccessToken, "orders" })
	admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {ex.URL}})
	for _, handler := range []string{"work", "broken"} {
		if got := admin.post("/jobs", form(url.Values{"name": {"the " + handler}, "handler": {handler}, "schedule_type": {"NONE"}, "cron": {""}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
	}
	return consoleOfFlows{a, admin, mended}
}

// flowDefined is the form of a flow.
func flowDefined(source string) url.Values {
	return form(url.Values{"name": {"end of day"}, "glue": {"FLOW"}, "handler": {""}, "source": {source}, "schedule_type": {"NONE"}, "cron": {""}})
}

// create makes the flow of flowText.
func (c consoleOfFlows) create(t *testing.T) {
	t.Helper()
	if got := c.admin.post("/jobs", flowDefined(flowText)); got.status != http.StatusSeeOther {
		t.Fatalf("create the flow: %d %s", got.status, got.body)
	}
}

// somebody makes a user with some rights, and logs them in.
func (c consoleOfFlows) somebody(t *testing.T, name string, rights ...string) *browser {
	t.Helper()
	c.admin.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": rights})
	b := open(t, c.a)
	b.login(name, testPassword)
	return b
}

// TestAFlowIsMadeInTheConsole: while it is written there are its picture and its plan, or what is wrong and where.
func TestAFlowIsMadeInTheConsole(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		c := openConsoleOfFlows(t, o)
		admin := c.admin
		preview := admin.post("/jobs/flow-preview", flowDefined(flowText))
		doc := preview.document(t)
		if n := doc.Find("svg.flow-wide .flow-step").Length(); preview.status != http.StatusOK || n != 5 || doc.Find(".notice.error").Length() != 0 {
			t.Fatalf("the picture: %d, %d steps: %s", preview.status, n, preview.body)
		}
		plan := strings.Join(strings.Fields(doc.Find(".flow-plan ol").Text()), " ")
		for _, want := range []string{"the work", "Broken branch", "${{ item }}"} {
			if !strings.Contains(plan, want) {
				t.Errorf("the plan does not tell %q: %s", want, plan)
			}
		}
		wrong := strings.Replace(flowText, "needs: [ask]", "needs: [aks]", 1)
		doc = admin.post("/jobs/flow-preview", flowDefined(wrong)).document(t)
		if text := doc.Find(".notice.error").Text(); !strings.Contains(text, "pay") || !strings.Contains(text, "line 19") || doc.Find("svg.flow-wide .flow-step.wrong").Length() != 1 {
			t.Errorf("a step that there is not: %q", text)
		}
		refused := admin.post("/jobs", flowDefined(wrong))
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.body, "needs: [aks]") || !strings.Contains(refused.body, "flow-step wrong") {
			t.Errorf("saved although wrong, or what was typed is lost: %d", refused.status)
		}

		c.create(t)
		for _, at := range []string{"/jobs/3", "/jobs/3/edit", "/jobs"} { // it has no script
			if got := strings.TrimSpace(admin.get(at).document(t).Find(`.actions a[href="/jobs/3/glue"], .row-actions a[href="/jobs/3/glue"]`).First().Text()); got != "Edit the definition" {
				t.Errorf("on %s %q leads to the definition", at, got)
			}
		}
		if doc := admin.get("/jobs/3").document(t); doc.Find(".flow-picture svg.flow-tall .flow-step").Length() != 5 || doc.Find(`.flow-list a[href="/jobs/1"]`).Length() != 3 {
			t.Error("the page of the job does not show its steps")
		}
		editor := admin.get("/jobs/3/glue")
		if doc := editor.document(t); doc.Find("textarea[data-editor]").Length() != 0 || doc.Find(".flow-picture > svg").Length() != 2 || strings.Contains(editor.body, "glue-try") {
			t.Error("the editor of the definition is that of a script")
		}

		// The palette offers the editor of the definition to whom it is open: who may edit jobs, whatever they may do to scripts.
		for b, want := range map[*browser]int{c.somebody(t, "edda", "1.view", "1.edit"): 1, c.somebody(t, "jonas", "1.view"): 0, admin: 1} {
			hit := b.get("/palette?q=end+of+day").document(t).Find(`main a[href="/jobs/3/glue"]`)
			offered := hit.Length()
			if offered == 1 && !strings.Contains(hit.Text(), "Edit the definition") {
				t.Errorf("the hit says %q", hit.Text())
			}
			if opens := b.get("/jobs/3/glue").status == http.StatusOK; offered != want || opens != (want == 1) {
				t.Errorf("the editor is offered %d times, want %d; it opens: %v", offered, want, opens)
			}
		}
	})
}

// TestAFlowIsSeenAndSteeredInTheConsole runs one that fails, whose approval somebody gives, and what failed of it once more.
func TestAFlowIsSeenAndSteeredInTheConsole(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		c := openConsoleOfFlows(t, o)
		admin := c.admin
		c.create(t)
		path := admin.runOnce("/jobs/3", url.Values{"param": {"2026-03-03"}})
		step := func(path, id string) string { // the class of a step in the list
			return admin.get(path).document(t).Find("#step-"+id).AttrOr("class", "")
		}
		until := func(path, id, want string) {
			t.Helper()
			executortest.Eventually(t, id+" "+want, func() error {
				if got := step(path, id); got != want {
					return fmt.Errorf("%s is %q", id, got)
				}
				return nil
			})
		}
		until(path, "ask", "at-approval")
		until(path, "broken", "at-failed")
		page := admin.get(path)
		doc := page.document(t)
		for _, want := range []string{"Let 412 rows go?", "day 2026-03-03", "3 of 3 items", `data-live-every`, "EUR/CNY missing"} {
			if !strings.Contains(page.body, want) {
				t.Errorf("the page of the run does not tell %q", want)
			}
		}
		if doc.Find(".time-grid .time-row").Length() < 4 || doc.Find("svg.flow-wide .at-approval").Length() != 1 || doc.Find("[data-log]").Length() != 0 {
			t.Error("the page of the run has no timeline, no states, or an output")
		}
		// Each step leads to its run, which says whose step it is.
		link := doc.Find(`#step-fetch .facts-line a`).AttrOr("href", "")
		if of := admin.get(link).document(t).Find(".step-of a").AttrOr("href", ""); of != path {
			t.Errorf("the run of a step, %s, leads to %s, want %s", link, of, path)
		}
		items := admin.get(path + "/steps/each")
		if doc := items.document(t); doc.Find("tbody tr").Length() != 3 || !strings.Contains(items.body, "south") {
			t.Errorf("the items: %d %s", items.status, items.body)
		}
		if got := admin.get(path + "/steps/fetch"); got.status != http.StatusNotFound {
			t.Errorf("the items of a step that has none: %d", got.status)
		}

		// Somebody who may only look is shown no button, and refused.
		jonas := c.somebody(t, "jonas", "1.view")
		if doc := jonas.get(path).document(t); doc.Find(".flow-deeds").Length() != 0 || doc.Find("#step-ask").Length() != 1 {
			t.Error("somebody who may not run it sees what to do, or no steps")
		}
		if got := jonas.post(path+"/steps/ask/approve", url.Values{}); got.status != http.StatusForbidden {
			t.Errorf("approved without the right: %d", got.status)
		}

		// What cannot be done is not asked for either.
		for at, why := range map[string]string{
			"/steps/fetch/skip": "The step has succeeded", "/steps/fetch/reject": "waits for no approval", "/steps/each/approve": "waits for no approval",
			"/steps/fetch/rerun": "still going on",
		} {
			if got := admin.get(path + at); got.status != http.StatusConflict || !strings.Contains(got.body, why) {
				t.Errorf("%s is asked for while the flow goes on: %d %s", at, got.status, got.document(t).Find("main").Text())
			}
		}

		// What cannot be done is said in the dialog, with the remark kept.
		if got := admin.post(path+"/steps/fetch/skip", url.Values{"remark": {"not needed"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "not needed") || !strings.Contains(got.body, "notice error") {
			t.Errorf("skipped what has succeeded: %d", got.status)
		}
		if got := admin.get(path + "/steps/ask/explode"); got.status != http.StatusNotFound {
			t.Errorf("an unknown deed: %d", got.status)
		}
		if got := admin.post(path+"/rerun", url.Values{}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("repeated while it goes on: %d", got.status)
		}
		if asked := admin.get(path + "/kill").document(t).Find(".panel-page").Text(); !strings.Contains(asked, "no further step starts") || strings.Contains(asked, "executor at") {
			t.Errorf("the question before it is ended says %q", asked)
		}
		if call := admin.get(path).document(t).Find("[data-awaited]"); call.Length() != 1 || call.Find(`a[href="#step-ask"]`).Length() != 1 || !strings.Contains(call.Text(), "Let 412 rows go?") ||
			call.Find(`a.primary[href="`+path+`/steps/ask/approve"]`).Length() != 1 || call.Find(`a.button[href="`+path+`/steps/ask/reject"]`).Length() != 1 {
			t.Errorf("the page begins without what it waits for, and where that is answered: %q", call.Text())
		}
		if asked := admin.get(path + "/steps/ask/approve"); !strings.Contains(asked.body, "Let 412 rows go?") || !strings.Contains(asked.body, `name="remark"`) {
			t.Error("the question does not say what is approved")
		}
		if got := admin.post(path+"/steps/ask/approve", url.Values{"remark": {"the amounts agree"}}); got.status != http.StatusSeeOther {
			t.Fatalf("approve: %d %s", got.status, got.body)
		}
		until(path, "pay", "at-success")
		executortest.Eventually(t, "over", func() error {
			if doc := admin.get(path).document(t); doc.Find("[data-live-every]").Length() != 0 {
				return fmt.Errorf("it goes on")
			}
			return nil
		})
		page = admin.get(path)
		if doc := page.document(t); doc.Find("[data-awaited]").Length() != 0 || !strings.Contains(doc.Find("#step-ask").Text(), "the amounts agree") || doc.Find(`.actions a[href="`+path+`/rerun"]`).Length() != 1 {
			t.Error("who approved, and the rerun of what failed, are not shown")
		}
		if asked := admin.get(path + "/rerun").document(t).Find(".panel .facts").Text(); !strings.Contains(asked, "Broken branch") || strings.Contains(asked, "fetch") {
			t.Errorf("what runs again: %q", asked)
		}
		for _, deed := range []string{"approve", "reject"} {
			if got := admin.get(path + "/steps/ask/" + deed); got.status != http.StatusConflict || !strings.Contains(got.body, "has ended") {
				t.Errorf("%s is asked for after the answer: %d", deed, got.status)
			}
		}
		close(c.mended)
		got := admin.post(path+"/rerun", url.Values{})
		again := got.header.Get("Location")
		if got.status != http.StatusSeeOther || !runInPath.MatchString(again) || again == path {
			t.Fatalf("rerun: %d %q", got.status, again)
		}
		until(again, "broken", "at-success")
		until(again, "pay", "at-success")
		if page := admin.get(again); !strings.Contains(page.body, `href="`+path+`"`) {
			t.Error("the rerun does not say whose results it begins with")
		}
		// What happened to its run is that of a flow also for who may not see its job any more.
		happened := func() string {
			return strings.Join(strings.Fields(jonas.get(path).document(t).Find("#run-side .timeline").Text()), " ")
		}
		before := happened()
		if _, err := c.a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = 99 WHERE id = 3"); err != nil {
			t.Fatal(err)
		}
		if after := happened(); !strings.Contains(after, "Ended") || after != before {
			t.Errorf("what happened is %q when the flow has moved, and was %q", after, before)
		}
	})
}
