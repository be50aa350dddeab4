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
			jobs.FieldCron: {notSoon()}, jobs.FieldMisfire: {"DO_NOTHING"}, jobs.FieldRoute: {"FIRST"}, jobs.FieldBlock: {"SERIAL_EXECUTION"},
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
	n.before(`{ const send = XMLHttpRequest.prototype.send; XMLHttpRequest.prototype.send = function (body) { if (window.hold && String(body).includes("told=")) hold.then(() => send.call(this, body)); else send.call(this, body); }; }`)
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
	undo := func() {
		n.do(click("dialog[open] footer button"), holds(`document.querySelector("dialog[open] h1").textContent.includes("509 jobs are started")`))
	}
	undo()
	running(many)

	// From the dashboard, as every other deed of a day, with no list in between.
	clicks = 0
	n.visit("/")
	clicked(`.sidebar a[href="/executors"]`)
	clicked(fmt.Sprintf(`#group-%d [hx-get*="do=stop"]`, n.group))
	n.do(holds(`document.querySelector("dialog[open] h1")?.textContent.includes("509")`))
	// Whoever is about to close it while it goes on is there still at each of its parts, and at its end where what came of it is told.
	n.do(chromedp.Evaluate(`window.hold = new Promise((done) => (window.release = done)); window.came = []`, nil))
	clicked("dialog[open] footer .primary")
	n.do(holds(`document.querySelector("dialog[open] progress") && document.activeElement.matches("h1")`),
		chromedp.Evaluate(`document.querySelector("dialog footer [data-close]").focus(); document.addEventListener("focusin", (event) => came.push(event.target.localName)); hold = null; release()`, nil),
		holds(`document.querySelector("dialog[open] h1")?.textContent.startsWith("509 jobs are") && came.length > 0`), holds(`came.join() === "h1"`))
	if clicks > 4 {
		t.Errorf("%d clicks from the dashboard", clicks)
	}
	undo()
	running(many)

	// On a phone, where the head of the table is not seen, a page of jobs is picked with one tap too.
	const page = ".bulk-page"
	n.do(holds(`!document.querySelector(".bulk-page").checkVisibility()`))
	n.resize(phone)
	n.visit(matching)
	n.do(click(page), holds(`document.querySelector("[data-picked-count]").textContent === "50" && [...document.querySelectorAll("[data-pick-all], [data-pick-page]")].every(box => box.checked)`),
		click(page), holds(`!document.querySelector("[data-results] .pick:checked")`))
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
