package e2e

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// TestBrowserStopsAllOfAnExecutor stops all 509 jobs of an executor, from its page, with four clicks, and takes that back.
func TestBrowserStopsAllOfAnExecutor(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	const many = 509
	for i := range many {
		n.must(t, link.JobsPath, url.Values{
			jobs.FieldGroup: {fmt.Sprint(n.group)}, jobs.FieldName: {fmt.Sprintf("Payment %d", i)}, jobs.FieldAuthor: {"ops"}, jobs.FieldScheduleType: {"CRON"},
			jobs.FieldCron: {"0 0 3 1 1 ?"}, jobs.FieldMisfire: {"DO_NOTHING"}, jobs.FieldRoute: {"FIRST"}, jobs.FieldBlock: {"SERIAL_EXECUTION"},
			jobs.FieldGlue: {"GLUE_SHELL"}, jobs.FieldSource: {"true"},
		})
	}
	clicks := 0
	clicked := func(selector string) {
		n.do(click(selector))
		clicks++
	}
	matching := fmt.Sprintf("/jobs?group=%d", n.group)
	all := func(deed string) {
		clicked("[data-pick-every]")
		n.do(holds(`document.querySelector("[data-picked-count]").textContent === "509"`))
		clicked(fmt.Sprintf(`.bulk-bar [value=%q]`, deed))
		n.do(holds(`document.querySelector("dialog[open] h1")?.textContent.includes("509")`))
		clicked("dialog[open] footer .primary")
		n.do(holds(`document.querySelector("dialog[open] h1")?.textContent.startsWith("509 jobs are")`))
	}
	running := func(want int) {
		t.Helper()
		n.do(chromedp.Navigate(n.admin.url+matching+"&state=running"), holds(fmt.Sprintf(`document.querySelectorAll("tbody tr[data-id]").length === %d`, min(want, 50))))
	}
	n.do(chromedp.Navigate(n.admin.url + matching))
	all("start")
	running(many)
	clicks = 0
	n.visit(link.Executor(n.group))
	clicked(fmt.Sprintf(`main a.button[href=%q]`, matching))
	n.do(shows(link.JobsPath))
	all("stop")
	if clicks > 4 {
		t.Errorf("%d clicks", clicks)
	}
	clicked("dialog[open] footer button") // undo
	n.do(holds(`document.querySelector("dialog[open] h1").textContent.includes("509 jobs are started")`))
	running(many)
	n.admin.noPanic(t)
}

// TestBrowserEditsManyJobs changes each of the fields of some jobs at once, and takes that back.
func TestBrowserEditsManyJobs(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	for i := range 3 {
		n.job(fmt.Sprintf("Payment %d", i), "true")
	}
	for field, to := range map[string]string{"timeout": "77", "retries": "3", "author": "Zoe", "alarm_email": "ops@example.com", "calendar": "cn"} {
		n.visit(link.JobsPath + "?q=Payment")
		n.do(click("[data-pick-all]"), click(`.bulk-bar [value=edit]`), holds(`document.querySelector("dialog[open] #bulk-field")`),
			chromedp.SetValue("#bulk-field", field, chromedp.ByQuery), chromedp.SetValue("#bulk-"+field, to, chromedp.ByQuery), click("dialog[open] footer .primary"), holds(`document.querySelector("dialog[open] h1")?.textContent === "3 jobs are changed"`))
		n.do(chromedp.Evaluate(`document.querySelector("dialog[open] h1").dataset.before = ""`, nil), click("dialog[open] footer button"),
			holds(`document.querySelector("dialog[open] h1:not([data-before])")?.textContent === "3 jobs are changed"`))
	}
	n.admin.noPanic(t)
}
