package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// demo is an installation with work going on: the sample, two services of an imagined shop with an executor each, and
// one whose executor is away.
type demo struct {
	*admin
	*session
	slow             int64 // a job that runs long, and is running
	flow             int64 // a flow whose run waits for somebody
	rejected         int64 // a run of it that somebody rejected
	parent           int64 // a job that starts another
	fails            int64 // a job whose runs fail
	nowhere          int64 // a job without an executor
	script           int64 // a shell job
	orders, payments int64 // groups
	sample           int64 // the group of the sample
	administered
}

// startDemo fills a new installation by its own forms, with names in Chinese or English.
func startDemo(t *testing.T, chinese bool) *demo {
	t.Helper()
	say := func(zh, en string) string {
		if chinese {
			return zh
		}
		return en
	}
	d := &demo{admin: startAdmin(t, adminSettings{env: []string{
		"PUNCTUAL_SAMPLE=on", "PUNCTUAL_TIME_ZONE=Asia/Shanghai", "PUNCTUAL_SECRET_KEY=a-key-of-thirty-two-characters-x"}})}
	d.session = d.login(t, testPassword)
	group := func(appName, title string) int64 {
		d.must(t, link.ExecutorsPath, url.Values{groups.FieldAppName: {appName}, groups.FieldTitle: {title}, groups.FieldType: {groups.TypeAuto}})
		_, body := d.get(t, link.ExecutorsPath+"?q="+appName)
		return lastID(t, body, `/executors/(\d+)/edit`)
	}
	d.orders = group("order-service", say("订单服务", "Orders"))
	d.payments = group("payment-gateway", say("支付网关", "Payments"))
	reports := group("reporting", say("报表中心", "Reporting"))
	d.own = reports
	for _, appName := range []string{"order-service", "payment-gateway"} {
		startExecutor(t, executorSettings{admins: []string{d.admin.url}, appName: appName})
	}
	job := func(group int64, name, author string, change url.Values) int64 {
		form := url.Values{
			jobs.FieldGroup: {fmt.Sprint(group)}, jobs.FieldName: {name}, jobs.FieldAuthor: {author}, jobs.FieldScheduleType: {"CRON"},
			jobs.FieldMisfire: {"DO_NOTHING"}, jobs.FieldRoute: {"ROUND"}, jobs.FieldBlock: {"SERIAL_EXECUTION"}, jobs.FieldGlue: {"BEAN"},
			jobs.FieldStart: {"1"},
		}
		maps.Copy(form, change)
		d.must(t, link.JobsPath, form)
		_, body := d.get(t, link.JobsPath+"?q="+url.QueryEscape(name))
		return lastID(t, body, `/jobs/(\d+)/edit`)
	}
	mina, jonas, ada := say("王敏", "Mina Wang"), say("李强", "Jonas Li"), say("陈晓", "Ada Chen")
	d.script = job(d.payments, say("每日对账", "Daily reconciliation"), mina, url.Values{
		jobs.FieldCron: {"0 0 2 * * ?"}, jobs.FieldGlue: {"GLUE_SHELL"}, jobs.FieldTimeout: {"1800"}, jobs.FieldRetries: {"2"},
		jobs.FieldAlarmEmail: {"ops@example.com"}, jobs.FieldParam: {"2026-11-20"},
		jobs.FieldSource: {"#!/bin/bash\nset -euo pipefail\n\n# $1 is the day to check\nfor channel in alipay wechat unionpay card; do\n  echo \"$channel: 45,600 payments checked, 0 differ\"\n  sleep 0.2\ndone\necho \"done: $1\"\n"},
	})
	job(d.orders, say("关闭超时未支付订单", "Close unpaid orders"), jonas, url.Values{jobs.FieldCron: {"0/20 * * * * ?"}, jobs.FieldHandler: {"demoJobHandler"}})
	job(d.orders, say("同步物流轨迹", "Sync parcel tracking"), jonas, url.Values{
		jobs.FieldScheduleType: {"FIX_RATE"}, jobs.FieldSeconds: {"30"}, jobs.FieldHandler: {"demoJobHandler"}})
	d.slow = job(d.orders, say("重建搜索索引", "Rebuild the search index"), jonas, url.Values{
		jobs.FieldCron: {"0 0 4 ? * SUN"}, jobs.FieldHandler: {"slowJobHandler"}, jobs.FieldParam: {"600"}})
	d.fails = job(d.payments, say("汇率拉取", "Fetch exchange rates"), ada, url.Values{
		jobs.FieldCron: {"15 0 * * * ?"}, jobs.FieldHandler: {"httpJobHandler"}, jobs.FieldParam: {"url: http://10.255.0.1/rates"}, jobs.FieldRetries: {"1"}})
	d.nowhere = job(reports, say("月度账单", "Monthly statement"), mina, url.Values{jobs.FieldCron: {"0 0 6 1 * ?"}, jobs.FieldHandler: {"monthlyStatement"}})
	job(reports, say("分片：用户画像计算", "Shards: user profiles"), mina, url.Values{
		jobs.FieldCron: {"0 0 1 * * ?"}, jobs.FieldHandler: {"profileShard"}, jobs.FieldRoute: {"SHARDING_BROADCAST"}, jobs.FieldStart: {}})
	points := job(d.orders, say("手工补发积分", "Resend loyalty points"), ada, url.Values{
		jobs.FieldScheduleType: {"NONE"}, jobs.FieldHandler: {"demoJobHandler"}, jobs.FieldStart: {}})
	d.parent = job(d.orders, say("年度结算", "Close the year"), ada, url.Values{
		jobs.FieldCron: {"0 0 5 2 1 ?"}, jobs.FieldHandler: {"demoJobHandler"}, jobs.FieldChildren: {fmt.Sprint(points)}})
	_, list := d.get(t, link.JobsPath+"?q=Flow")
	d.flow = lastID(t, list, `/jobs/(\d+)/edit`)
	_, list = d.get(t, link.ExecutorsPath+"?q=sample")
	d.sample = lastID(t, list, `/executors/(\d+)/edit`)
	d.rejected = d.asks(t)
	d.must(t, link.RunStepDeed(d.rejected, "approve", "reject"), url.Values{})
	d.asks(t)
	// The executors are known from their first beat on.
	for _, id := range []int64{d.slow, d.fails, d.script} {
		eventually(t, "registered executor", func() error {
			if _, body := d.get(t, link.JobRun(id)); strings.Contains(body, `class="tag address online"`) {
				return nil
			}
			return errNotYet
		})
		d.must(t, link.JobRun(id), url.Values{jobs.FieldParam: {map[int64]string{d.slow: "600", d.script: "2026-11-20", d.fails: "url: http://10.255.0.1/rates"}[id]}})
	}
	d.administer(t, say)
	return d
}

// asks runs the flow until it asks somebody.
func (d *demo) asks(t *testing.T) int64 {
	t.Helper()
	d.must(t, link.JobRun(d.flow), url.Values{jobs.FieldParam: {"3"}})
	run := d.lastRun(t, d.flow)
	eventually(t, "question", func() error {
		if _, body := d.get(t, link.Run(run)); strings.Contains(body, link.RunStepDeed(run, "approve", "reject")) {
			return nil
		}
		return errNotYet
	})
	return run
}

// lastID is the number in the last match of a pattern.
func lastID(t *testing.T, body, pattern string) int64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(body, -1)
	if len(found) == 0 {
		t.Fatalf("no %s in\n%s", pattern, body)
	}
	var id int64
	if _, err := fmt.Sscan(found[len(found)-1][1], &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// lastRun is the newest run of a job.
func (d *demo) lastRun(t *testing.T, job int64) int64 {
	t.Helper()
	var id int64
	eventually(t, "run", func() error {
		_, body := d.get(t, link.RunsOfJob(0, job))
		found := regexp.MustCompile(`id="run-(\d+)"`).FindStringSubmatch(body)
		if found == nil {
			return errNotYet
		}
		_, err := fmt.Sscan(found[1], &id)
		return err
	})
	return id
}

// pages are the addresses of every page, by name. DEMO_PAGES names the pages wanted, separated by commas; default all.
func (d *demo) pages(t *testing.T) []demoPage {
	t.Helper()
	slow := d.lastRun(t, d.slow)
	pages := append([]demoPage{
		{name: "dashboard", path: link.Root},
		{name: "jobs", path: link.JobsPath},
		{name: "jobs-none", path: link.JobsPath + "?q=zzz"},
		{name: "job-new", path: link.JobNewPath},
		{name: "job", path: link.Job(d.script)},
		{name: "job-failing", path: link.Job(d.fails)},
		{name: "job-edit", path: link.JobEdit(d.script)},
		{name: "job-glue", path: link.JobGlue(d.script)},
		{name: "job-copy", path: link.JobCopy(d.script)},
		{name: "job-run", path: link.JobRun(d.script)},
		{name: "job-delete", path: link.JobDelete(d.script)},
		{name: "job-note", path: link.JobNote(d.script)},
		{name: "runs", path: link.RunsPath},
		{name: "runs-failed", path: link.RunsPath + "?result=failed"},
		{name: "run-live", path: link.Run(slow)},
		{name: "run-kill", path: link.RunKill(slow)},
		{name: "run-failed", path: link.Run(d.lastRun(t, d.fails))},
		{name: "run-success", path: link.Run(d.lastRun(t, d.script))},
		{name: "forecast", path: link.ForecastPath},
		{name: "wall", path: link.WallPath},
		{name: "runs-kill", path: fmt.Sprintf("%s?id=%d", link.RunsKill, d.lastRun(t, d.fails))},
		{name: "runs-rerun", path: fmt.Sprintf("%s?id=%d", link.RunsRerun, d.lastRun(t, d.fails))},
		{name: "jobs-mine", path: link.Jobs(link.JobFilter{Show: link.ShowMine})},
		{name: "timeline", path: link.TimelinePath},
		{name: "timeline-executors", path: link.Timeline(link.TimelineFilter{By: link.TimelineExecutors})},
		{name: "executors", path: link.ExecutorsPath},
		{name: "executor-new", path: link.ExecutorNewPath},
		{name: "executor", path: link.Executor(d.orders)},
		{name: "secrets", path: link.ExecutorSecrets(d.orders)},
		{name: "lineage", path: link.ExecutorLineage(d.orders)},
		{name: "pauses", path: link.PausesPath},
		{name: "secret-delete", path: link.ExecutorSecretDelete(d.orders, demoSecret)},
		{name: "executor-edit", path: link.ExecutorEdit(d.orders)},
		{name: "executor-delete", path: link.ExecutorDelete(d.orders)},
		{name: "token", path: link.ExecutorToken},
		{name: "nodes", path: link.NodesPath},
		{name: "profile", path: link.ProfilePath},
		{name: "tokens", path: link.TokensAll},
		{name: "token-new", path: link.TokenNew("")},
		{name: "token-made", path: link.TokenNew(""), do: filled(".form-foot .primary", "#name", "nightly export"), until: "#made-token"},
		{name: "token-revoke", path: d.revoke},
		{name: "account-new", path: link.ServiceAccountNew},
		{name: "runs-clear", path: link.ClearPath},
		{name: "keys", path: link.KeysPath},
		{name: "flow", path: link.Job(d.flow)},
		{name: "flow-edit", path: link.JobEdit(d.flow)},
		{name: "flow-text", path: link.JobGlue(d.flow)},
		{name: "flow-run", path: link.Run(d.lastRun(t, d.flow))},
		{name: "flow-step", path: link.RunStep(d.lastRun(t, d.flow), "pack", 0)},
		{name: "flow-approve", path: link.RunStepDeed(d.lastRun(t, d.flow), "approve", "approve")},
		{name: "job-chain", path: link.JobChain(d.parent)},
		{name: "job-backfill", path: link.JobBackfill(d.script)},
		{name: "jobs-slowest", path: link.SlowestPath},
		{name: "run-repeat", path: link.RunRepeat(d.rejected)},
		{name: "run-note", path: link.RunNote(d.lastRun(t, d.script))},
		{name: "search", path: link.SearchPath},
		{name: "search-found", path: fmt.Sprintf("%s?q=hello&group=%d", link.SearchPath, d.sample)},
		{name: "search-backwards", path: fmt.Sprintf("%s?q=hello&group=%d&range=custom&from=2026-11-26T12:00&to=2026-11-25T12:00", link.SearchPath, d.sample)},
		{name: "search-wrong", path: link.SearchPath + "?q=hello", status: http.StatusUnprocessableEntity},
		{name: "device", path: link.DevicePath},
	}, d.adminPages(t)...)
	for i := range pages {
		if pages[i].as == nil {
			pages[i].as = d.session
		}
	}
	pages = append(pages, demoPage{name: "login", path: link.Login})
	if only := os.Getenv("DEMO_PAGES"); only != "" {
		pages = slices.DeleteFunc(pages, func(p demoPage) bool { return !slices.Contains(strings.Split(only, ","), p.name) })
	}
	return pages
}

// demoPage is a page as somebody sees it; as nil is somebody who is not logged in.
type demoPage struct {
	name, path string
	as         *session
	do         string // a script that sends the page's form: what it answers is the page
	until      string // what the answer has, as a selector
	status     int    // of the page; default 200
}

// show opens a page, as whoever is logged in, and takes no page that says why there is none for it.
func (w *window) show(p demoPage) {
	w.t.Helper()
	w.visit(p.path)
	var status int
	if w.do(chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].responseStatus`, &status)); status != cmp.Or(p.status, http.StatusOK) {
		w.t.Errorf("%s: %s is %d", p.name, p.path, status)
	}
	if p.do != "" {
		w.do(chromedp.Evaluate(p.do, nil), holds(fmt.Sprintf("document.querySelector(%q)", p.until)))
	}
}

// filled is a script that types into the fields of a page's form, two words each, and presses a button.
func filled(button string, fields ...string) string {
	var script strings.Builder
	for i := 0; i < len(fields); i += 2 {
		fmt.Fprintf(&script, "document.querySelector(%q).value = %q; ", fields[i], fields[i+1])
	}
	return script.String() + fmt.Sprintf("document.querySelector(%q).click()", button)
}

// importFile changes a job of the demo, makes a new one, and has one that is refused.
func (d *demo) importFile() string {
	return fmt.Sprintf(`punctual_jobs: 1
executors:
  - app_name: order-service
    title: Orders
    jobs:
      - description: Nightly stock report
        author: Mina Wang
        schedule: CRON
        cron: 0 30 2 * * ?
        handler: stockReport
      - description: Rebuild
        id: %d
        author: Jonas Li
        schedule: CRON
        cron: 0 0 4 ? * SUN
        handler: slowJobHandler
        parameter: "900"
        retries: 2
      - description: Count parcels
        author: Jonas Li
        schedule: CRON
        cron: 0 0 25 * * ?
        handler: demoJobHandler
`, d.slow)
}
