package bench

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
)

const (
	pageRequests = 40              // of each page
	unmeasured   = 2               // before them, which plan and warm
	pageTime     = 2 * time.Second // and for how long at most
	pagePassword = "kettle-orbit-lamp-17"
)

// page is something that a browser asks for. Arguments that vary with the request keep caches from making it easier than it is.
type page struct {
	name string
	path func(i int) string
	api  bool                   // asked for by a program
	form func(i int) url.Values // of a POST; nil: a GET
	part bool                   // asked for by htmx
}

// pages opens every page of the console, over HTTP and one at a time, in a large installation, as an administrator and as
// somebody who may see three groups. The time is that of the whole answer, from this machine; the CPU time, which other work on it
// changes less, is all that the two programs used meanwhile.
func pages(ctx context.Context, s Settings, database string) (err error) {
	dir := filepath.Join(s.Dir, database)
	if s.Dir == "" {
		if dir, err = os.MkdirTemp("", "punctual-bench"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	y, err := newSystemIn(ctx, dir, s, database)
	if err != nil {
		return err
	}
	y.kept = s.Dir != ""
	defer func() { err = errors.Join(err, y.close()) }()
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	facts, err := filled(ctx, s, database, pool)
	if err := errors.Join(err, pool.Close()); err != nil {
		return err
	}
	if _, err := y.startAdmin(ctx); err != nil {
		return err
	}
	admin, err := y.login(ctx, "admin")
	if err != nil {
		return err
	}
	rights := url.Values{"name": {"narrow"}, "password": {pagePassword}, "role": {"user"}, "state": {"active"}}
	for _, g := range []string{"7", "23", fmt.Sprint(quietGroup)} {
		rights["right"] = append(rights["right"], g+".view", g+".run", g+".edit", g+".glue")
	}
	// In a folder that was kept the user is there already, which is no harm.
	if _, _, _, err := admin.ask(ctx, page{path: fixed("/users"), form: func(int) url.Values { return rights }}, 0); err != nil {
		return err
	}
	narrow, err := y.login(ctx, "narrow")
	if err != nil {
		return err
	}
	y.stopAdmin() // the embedded database is open to one program at a time
	if pool, err = y.open(ctx); err != nil {
		return err
	}
	for _, a := range []*agent{&admin, &narrow} {
		if err = a.giveToken(ctx, pool); err != nil {
			break
		}
	}
	if err := errors.Join(err, pool.Close()); err != nil {
		return err
	}
	if err := y.warm(ctx); err != nil {
		return err
	}
	if _, err := y.startAdmin(ctx); err != nil {
		return err
	}
	admin.base, narrow.base = y.address, y.address
	worst := 0.0
	var all []float64
	for _, as := range []struct {
		who   string
		agent agent
		admin bool
	}{{"admin", admin, true}, {"user of 3 groups", narrow, false}} {
		for _, p := range slices.Concat(consolePages(facts, as.admin), apiPages(facts, as.admin)) {
			if !strings.Contains(p.name, s.Page) {
				continue
			}
			admin, _ := usage(y.admin)
			maria, _ := usage(y.maria)
			times, status, size, err := as.agent.measure(ctx, p)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			all = append(all, times...)
			p95 := times[len(times)*95/100]
			worst = max(worst, p95)
			mark := ""
			if p95 > 30 {
				mark = "  <-- slow"
			}
			adminNow, _ := usage(y.admin)
			mariaNow, _ := usage(y.maria)
			asked := float64(len(times) + unmeasured)
			s.report(database, p.name, "%-16s p50 %6.1f  p95 %6.1f  max %6.1f ms  cpu of the admin %5.1f, of MariaDB %5.1f ms  %6.1f kB  %d%s", as.who, times[len(times)/2], p95, times[len(times)-1],
				ms(adminNow-admin)/asked, ms(mariaNow-maria)/asked, float64(size)/1000, status, mark)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no page's name contains %q", s.Page)
	}
	slices.Sort(all)
	_, rss := usage(y.admin)
	s.report(database, "pages", "of all %d answers p50 %.1f p95 %.1f p99 %.1f ms; the slowest page's p95 %.1f ms; admin %.0f MB",
		len(all), all[len(all)/2], all[len(all)*95/100], all[len(all)*99/100], worst, rss)
	return nil
}

// pageFacts are ids that paths name.
type pageFacts struct {
	jobs   int
	top    int64 // the newest run
	script func(i int) int
}

// filled makes sure that the database has its rows.
func filled(ctx context.Context, s Settings, database string, pool *db.Pool) (pageFacts, error) {
	f := pageFacts{jobs: s.Jobs, script: func(i int) int { return 50 * (1 + i%2000) }}
	has, err := db.New().CountGroups(ctx, pool)
	if err != nil {
		return f, err
	}
	if has < installationGroups {
		began := time.Now()
		if err := installation(ctx, pool, s.Jobs, s.Runs); err != nil {
			return f, err
		}
		s.report(database, "pages", "%d jobs and %d runs filled in %.0f s", s.Jobs, s.Runs, time.Since(began).Seconds())
	}
	if err := postpone(ctx, pool); err != nil {
		return f, err
	}
	f.top, err = db.New().MaxRunID(ctx, pool)
	return f, err
}

func fixed(path string) func(int) string { return func(int) string { return path } }

// consolePages lists the pages and fragments, those for administrators only if admin.
func consolePages(f pageFacts, admin bool) []page {
	some := func(n int64) func(i int) int64 { // spreads over 1 … n
		return func(i int) int64 { return 1 + (int64(i)*7_919_317+104_729)%max(1, n) }
	}
	job, run := some(int64(f.jobs)), some(f.top)
	path := func(format string, arg func(i int) int64) func(int) string {
		return func(i int) string { return fmt.Sprintf(format, arg(i)) }
	}
	day := time.Now().AddDate(0, 0, -17).Format(time.DateOnly)
	list := []page{
		{name: "dashboard", path: fixed("/")},
		{name: "dashboard, 90 days", path: fixed("/?days=90")},
		{name: "jobs", path: fixed("/jobs")},
		{name: "jobs, page 2", path: fixed("/jobs?page=2")},
		{name: "jobs, in the middle", path: path("/jobs?page=%d", some(int64(f.jobs/50)))},
		{name: "jobs, the last page", path: fixed(fmt.Sprintf("/jobs?page=%d", f.jobs/50))},
		{name: "jobs, of a group", path: path("/jobs?group=%d", some(installationGroups))},
		{name: "jobs, running", path: fixed("/jobs?state=running")},
		{name: "jobs, stopped", path: fixed("/jobs?state=stopped")},
		{name: "jobs, text", path: fixed("/jobs?q=payments")},
		{name: "jobs, rare text", path: path("/jobs?q=9%d", some(999))},
		{name: "jobs, Chinese text", path: fixed("/jobs?q=" + url.QueryEscape("对账"))},
		{name: "jobs, no such text", path: fixed("/jobs?q=nothing+like+it")},
		{name: "jobs, by id", path: path("/jobs?q=%d", job)},
		{name: "jobs, handler", path: path("/jobs?handler=handler%dJob", some(300))},
		{name: "jobs, no such handler", path: fixed("/jobs?handler=none")},
		{name: "jobs, author", path: path("/jobs?author=author%d", some(40))},
		{name: "jobs, tag", path: fixed("/jobs?tag=finance")},
		{name: "jobs, no such tag", path: fixed("/jobs?tag=none")},
		{name: "jobs, by last run", path: fixed("/jobs?sort=-last")},
		{name: "jobs, by last run, in the middle", path: fixed("/jobs?sort=last&page=1000")},
		{name: "jobs, everything at once", path: fixed("/jobs?group=3&state=running&q=payments&handler=1&author=author1&tag=eu")},
		{name: "jobs, count of a text", path: fixed("/jobs/count?q=payments"), part: true},
		{name: "job, new", path: fixed("/jobs/new")},
		{name: "schedule preview", path: fixed("/jobs/schedule-preview"), form: func(i int) url.Values {
			return url.Values{"schedule_type": {"CRON"}, "cron": {fmt.Sprintf("0 %d 2 * * ?", i%60)}}
		}, part: true},
		{name: "runs", path: fixed("/runs")},
		{name: "timeline", path: fixed("/timeline")},
		{name: "timeline, day", path: fixed("/timeline?range=24h")},
		{name: "timeline, of a group", path: path("/timeline?range=24h&group=%d", some(installationGroups))},
		{name: "timeline, of a tag", path: fixed("/timeline?range=6h&tag=finance")},
		{name: "timeline, of a job", path: path("/timeline?range=24h&job=%d", job)},
		{name: "timeline, executors", path: fixed("/timeline?by=executors&range=6h")},
		{name: "forecast", path: fixed("/forecast")},
		{name: "spread, of a group", path: path("/jobs/bulk?do=spread&all=1&group=%d", some(installationGroups)), part: true},
		{name: "keys", path: fixed("/keys"), part: true},
		{name: "palette", path: fixed("/palette"), part: true},
		{name: "palette, text", path: fixed("/palette?q=payments"), part: true},
		{name: "palette, no such text", path: fixed("/palette?q=nothing+like+it"), part: true},
		{name: "palette, number", path: path("/palette?q=%d", run), part: true},
		{name: "executors", path: fixed("/executors")},
		{name: "executor", path: fixed("/executors/7")},
		{name: "profile", path: fixed("/profile")},
		{name: "tokens", path: fixed("/tokens")},
		{name: "calendars", path: fixed("/calendars")},
		{name: "pauses", path: fixed("/pauses")},
		{name: "clear", path: fixed("/runs/clear")},
		{name: "clear, preview of a group", path: fixed("/runs/clear?group=7&type=1&preview=1")},
		{name: "clear, all but 100,000 of a group", path: fixed("/runs/clear?group=7&type=8&preview=1")},
		{name: "clear, all of the quiet group", path: fixed(fmt.Sprintf("/runs/clear?group=%d&type=9&preview=1", quietGroup))},
		{name: "clear, progress", path: fixed("/runs/clear/progress"), part: true},
	}
	// Each filter of the run list over all times, then in the middle of them.
	busy := path("/runs?range=all&job=%d", func(i int) int64 { return 1 + 100*(int64(i)%(int64(f.jobs)/100)) })
	for _, q := range []struct{ name, query string }{
		{"all", ""}, {"of the quiet group", fmt.Sprintf("&group=%d", quietGroup)}, {"of a group", "&group=7"},
		{"failed", "&result=failed"}, {"succeeded", "&result=success"}, {"running", "&result=running"},
		{"failed in a group", "&result=failed&group=7"}, {"failed in the quiet group", fmt.Sprintf("&result=failed&group=%d", quietGroup)},
		{"by hand", "&trigger=MANUAL"}, {"misfired (none)", "&trigger=MISFIRE"}, {"retries", "&trigger=RETRY"},
		{"executor", "&executor=127.0.7.2"}, {"no such executor", "&executor=none.example"}, {"rare executor", "&executor=10.9.9.9"},
		{"text", "&q=IllegalState"}, {"no such text", "&q=nothing+like+it"}, {"rare text", "&q=" + rareText},
		{"text, executor and group", "&q=nothing&executor=127.0.7.2&group=7"}, {"failed by hand with a text", "&result=failed&trigger=MANUAL&q=batch"},
	} {
		list = append(list,
			page{name: "runs, " + q.name, path: fixed("/runs?range=all" + q.query)},
			page{name: "runs, " + q.name + ", middle", path: func(i int) string { return fmt.Sprintf("/runs?range=all%s&before=%d", q.query, run(i)) }},
			page{name: "runs, " + q.name + ", upwards", path: func(i int) string { return fmt.Sprintf("/runs?range=all%s&after=%d", q.query, run(i)) }, part: true},
		)
	}
	list = append(list,
		page{name: "runs, the last hour", path: fixed("/runs?range=1h")},
		page{name: "runs, failed yesterday", path: fixed("/runs?range=yesterday&result=failed")},
		page{name: "runs, a day long ago", path: fixed("/runs?range=custom&from=" + day + "T10:00&to=" + day + "T11:00")},
		page{name: "runs, text in a week", path: fixed("/runs?range=7d&q=nothing+like+it")},
		page{name: "runs, text on a day long ago", path: fixed("/runs?range=custom&from=" + day + "T10:00&to=" + day + "T11:00&q=nothing+like+it")},
		page{name: "runs, of a job", path: path("/runs?range=all&job=%d", job)},
		page{name: "runs, of a busy job", path: busy},
		page{name: "runs, of a busy job, middle", path: func(i int) string { return fmt.Sprintf("%s&before=%d", busy(i), run(i)) }},
		page{name: "runs, failed of a busy job", path: func(i int) string { return busy(i) + "&result=failed" }},
		page{name: "runs, no such text in a busy job", path: func(i int) string { return busy(i) + "&q=nothing+like+it" }},
		page{name: "runs, of no job", path: fixed("/runs?range=all&job=99999999")},
	)
	if !admin {
		own := func(i int) int64 { return 1000 * (1 + int64(i)%(max(1, int64(f.jobs)/1000))) } // the quiet group's
		return append(list, page{name: "job", path: path("/jobs/%d/edit", own)}, page{name: "job, run once", path: path("/jobs/%d/run", own), part: true},
			page{name: "job's page", path: path("/jobs/%d", own)})
	}
	script := func(i int) int64 { return int64(f.script(i)) }
	return append(list,
		page{name: "job", path: path("/jobs/%d/edit", job)},
		page{name: "job, run once", path: path("/jobs/%d/run", job), part: true},
		page{name: "job's page", path: path("/jobs/%d", job)},
		page{name: "job's page, busy", path: func(i int) string { return fmt.Sprintf("/jobs/%d", 1+100*(int64(i)%(int64(f.jobs)/100))) }},
		page{name: "job's account of a week", path: path("/jobs/%d/account?range=7d", job)},
		page{name: "job's backfills", path: path("/jobs/%d/backfill", job)},
		page{name: "job, delete", path: path("/jobs/%d/delete", job), part: true},
		page{name: "script", path: path("/jobs/%d/glue", script)},
		page{name: "bulk, 50 jobs", path: func(i int) string {
			q := url.Values{"do": {"stop"}}
			for k := range 50 {
				q.Add("id", fmt.Sprint(job(50*i+k)))
			}
			return "/jobs/bulk?" + q.Encode()
		}, part: true},
		page{name: "run", path: path("/runs/%d", run)},
		page{name: "clear, preview", path: fixed("/runs/clear?type=1&preview=1")},
		page{name: "clear, all but 100,000", path: fixed("/runs/clear?type=8&preview=1")},
		page{name: "clear, all but 100,000 of a job", path: fixed("/runs/clear?group=1&job=1&type=8&preview=1")},
		page{name: "executor, edit", path: fixed("/executors/7/edit")},
		page{name: "executor, delete", path: fixed("/executors/7/delete"), part: true},
		page{name: "access token", path: fixed("/executors/token")},
		page{name: "users", path: fixed("/users")},
		page{name: "user, new", path: fixed("/users/new")},
		page{name: "audit", path: fixed("/audit")},
		page{name: "audit, all", path: fixed("/audit?range=all")},
		page{name: "audit, in the middle", path: path("/audit?range=all&before=%d", some(installationAudit))},
		page{name: "audit, upwards", path: path("/audit?range=all&after=%d", some(installationAudit))},
		page{name: "audit, of a user", path: fixed("/audit?range=all&user=operator07")},
		page{name: "audit, of no user", path: fixed("/audit?range=all&user=nobody")},
		page{name: "audit, an action", path: fixed("/audit?range=all&action=glue")},
		page{name: "audit, no such action", path: fixed("/audit?range=all&action=rotate")},
		page{name: "audit, of a job", path: path("/audit?range=all&kind=job&object=%d", job)},
		page{name: "audit, no such text", path: fixed("/audit?range=all&q=nothing+like+it")},
		page{name: "audit, entry", path: path("/audit/%d", some(installationAudit))},
		page{name: "alarms", path: fixed("/alarms")},
		page{name: "alarm channel", path: fixed("/alarms/1")},
		page{name: "alarm messages", path: fixed("/alarms/messages")},
		page{name: "alarm messages, given up", path: fixed("/alarms/messages?state=failed")},
		page{name: "alarm messages, deep", path: path("/alarms/messages?before=%d", some(installationAlarms))},
		page{name: "webhooks", path: fixed("/webhooks")},
		page{name: "teams", path: fixed("/teams")},
		page{name: "nodes", path: fixed("/nodes")},
	)
}

// agent is a browser that is logged in.
type agent struct {
	http  *http.Client
	base  string
	name  string
	token string // for API v1
}

func (y *system) login(ctx context.Context, name string) (agent, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return agent{}, err
	}
	a := agent{base: y.address, name: name, http: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	_, status, _, err := a.ask(ctx, page{path: fixed("/login"), form: func(int) url.Values {
		return url.Values{"name": {name}, "password": {pagePassword}}
	}}, 0)
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("login of %s: %d", name, status)
	}
	return a, err
}

// ask makes one request and reads its answer.
func (a agent) ask(ctx context.Context, p page, i int) (took time.Duration, status, size int, err error) {
	method, body := http.MethodGet, io.Reader(nil)
	if p.form != nil {
		method, body = http.MethodPost, strings.NewReader(p.form(i).Encode())
	}
	r, err := http.NewRequestWithContext(ctx, method, a.base+p.path(i), body)
	if err != nil {
		return 0, 0, 0, err
	}
	r.Header.Set("Accept", "text/html")
	if p.api {
		r.Header.Set("Accept", "application/json")
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	if p.form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if p.part {
		r.Header.Set("HX-Request", "true")
	}
	began := time.Now()
	answer, err := a.http.Do(r)
	if err != nil {
		return 0, 0, 0, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	took = time.Since(began)
	if err != nil {
		return 0, 0, 0, err
	}
	if left, err := strconv.Atoi(answer.Header.Get("RateLimit-Remaining")); err == nil && left < 10 {
		time.Sleep(time.Second)
	}
	if answer.Header.Get("Content-Encoding") == "gzip" {
		if _, err := gzip.NewReader(strings.NewReader(string(raw))); err != nil {
			return 0, 0, 0, err
		}
	}
	return took, answer.StatusCode, len(raw), nil
}

// measure asks for a page again and again; the first answers do not count.
func (a agent) measure(ctx context.Context, p page) (times []float64, status, size int, err error) {
	began := time.Now()
	for i := range pageRequests + unmeasured {
		took, got, bytes, err := a.ask(ctx, p, i)
		if err != nil {
			return nil, 0, 0, err
		}
		status, size = max(status, got), max(size, bytes)
		if got >= http.StatusInternalServerError || p.api && got != http.StatusOK {
			return nil, 0, 0, fmt.Errorf("%s: %d", p.path(i), got)
		}
		if i >= unmeasured {
			times = append(times, ms(took))
		}
		if time.Since(began) > pageTime && len(times) > 0 {
			break
		}
	}
	slices.Sort(times)
	return times, status, size, nil
}
