package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestPagesSayWhatMayBeLate has a job that began half an hour ago, has to be done in ten minutes and usually takes an hour: its page, the
// list and its run say so; and not any more when it has ended.
func TestPagesSayWhatMayBeLate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		now := time.Now().In(a.pool.Zone())
		fire, by := now.Add(-30*time.Minute).Truncate(time.Minute), now.Add(10*time.Minute).Truncate(time.Minute)
		job := func(name, doneBy string) url.Values {
			return form(url.Values{"name": {name}, "group": {"1"}, "schedule_type": {"CRON"}, "cron": {fire.Format("0 4 15 * * ?")}, "done_by": {doneBy}, "start": {"1"}})
		}
		if got := admin.post("/jobs", job("refused", "25:00")); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "“25:00” is no time of day") {
			t.Fatalf("a time that is none: %d", got.status)
		}
		for _, values := range []url.Values{job("nightly", by.Format("15:04")), job("patient", ""), job("relaxed", now.Add(3*time.Hour).Format("15:04"))} {
			if got := admin.post("/jobs", values); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		set := func(query string, args ...any) {
			t.Helper()
			if _, err := a.pool.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		set("UPDATE xxl_job_info SET update_time = ?", a.pool.Wall(now.AddDate(0, 0, -7)))
		var run int64
		for jobID := int64(1); jobID <= 3; jobID++ {
			for days := 5; days >= 0; days-- {
				code, at := int64(200), fire.AddDate(0, 0, -days)
				if days == 0 {
					code = 0
				}
				id := oldRun(t, a, 1, jobID, now.Sub(at), 200, code, nil)
				set("UPDATE xxl_job_log SET planned_at = ?, sent_at = ? WHERE id = ?", at.UnixMilli(), at.UnixMilli(), id)
				if code != 0 {
					set("UPDATE xxl_job_log SET finished_at = ? WHERE id = ?", at.Add(time.Hour).UnixMilli(), id)
				}
				if jobID == 1 {
					run = id
				}
			}
		}
		words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		page := func(path, selector string) string {
			t.Helper()
			got := admin.get(path)
			if got.status != http.StatusOK {
				t.Fatalf("%s: %d", path, got.status)
			}
			return words(got.document(t).Find(selector).Text())
		}
		ends := fire.Add(time.Hour).Format("15:04")
		want := fmt.Sprintf("%s · will probably end at %s, ", by.Format("15:04"), ends)
		if got := page("/jobs/1", ".job-summary .late-text"); !strings.HasPrefix(got, want) {
			t.Errorf("the job says %q, want %q", got, want)
		}
		if got := page("/jobs/3", ".job-summary"); !strings.Contains(got, "expected by "+ends) {
			t.Errorf("one that has time says %q", got)
		}
		if got := page("/jobs/2", ".job-summary"); strings.Contains(got, "Done by") {
			t.Errorf("one without a deadline says %q", got)
		}
		if got := page("/jobs", "tbody .late-text"); got != "May miss "+by.Format("15:04") {
			t.Errorf("the list says %q", got)
		}
		here := fmt.Sprintf("/runs/%d", run)
		if got := page(here, ".summary .late-text"); !strings.Contains(got, by.Format("15:04")+", will probably be ") {
			t.Errorf("the run says %q", got)
		}
		set("UPDATE xxl_job_log SET handle_code = 200, finished_at = ? WHERE id = ?", now.Add(-time.Minute).UnixMilli(), run)
		if got := page("/jobs/1", ".job-summary"); !strings.Contains(got, "done at "+now.Add(-time.Minute).Format("15:04")) {
			t.Errorf("when it is done, the job says %q", got)
		}
		if got := page("/jobs", "tbody .late-text") + page(here, ".summary .late-text"); got != "" {
			t.Errorf("when it is done, there is still %q", got)
		}
		set("UPDATE xxl_job_log SET finished_at = ? WHERE id = ?", by.Add(5*time.Minute).UnixMilli(), run)
		if got := page(here, ".summary .late-text"); !strings.Contains(got, by.Format("15:04")+", 5 min late") {
			t.Errorf("a run that ended too late says %q", got)
		}
	})
}
