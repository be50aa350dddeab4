package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/users"
)

// clicks counts what somebody does: a click, a choice, a field that is gone to and filled in.
type clicks struct {
	*night
	done int
}

func (d *clicks) press(selector string) { d.done++; d.do(click(selector)) }

func (d *clicks) fill(selector, text string) { d.done++; d.do(write(selector, text)) }

// task does one from the dashboard on and says how many deeds it may take.
func (d *clicks) task(name string, most int, do func()) {
	d.t.Helper()
	d.visit("/")
	d.done = 0
	do()
	d.t.Logf("%s: %d of at most %d", name, d.done, most)
	if d.done > most {
		d.t.Errorf("%s takes %d clicks and fields, at most %d are allowed", name, d.done, most)
	}
}

// TestBrowserCountsClicks does what operators do every day, each from the dashboard, and counts. That all jobs of an executor are stopped
// with four is in TestBrowserStopsAllOfAnExecutor.
func TestBrowserCountsClicks(t *testing.T) {
	works(t)
	d := &clicks{night: startNight(t, desk)}
	failing := d.schedule("Settle", "echo working\necho 'java.lang.IllegalStateException: ledger closed'\n[ \"$1\" = again ]", url.Values{jobs.FieldScheduleType: {"CRON"}, jobs.FieldCron: {notSoon()}})
	d.must(t, fmt.Sprintf("/jobs/%d/start", failing), nil)
	run := d.run(failing, "")
	eventually(t, "the failure", func() error {
		if _, body := d.get(t, "/"); !strings.Contains(body, `href="`+run+`"`) {
			return errNotYet
		}
		return nil
	})
	stuck := d.job("Stuck", "echo waiting\nexec sleep 600")
	hanging := d.run(stuck, "")

	tonight := time.Now().UTC().Add(6 * time.Hour).Hour() // an hour that does not begin meanwhile
	d.task("create a cron job", 7, func() {
		d.press(`.sidebar a[href="/jobs"]`)
		d.press(`.page-head a[href^="/jobs/new"]`)
		d.fill(`#name`, "Close the day")
		d.fill(`#cron`, fmt.Sprintf("0 30 %d * * ?", tonight))
		d.fill(`#handler`, "closeDay")
		d.press(`.form-foot [name=start]`)
		d.do(shows("/jobs"), holds(`[...document.querySelectorAll("tbody tr")].some(row => row.textContent.includes("Close the day") && row.querySelector('.switch[aria-checked="true"]'))`))
	})
	d.task("why did a run fail", 3, func() {
		d.press(`.troubles a[href="` + run + `"]`)
		d.do(shows(run), holds(`document.querySelector("main").innerText.includes("ledger closed")`))
	})
	d.task("run it again with another parameter", 2, func() {
		d.press(`.troubles [hx-get*="/run?from=` + strings.TrimPrefix(run, "/runs/") + `"]`)
		d.do(holds(`document.activeElement.name === "param"`), keys("again"))
		d.press(`#dialog .primary`)
		d.do(holds(`location.pathname.startsWith("/runs/") && location.pathname !== "`+run+`"`), holds(`document.querySelector("#run-head .badge.success")`))
	})
	d.task("end a run that is stuck", 3, func() {
		d.press(`.sidebar a[href="/runs"]`)
		d.press(`tr[id="` + strings.Replace(strings.TrimPrefix(hanging, "/"), "runs/", "run-", 1) + `"] .danger-text, tr[id="` + strings.Replace(strings.TrimPrefix(hanging, "/"), "runs/", "run-", 1) + `"] [hx-get$="/kill"]`)
		d.press(`#dialog .danger`)
		d.do(shows(hanging), holds(`document.querySelector("#run-head .badge.killed")`))
	})
	d.must(t, link.UsersPath, url.Values{users.FieldName: {"weili"}, users.FieldRole: {link.UserNormal}, users.FieldState: {link.UserActive}, users.FieldPassword: {viewerPassword}})
	_, body := d.get(t, link.UsersPath)
	colleague := lastID(t, body, `id="user-(\d+)"`)
	right := func(name string) string {
		return fmt.Sprintf(`[name=%s][value="%s"]`, users.FieldRights, users.RightValue(d.group, name))
	}
	d.task("run but not edit, for a colleague", 4, func() {
		d.press(`.sidebar a[href="/users"]`)
		d.press(fmt.Sprintf(`#user-%d .title`, colleague))
		d.press(right("run") + ` + span`)
		d.press(`.form-foot .primary`)
		d.do(shows(link.UsersPath))
	})
	d.visit(link.UserEdit(colleague))
	d.do(holds(fmt.Sprintf(`document.querySelector(%q).checked && !document.querySelector(%q).checked`, right("run"), right("edit"))))
	d.task("the slowest job of the week", 2, func() {
		d.press(`main a[href="/jobs/slowest"]`)
		d.do(shows("/jobs/slowest"), holds(`document.querySelector("h1").textContent === "Slowest jobs"`))
	})
	d.task("what runs in an hour of tonight", 2, func() {
		d.press(`main a[href="` + link.ForecastPath + `"]`)
		d.press(fmt.Sprintf(`.heat a.cell[href*="T%02d%%3A00&"]`, tonight))
		d.do(shows("/jobs"), holds(`[...document.querySelectorAll("tbody tr")].some(row => row.textContent.includes("Close the day")) && document.querySelectorAll("tbody tr").length === 1`))
	})
	d.task("edit a script and test it before it is live", 5, func() {
		d.press(`.sidebar a[href="/jobs"]`)
		d.press(fmt.Sprintf(`tr[data-id="%d"] .menu summary`, failing))
		d.press(fmt.Sprintf(`tr[data-id="%d"] a[href="/jobs/%d/glue"]`, failing, failing))
		d.press(`.cm-content`)
		d.do(keys("a", input.ModifierCtrl), keys("echo mended"))
		d.press(`.glue-run button`)
		d.do(holds(`document.querySelector("#run-badge .badge.success") && document.querySelector("#glue-output [data-log-lines]").textContent.includes("mended")`))
	})
	d.task("an alarm in a chat for one job", 6, func() {
		d.press(`.sidebar a[href="/jobs"]`)
		d.press(fmt.Sprintf(`a[href="/jobs/%d"]`, failing))
		d.press(fmt.Sprintf(`[aria-labelledby=job-told] a[href="/alarms/new?job=%d"]`, failing))
		d.press(`.kinds a[href$="kind=wecom"]`)
		d.fill(`#url`, "http://127.0.0.1:1/cgi-bin/webhook/send?key=x")
		d.press(`.form-foot .primary`)
		d.do(holds(`/^\/alarms\/\d+$/.test(location.pathname) && document.querySelector("h1").textContent.includes("Settle") && [...document.querySelectorAll("main a")].some(a => a.pathname === "/jobs/` + fmt.Sprint(failing) + `")`))
	})
	d.admin.noPanic(t)
}
