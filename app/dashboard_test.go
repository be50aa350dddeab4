package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/link"
)

// oldRun puts a run into the log as if it had been sent a while ago.
func oldRun(t *testing.T, a *App, group, job int64, ago time.Duration, code, handled int64, change func(*db.NewRun)) int64 {
	t.Helper()
	at := time.Now().Add(-ago)
	run := db.NewRun{JobGroup: group, JobID: job, TriggerTime: a.pool.Wall(at), PlannedAt: at.UnixMilli(), Owner: -1, Type: jobspec.TriggerCron, TriggerCode: code}
	if change != nil {
		change(&run)
	}
	id, err := db.InsertRuns(t.Context(), a.pool, []db.NewRun{run})
	if err != nil {
		t.Fatal(err)
	}
	if handled != 0 {
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = ? WHERE id = ?", handled, id); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func TestTheDashboardOfANewInstallation(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	if got := open(t, a).get("/"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login" {
		t.Errorf("a stranger: %d %s", got.status, got.header.Get("Location"))
	}
	doc := open(t, a).mustLogin().get("/").document(t)
	if doc.Find(".empty").Length() != 0 || doc.Find(".steps a").Length() != 4 || doc.Find(".trouble.quiet").Length() != 5 {
		t.Error("a new installation has troubles, or is not told to begin")
	}
}

func TestTheDashboard(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		for _, name := range []string{"orders", "secret"} {
			if got := b.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create group: %d %s", got.status, got.body)
			}
		}
		for _, job := range []url.Values{{"name": {"<b>daily</b>"}, "group": {"1"}}, {"name": {"hidden"}, "group": {"2"}}} {
			if got := b.post("/jobs", form(job)); got.status != http.StatusSeeOther {
				t.Fatalf("create job: %d %s", got.status, got.body)
			}
		}
		shown := oldRun(t, a, 1, 1, time.Hour, 200, 500, nil)
		hidden := oldRun(t, a, 2, 2, time.Hour, 200, 500, nil)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?", time.Now().Add(30*time.Minute).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		got := b.get("/?days=soon")
		doc := got.document(t)
		if strings.Contains(got.body, "<b>daily") || doc.Find(".trouble.failing li").Length() != 2 || doc.Find(".trouble.lost li").Length() != 2 {
			t.Errorf("an administrator sees %s", doc.Find(".troubles").Text())
		}
		if doc.Find(".chart.tall svg a").Length() != 14 || doc.Find(".heat tbody tr").Length() != 7 || doc.Find(".busiest li").Length() == 0 {
			t.Error("a chart is missing")
		}
		// Every number leads to a page.
		seen := make(map[string]bool)
		doc.Find(".dashboard a").Each(func(_ int, s *goquery.Selection) {
			href := s.AttrOr("href", "")
			at, err := url.Parse(href)
			if err != nil {
				t.Errorf("%s: %v", href, err)
				return
			}
			for _, bound := range []string{"from", "to", "at"} {
				if text := at.Query().Get(bound); text != "" && !strings.HasSuffix(at.Path, "/run") { // there it is a run

					if _, err := time.Parse("2006-01-02T15:04", text); err != nil {
						t.Errorf("%s: %v", href, err)
					}
				}
			}
			if path, _, _ := strings.Cut(href, "?"); !seen[path] {
				seen[path] = true
				if got := b.get(href); got.status != http.StatusOK {
					t.Errorf("%s: %d", href, got.status)
				}
			}
		})
		if got := b.get("/?days=90").document(t); got.Find(".chart.tall svg a").Length() != 90 {
			t.Error("the range is not followed")
		}
		if got := b.do("GET", "/", nil, "HX-Request", "true"); strings.Contains(got.body, "<html") || !strings.Contains(got.body, `id="dashboard"`) {
			t.Errorf("the part for the script: %.200s", got.body)
		}
		ann := normalUser(t, a).get("/")
		if !strings.Contains(ann.body, link.Run(shown)+`"`) || strings.Contains(ann.body, link.Run(hidden)+`"`) || strings.Contains(ann.body, "hidden<") || strings.Contains(ann.body, "secret") {
			t.Errorf("a normal user sees %s", ann.document(t).Find(".troubles").Text())
		}
		again := link.JobRunAgain(1, shown)
		if n := doc.Find(`.trouble.failing [hx-get="` + again + `"]`).Length(); n != 1 {
			t.Errorf("%d ways to run the failure again", n)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET permission = '' WHERE username = 'ann'"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_permission (user_id, group_id, rights) SELECT id, 1, ? FROM xxl_job_user WHERE username = 'ann'", int(auth.RightView)); err != nil {
			t.Fatal(err)
		}
		reader := open(t, a)
		reader.login("ann", testPassword)
		if body := reader.get("/").body; !strings.Contains(body, link.Run(shown)+`"`) || strings.Contains(body, again) {
			t.Error("who may not run it is offered to run it again")
		}
	})
}

func TestABroadcastIsShownAsOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		b.post("/jobs", form(nil))
		at := time.Now().Add(-time.Hour)
		var ids []int64
		for i, handled := range []int64{200, 500, 200} {
			ids = append(ids, oldRun(t, a, 1, 1, 0, 200, handled, func(r *db.NewRun) {
				r.TriggerTime, r.PlannedAt, r.Sharding, r.Param = a.pool.Wall(at), at.UnixMilli(), fmt.Sprintf("%d/3", i), "of that run"
			}))
		}
		doc := b.get(link.Run(ids[1])).document(t)
		if n := doc.Find(".shards li").Length(); n != 3 || doc.Find(".shards a").Length() != 2 || doc.Find(".beside .badge.failed").Length() != 1 {
			t.Errorf("%d parts: %s", n, doc.Find(".run-side").Text())
		}
		// Run again asks with the parameter of the run, not of the job.
		again := doc.Find(".run-head .actions a").Last().AttrOr("href", "")
		if got := b.get(again).document(t).Find("textarea[name=param]").Text(); strings.TrimSpace(got) != "of that run" {
			t.Errorf("%s asks with %q", again, got)
		}
		if got := b.get("/runs?range=all&trigger=CRON&executor=nowhere"); got.document(t).Find("tbody tr").Length() != 0 {
			t.Error("the filter by executor leaves runs of others")
		}
		if got := b.get("/jobs/1/run?from=999"); got.status != http.StatusNotFound {
			t.Errorf("again, a run that does not exist: %d", got.status)
		}
	})
}

// TestTheChartOfDaysSaysWhatMatters: one failure in a million runs is three pixels high, a thin line has the week before, one line is now in
// the charts and one field in the week; quiet troubles are a line each, behind those that are not.
func TestTheChartOfDaysSaysWhatMatters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		b.post("/jobs", form(nil))
		b.post("/jobs/1/start", nil)
		oldRun(t, a, 1, 1, time.Hour, 200, 500, nil)
		today := a.pool.Wall(time.Now()).Truncate(24 * time.Hour)
		for ago, count := range map[int][2]int{0: {1_000_000, 1}, 7: {500_000, 0}} {
			if _, err := a.pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log_report WHERE trigger_day = ?", today.AddDate(0, 0, -ago)); err != nil {
				t.Fatal(err)
			}
			if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log_report (trigger_day, running_count, suc_count, fail_count) VALUES (?, 0, ?, ?)", today.AddDate(0, 0, -ago), count[0], count[1]); err != nil {
				t.Fatal(err)
			}
		}
		doc := b.get("/").document(t)
		height := func(s *goquery.Selection) (h float64) {
			if _, err := fmt.Sscan(s.AttrOr("height", ""), &h); err != nil {
				t.Errorf("a height of %q", s.AttrOr("height", ""))
			}
			return h
		}
		days := doc.Find(".chart.tall").First()
		const tall = 190 // pixels, as the style sheet has it
		if bad := height(days.Find("rect.bad")); bad*tall/100 < 3 || bad > 3 {
			t.Errorf("one failure in a million is %v of 100 high", bad)
		}
		// Of 14 bars the last two are of this day and the one before; a week before today is half as high as today.
		points := strings.Fields(days.Find("polyline.before").AttrOr("points", ""))
		if len(points) != 14 || points[13] != "135,52.50" || points[12] != "125,100.00" {
			t.Errorf("the week before: %v", points)
		}
		for name, chart := range map[string]*goquery.Selection{"the days": days, "the week": doc.Find("table.heat")} {
			if n := chart.Find(".now").Length(); n != 1 {
				t.Errorf("%s say %d times that it is now", name, n)
			}
		}
		if n := days.Find("svg > line:not(.now)").Length(); n < 3 {
			t.Errorf("%d lines of a grid", n)
		}
		var troubles []string
		doc.Find(".trouble").Each(func(_ int, s *goquery.Selection) {
			troubles = append(troubles, fmt.Sprint(s.HasClass("quiet"), s.Find("li").Length() > 0, s.AttrOr("title", "") != ""))
		})
		if got, want := strings.Join(troubles, "; "), "false true false; false true false; true false true; true false true; true false true"; got != want {
			t.Errorf("the troubles: %s, want %s", got, want)
		}
		forecast := b.get(link.ForecastPath).document(t)
		if now := forecast.Find(".chart line.now").Length() + forecast.Find(".heat td.now").Length(); now != 2 {
			t.Errorf("the forecast says %d times that it is now", now)
		}
	})
}
