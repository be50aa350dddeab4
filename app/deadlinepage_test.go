package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db/dbtest"
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
		relaxed := now.Add(3 * time.Hour)
		fire, by := now.Add(-30*time.Minute).Truncate(time.Minute), now.Add(10*time.Minute).Truncate(time.Minute)
		job := func(name, doneBy string) url.Values {
			return form(url.Values{"name": {name}, "group": {"1"}, "schedule_type": {"CRON"}, "cron": {fire.Format("0 4 15 * * ?")}, "done_by": {doneBy}, "start": {"1"}})
		}
		if got := admin.post("/jobs", job("refused", "25:00")); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "“25:00” is no time of day") {
			t.Fatalf("a time that is none: %d", got.status)
		}
		for _, values := range []url.Values{job("nightly", by.Format("15:04")), job("patient", ""), job("relaxed", relaxed.Format("15:04"))} {
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
		beside := func(at, deadline time.Time) string { // with its date where that is another day, as in an hour before midnight
			if at.YearDay() != deadline.YearDay() {
				return at.Format("01-02 15:04")
			}
			return at.Format("15:04")
		}
		ends := fire.Add(time.Hour)
		want := fmt.Sprintf("%s · will probably end at %s, ", by.Format("15:04"), beside(ends, by))
		if got := page("/jobs/1", ".job-summary .late-text"); !strings.HasPrefix(got, want) {
			t.Errorf("the job says %q, want %q", got, want)
		}
		if got := page("/jobs/3", ".job-summary"); !strings.Contains(got, "expected by "+beside(ends, relaxed)) {
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
		done := now.Add(-time.Minute)
		set("UPDATE xxl_job_log SET handle_code = 200, finished_at = ? WHERE id = ?", done.UnixMilli(), run)
		if got := page("/jobs/1", ".job-summary"); !strings.Contains(got, "done at "+beside(done, by)) {
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

// TestADeadlineThatIsTooTightIsSaidBefore has a job that usually takes 20 minutes and is planned ten minutes before it has to be done: the
// preview of its form says so, what is said when it is saved, its page, the list and API v1, before it has run once with them.
func TestADeadlineThatIsTooTightIsSaidBefore(t *testing.T) {
	t.Parallel()
	hour := 5 // far from now, where the job is
	if now := time.Now().In(dbtest.Zone).Hour(); now >= 2 && now < 9 {
		hour = 17
	}
	clock := func(text string) string { return fmt.Sprintf(text, hour, hour+1) }
	onBoth(t, func(t *testing.T, o Options) {
		a, program := apiCaller(t, o)
		admin := open(t, a).mustLogin()
		values := form(url.Values{"name": {"nightly"}, "group": {"1"}, "schedule_type": {"CRON"}, "cron": {fmt.Sprintf("0 50 %d * * ?", hour)}, "time_zone": {""}, "start": {"1"}})
		if got := admin.post("/jobs", values); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d", got.status)
		}
		save := func(doneBy string) string {
			t.Helper()
			values.Set("done_by", doneBy)
			values.Del("version")
			if got := admin.post("/jobs/1", values); got.status != http.StatusSeeOther {
				t.Fatalf("save: %d %s", got.status, got.body)
			}
			return admin.get("/jobs").document(t).Find(".toast").Text()
		}
		preview := func(path string) string {
			return admin.post(path, values).document(t).Find(".notice.warning").Text()
		}
		if said := save(clock("%02[2]d:00")) + preview("/jobs/schedule-preview?job=1"); strings.Contains(said, "hardly") {
			t.Errorf("without a run that tells: %q", said)
		}
		yesterday := time.Now().AddDate(0, 0, -1)
		id := oldRun(t, a, 1, 1, 24*time.Hour, 200, 200, nil)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET planned_at = ?, sent_at = ?, finished_at = ? WHERE id = ?",
			yesterday.UnixMilli(), yesterday.UnixMilli(), yesterday.Add(20*time.Minute).UnixMilli(), id); err != nil {
			t.Fatal(err)
		}
		said := clock("The run at %02[1]d:50 will hardly be done by %02[2]d:00: ")
		if got := save(clock("%02[2]d:00")); !strings.Contains(got, said+"it usually takes up to 20 min.") {
			t.Errorf("saved, it says %q", got)
		}
		if got := preview("/jobs/schedule-preview?job=1"); !strings.Contains(got, said+clock("this job usually takes up to 20 min, so until %02[2]d:10. Start it at least 10 min earlier.")) {
			t.Errorf("the preview says %q", got)
		}
		if got := preview("/jobs/schedule-preview"); strings.Contains(got, "hardly") {
			t.Errorf("that of a new job says %q", got)
		}
		if got := admin.get("/jobs/1/edit").document(t).Find("#preview .notice.warning").Text(); !strings.Contains(got, said) {
			t.Errorf("the form says %q", got)
		}
		if got := strings.Join(strings.Fields(admin.get("/jobs/1").document(t).Find(".job-summary .late-text").Text()), " "); got != clock("%02[2]d:00 · may end as late as %02[2]d:10, 10 min too late") {
			t.Errorf("the page says %q", got)
		}
		mark := admin.get("/jobs").document(t).Find("tbody .late-text")
		if got := mark.Text() + ": " + mark.AttrOr("title", ""); got != clock("Too tight: %02[2]d:00: may end as late as %02[2]d:10, 10 min too late") {
			t.Errorf("the list says %q", got)
		}
		type standing struct {
			Deadline *struct {
				By       *time.Time
				State    string
				TooTight bool `json:"too_tight"`
			}
		}
		deadlines := func(tight bool) {
			t.Helper()
			var list struct{ Items []standing }
			var one standing
			program.json(200, &list, "GET", "/jobs", "")
			program.json(200, &one, "GET", "/jobs/1", "")
			for where, d := range map[string]standing{"a list": list.Items[0], "one": one} {
				if d.Deadline == nil || d.Deadline.State != "ahead" || d.Deadline.By == nil || d.Deadline.TooTight != tight {
					t.Errorf("for programs, in %s: %+v", where, d.Deadline)
				}
			}
		}
		deadlines(true)
		if got := save(clock("%02[2]d:15")) + preview("/jobs/schedule-preview?job=1"); strings.Contains(got, "hardly") {
			t.Errorf("with time enough: %q", got)
		}
		if got := admin.get("/jobs").document(t).Find("tbody .late-text").Text(); got != "" {
			t.Errorf("with time enough, the list says %q", got)
		}
		deadlines(false)
	})
}
