package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestThePageOfBackfills shows what would run before it runs, and then how far it is; also for runs that failed.
func TestThePageOfBackfills(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn
		a := start(t, o)
		b := open(t, a).mustLogin()
		if got := b.post("/jobs", form(url.Values{"param": {"day=${{ planned | yyyy-MM-dd, -1d }}"}, "time_zone": {"Asia/Tokyo"}, "cron": {"0 0 2 * * ?"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		var job, group int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id, job_group FROM xxl_job_info ORDER BY id DESC LIMIT 1").Scan(&job, &group); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("/jobs/%d/backfill", job)
		if got := b.get(fmt.Sprintf("/jobs/%d", job)).document(t).Find(fmt.Sprintf(`a[href=%q]`, path)); got.Length() != 1 {
			t.Errorf("the page of the job has %d ways to it", got.Length())
		}
		values := func(more ...string) url.Values {
			v := url.Values{"kind": {"schedule"}, "from": {"2026-03-01T00:00"}, "until": {"2026-03-04T00:00"}, "order": {"oldest"}, "at_once": {"2"}}
			for i := 0; i < len(more); i += 2 {
				v.Set(more[i], more[i+1])
			}
			return v
		}
		rows := func() *goquery.Selection { return b.get(path).document(t).Find("#backfills tbody tr") }
		for name, bad := range map[string]url.Values{
			"from": values("from", "yesterday"), "until": values("until", "2026-03-01T00:00"), "at_once": values("at_once", "0"),
		} {
			got := b.post(path, bad)
			field := got.document(t).Find(fmt.Sprintf("[name=%s][aria-invalid=true]", name))
			if kept, _ := field.Attr("value"); got.status != http.StatusUnprocessableEntity || field.Length() != 1 || kept != bad.Get(name) {
				t.Errorf("%s: %d, kept %q", name, got.status, kept)
			}
		}
		if got := b.post(path, values("kind", "failed")); got.status != http.StatusUnprocessableEntity {
			t.Errorf("no run has failed: %d", got.status)
		}

		shown := b.post(path, values()).document(t)
		if text := shown.Find("main").Text(); !strings.HasPrefix(shown.Find("[name=shown]").AttrOr("value", ""), "3-") || shown.Find(`time[datetime="2026-03-01T02:00:00.000+09:00"]`).Text() != "2026-03-01 02:00:00" || !strings.Contains(text, "day=2026-02-28") {
			t.Errorf("shown: %s", text)
		}
		for block, want := range map[string]string{"DISCARD_LATER": "This job leaves out", "COVER_EARLY": "This job ends the run", "SERIAL_EXECUTION": ""} {
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET executor_block_strategy = ? WHERE id = ?", block, job); err != nil {
				t.Fatal(err)
			}
			notice := strings.TrimSpace(b.post(path, values()).document(t).Find("[aria-labelledby=plan-title] .notice").Text())
			if !strings.HasPrefix(notice, want) || want == "" && notice != "" {
				t.Errorf("%s: the plan says %q", block, notice)
			}
		}
		if n := rows().Length(); n != 0 {
			t.Errorf("%d backfills before anybody has said so", n)
		}
		asShown := func(more ...string) url.Values {
			t.Helper()
			v := values(more...)
			v.Set("shown", b.post(path, v).document(t).Find("[name=shown]").AttrOr("value", ""))
			return v
		}
		before := asShown()
		for column, change := range map[string]struct{ to, back, say string }{
			"schedule_conf":  {"0 0 */12 * * ?", "0 0 2 * * ?", "The number has changed"},
			"time_zone":      {"Asia/Shanghai", "Asia/Tokyo", "not the planned times"},
			"executor_param": {"day=1", "day=${{ planned | yyyy-MM-dd, -1d }}", "The parameter has changed"},
		} {
			set := func(to string) {
				t.Helper()
				if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET "+column+" = ? WHERE id = ?", to, job); err != nil {
					t.Fatal(err)
				}
			}
			set(change.to)
			got := b.post(path, before)
			if text := got.document(t).Find(".notice").Text(); got.status != http.StatusOK || rows().Length() != 0 || !strings.Contains(text, change.say) {
				t.Errorf("after a change of %s: %d, %q, %d backfills", column, got.status, text, rows().Length())
			}
			set(change.back)
		}
		if got := b.post(path, before); got.status != http.StatusSeeOther {
			t.Fatalf("start: %d %s", got.status, got.body)
		}
		ended := func(good string) {
			t.Helper()
			executortest.Eventually(t, "the end of the backfill", func() error {
				if row := rows().First(); row.Find("progress").AttrOr("value", "") != good || row.Find(".badge.success").Length() != 1 || row.Find("form").Length() != 0 {
					return fmt.Errorf("%s", row.Text())
				}
				return nil
			})
		}
		ended("3")

		planned := time.Date(2026, 3, 2, 17, 0, 0, 0, time.UTC)
		_, err := db.InsertRuns(t.Context(), a.pool, []db.NewRun{{JobGroup: group, JobID: job, TriggerTime: a.pool.Wall(planned), PlannedAt: planned.UnixMilli(), PlannedFor: planned.UnixMilli(),
			Type: jobspec.TriggerCron, TriggerCode: 500, Message: "x", Param: "day=own"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.post(path, asShown("kind", "failed")); got.status != http.StatusSeeOther {
			t.Fatalf("run what failed: %d %s", got.status, got.body)
		}
		ended("1")
		var param string
		var at int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT executor_param, planned_for FROM xxl_job_log WHERE job_id = ? ORDER BY id DESC LIMIT 1", job).Scan(&param, &at); err != nil || param != "day=own" || at != planned.UnixMilli() {
			t.Errorf("%v, it ran with %q for %d", err, param, at)
		}
		if got := b.post(path+"/1/stop", nil); got.status != http.StatusConflict {
			t.Errorf("stop of what is over: %d", got.status)
		}
	})
}

// TestAnOpenBackfillIsOnThePageOfItsJob: also for those who may not end it, and until it is over.
func TestAnOpenBackfillIsOnThePageOfItsJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		if got := admin.post("/jobs", form(url.Values{"time_zone": {"Asia/Tokyo"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		if got := admin.post("/users", url.Values{"name": {"viewer"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		viewer := open(t, a)
		viewer.login("viewer", testPassword)
		from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.FixedZone("Tokyo", 9*3600))
		_, err := db.New().InsertBackfill(t.Context(), a.pool, db.InsertBackfillParams{JobID: 1, Kind: backfill.OfSchedule, FromAt: from.UnixMilli(), UntilAt: from.AddDate(0, 0, 3).UnixMilli(), AtOnce: 2, State: backfill.Paused, Total: 3, MadeAt: from.UnixMilli(), MadeBy: "admin"})
		if err != nil {
			t.Fatal(err)
		}
		for b, forms := range map[*browser]int{admin: 2, viewer: 0} {
			open := b.get("/jobs/1").document(t).Find("[aria-labelledby=job-backfills]")
			if text := strings.Join(strings.Fields(open.Text()), " "); open.Find("progress").AttrOr("max", "") != "3" || open.Find("form").Length() != forms || open.Find("a").AttrOr("href", "") != "/jobs/1/backfill" ||
				!strings.Contains(text, "2026-03-01 00:00:00 – 2026-03-04 00:00:00 Paused 0 succeeded, 0 failed, 0 under way, 3 left") {
				t.Errorf("%d forms and %q", open.Find("form").Length(), text)
			}
		}
		// What goes on comes before a new one.
		if page := admin.get("/jobs/1/backfill").body; strings.Index(page, `id="backfills"`) > strings.Index(page, `name="at_once"`) {
			t.Error("the backfill that goes on stands below the form")
		}
		if got := admin.post("/jobs/1/backfill/1/stop", url.Values{"next": {"/jobs/1"}}); got.status != http.StatusSeeOther || got.header.Get("Location") != "/jobs/1" {
			t.Errorf("stop: %d to %q", got.status, got.header.Get("Location"))
		}
		if got := admin.get("/jobs/1").document(t).Find("[aria-labelledby=job-backfills]"); got.Length() != 0 {
			t.Errorf("of what is over: %s", got.Text())
		}
	})
}
