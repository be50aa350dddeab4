package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestTheFormOfARunByHand is that of a flow, which no executor runs; of a job whose parameter stays as it is, also where something else was
// mistyped; and of somebody who may change jobs and not run them.
func TestTheFormOfARunByHand(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		for _, job := range []url.Values{
			{"name": {"as it is"}, "param": {"all"}, "param_fixed": {"1"}},
			{"name": {"a flow"}, "glue": {"FLOW"}, "handler": {""}, "source": {"steps:\n  - {id: first, job: 1}\n"}, "schedule_type": {"NONE"}, "cron": {""}},
		} {
			if got := admin.post("/jobs", form(job)); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		if doc := admin.get("/jobs/2/run").document(t); doc.Find("[name=addresses], .addresses").Length() != 0 || doc.Find("#run-param").Length() != 1 {
			t.Error("a flow is to be sent to an address")
		}
		if got := admin.get("/jobs/2").document(t).Find(".facts-list").Text(); strings.Contains(got, "First") || !strings.Contains(got, "Flow") {
			t.Errorf("a flow has an executor chosen: %q", got)
		}
		if list := admin.get("/jobs").document(t); list.Find(`#job-2 .tag, #job-2 .switch`).Length() != 0 || list.Find("#job-1 .switch").Length() != 1 {
			t.Errorf("a job without a schedule has one that is stopped: %q", list.Find("#job-2").Text())
		}
		got := admin.post("/jobs/1/run", url.Values{"param": {"all"}, "planned": {"yesterday"}})
		doc := got.document(t)
		if _, fixed := doc.Find("#run-param").Attr("readonly"); got.status != http.StatusUnprocessableEntity || !fixed || doc.Find("#run-addresses").Length() != 1 {
			t.Errorf("after a mistyped time: %d, the parameter is fixed: %v", got.status, fixed)
		}
		for name, right := range map[string]string{"editor": "1.edit", "runner": "1.run"} {
			rights := []string{"1.view", "1.edit", right}
			if got := admin.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": rights}); got.status != http.StatusSeeOther {
				t.Fatalf("create %s: %d %s", name, got.status, got.body)
			}
			user := open(t, a)
			user.login(name, testPassword)
			offered := user.get("/jobs/1/edit").document(t).Find(`.page-head [href="/jobs/1/run"]`).Length() == 1
			if may := user.get("/jobs/1/run").status == http.StatusOK; offered != may || may != (name == "runner") {
				t.Errorf("the form offers the %s to run the job: %v, who may: %v", name, offered, may)
			}
		}
	})
}

// TestARunByHandIsSentTwice as by a phone that never heard the answer to the first: the job runs once, and who sent it is led to that run and
// told so. What was changed in between, and a form of its own, are another wish.
func TestARunByHandIsSentTwice(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		if got := admin.post("/jobs", form(url.Values{"name": {"pay"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		wish := func() url.Values {
			return url.Values{"param": {"all"}, "batch": {admin.get("/jobs/1/run").document(t).Find("[name=batch]").AttrOr("value", "")}}
		}
		run := func(w url.Values) (where, told string) {
			t.Helper()
			got := admin.post("/jobs/1/run", w)
			where = got.header.Get("Location")
			return where, admin.get(where).document(t).Find("#toasts").Text()
		}
		w := wish()
		first, told := run(w)
		if !strings.HasPrefix(first, "/runs/") || strings.Contains(told, "already") {
			t.Fatalf("the first leads to %q and says %q", first, told)
		}
		if again, told := run(w); again != first || !strings.Contains(told, "had been run already") {
			t.Errorf("the second leads to %q, not to %q, and says %q", again, first, told)
		}
		w.Set("param", "some")
		if other, _ := run(w); other == first {
			t.Error("another parameter is not run")
		}
		if other, _ := run(wish()); other == first {
			t.Error("a form of its own is not run")
		}
		if w.Set("planned", "yesterday"); admin.post("/jobs/1/run", w).document(t).Find("[name=batch]").AttrOr("value", "") != w.Get("batch") {
			t.Error("a form that comes back with an error is another wish")
		}
	})
}
