package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestARunByHandIsAskedForTheFieldsOfItsParameter in the console, by API v1 and from the command line; what does not fit is named at its field. A run
// from before goes again as it was, and one whose parameter is fixed is asked for nothing.
func TestARunByHandIsAskedForTheFieldsOfItsParameter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		admin := open(t, a).mustLogin()
		const asked = "date: {type: date, required: true, label: Business day}\nregion: {choices: [eu, us], help: Where}\ndry: {type: flag}"
		var job struct {
			ID   int
			Form string `json:"parameter_form"`
		}
		c.json(201, &job, "POST", "/jobs", `{"group_id":1,"description":"report","author":"ann","handler":"report","schedule":"NONE","parameter":"before","retries":0}`)
		var before struct{ Runs []int64 }
		c.json(201, &before, "POST", fmt.Sprintf("/jobs/%d/trigger", job.ID), `{}`)
		var wrong refusal
		if c.json(422, &wrong, "PATCH", fmt.Sprintf("/jobs/%d", job.ID), fmt.Sprintf(`{"parameter_form":%q}`, asked)); len(wrong.Errors) != 1 || wrong.Errors[0].Field != "parameter" {
			t.Errorf("its own parameter is no object: %+v", wrong)
		}
		if c.json(422, &wrong, "PATCH", fmt.Sprintf("/jobs/%d", job.ID), `{"parameter_form":"date: {typ: date}"}`); len(wrong.Errors) != 1 || wrong.Errors[0].Field != "parameter_form" || !strings.Contains(wrong.Errors[0].Detail, "Line 1") {
			t.Errorf("a form that cannot be read: %+v", wrong)
		}
		if c.json(200, &job, "PATCH", fmt.Sprintf("/jobs/%d", job.ID), fmt.Sprintf(`{"parameter":"","parameter_form":%q}`, asked)); job.Form != asked {
			t.Errorf("it has the form %q", job.Form)
		}

		page := fmt.Sprintf("/jobs/%d/run", job.ID)
		doc := admin.get(page).document(t)
		if doc.Find(`main [name="param.date"][type=date][required]`).Length() != 1 || doc.Find(`main select[name="param.region"] option`).Length() != 3 ||
			doc.Find(`main [name="param.dry"][type=checkbox]`).Length() != 1 || doc.Find("main [name=param]").Length() != 0 || !strings.Contains(doc.Find("main").Text(), "Business day") {
			t.Errorf("the form asks: %s", doc.Find("main form").Text())
		}
		got := admin.post(page, url.Values{"param.region": {"cn"}, "param.dry": {"true"}})
		doc = got.document(t)
		if got.status != http.StatusUnprocessableEntity || doc.Find(`[name="param.date"][aria-invalid=true]`).Length() != 1 || doc.Find(`[name="param.region"][aria-invalid=true]`).Length() != 1 || doc.Find(`[name="param.dry"][checked]`).Length() != 1 {
			t.Errorf("what is wrong: %d %s", got.status, doc.Find("main").Text())
		}
		run := admin.runOnce(fmt.Sprintf("/jobs/%d", job.ID), url.Values{"param.date": {"2026-02-28"}, "param.region": {"eu"}})
		var ran struct{ Parameter string }
		if c.json(200, &ran, "GET", run, ""); ran.Parameter != `{"date":"2026-02-28","region":"eu","dry":false}` {
			t.Errorf("it ran with %s", ran.Parameter)
		}
		from := admin.get(page + "?from=" + strings.TrimPrefix(run, "/runs/")).document(t)
		if value := from.Find(`[name="param.date"]`).AttrOr("value", ""); value != "2026-02-28" || from.Find(`[name="param.region"] [selected]`).AttrOr("value", "") != "eu" {
			t.Errorf("to run it again the form has %q", value)
		}

		trigger := fmt.Sprintf("/jobs/%d/trigger", job.ID)
		if c.json(422, &wrong, "POST", trigger, `{"parameter":"{\"date\":\"soon\",\"regoin\":\"eu\"}"}`); len(wrong.Errors) != 2 || wrong.Errors[0].Field != "parameter.date" || wrong.Errors[1].Field != "parameter" {
			t.Errorf("by the API: %+v", wrong)
		}
		if c.json(422, &wrong, "POST", trigger, `{}`); len(wrong.Errors) != 1 || wrong.Errors[0].Field != "parameter.date" {
			t.Errorf("by the API with its own, which has none: %+v", wrong)
		}
		if out, err := punctual(t, "run", "report", "--param", `{"date":"soon"}`, "--url", c.base, "--token", c.token); err == nil || !strings.Contains(err.Error(), "Business day") {
			t.Errorf("from the command line: %v %s", err, out)
		}
		if out, err := punctual(t, "run", "report", "--param", `{"date":"2026-02-28"}`, "--url", c.base, "--token", c.token); err != nil {
			t.Errorf("from the command line: %v %s", err, out)
		}
		if again := admin.post("/runs/rerun", url.Values{"id": {fmt.Sprint(before.Runs[0])}}); again.status != http.StatusOK || strings.Contains(again.document(t).Find("main").Text(), "JSON") {
			t.Errorf("a run from before, again: %d %s", again.status, again.document(t).Find("main").Text())
		}
		exported, err := punctual(t, "jobs", "export", "--url", c.base, "--token", c.token)
		if err != nil || !strings.Contains(exported, "parameter_form: |-\n          date: {type: date") {
			t.Errorf("its file: %v %s", err, exported)
		}
		c.json(200, &job, "PATCH", fmt.Sprintf("/jobs/%d", job.ID), `{"parameter":"{\"date\":\"2026-03-01\"}","parameter_fixed":true}`)
		if doc := admin.get(page).document(t); doc.Find("main [name=param][readonly]").Length() != 1 || doc.Find(`main [name="param.date"]`).Length() != 0 {
			t.Errorf("its parameter is fixed, and the form asks: %s", doc.Find("main form").Text())
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET executor_param = '' WHERE id = ?", job.ID); err != nil { // as XXL-JOB, put back, would
			t.Fatal(err)
		}
		refused := admin.post(page, url.Values{"param": {""}})
		if text := refused.document(t).Find("main .error").Text(); refused.status != http.StatusUnprocessableEntity || !strings.Contains(text, "Business day") {
			t.Errorf("its own, which is fixed, lacks a field: %d, and says %q", refused.status, text)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET param_fixed = 0 WHERE id = ?", job.ID); err != nil {
			t.Fatal(err)
		}
		refused = admin.post(page, url.Values{"param": {`{"date":"soon","region":"us"}`}}) // of a dialog from before the job had fields
		if doc := refused.document(t); refused.status != http.StatusUnprocessableEntity || doc.Find(`[name="param.region"] [selected]`).AttrOr("value", "") != "us" {
			t.Errorf("what was typed as one text is lost: %d %s", refused.status, doc.Find("main form").Text())
		}
		if got := admin.get(fmt.Sprintf("/jobs/%d/edit", job.ID)).document(t).Find("[name=param_form]").Text(); strings.TrimSpace(got) != asked {
			t.Errorf("the form of the job has %q", got)
		}
	})
}
