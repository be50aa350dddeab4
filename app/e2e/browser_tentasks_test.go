package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/users"
)

// TestBrowserTenTasksWithoutAMouse does the ten deeds of an operator's day, each from the dashboard, with the keyboard alone: Tab, Enter,
// arrows, single keys and the palette. What the focus comes by shows that it has it.
func TestBrowserTenTasksWithoutAMouse(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	k := typing{n.window}
	const many = 60 // more than a page of the list
	for i := range many {
		n.schedule(fmt.Sprintf("Payment %d", i), "true", url.Values{jobs.FieldScheduleType: {"CRON"}, jobs.FieldCron: {notSoon()}, jobs.FieldStart: {"1"}})
	}
	failing := n.schedule("Settle", "echo working\necho 'java.lang.IllegalStateException: ledger closed'\n[ \"$1\" = again ]", url.Values{jobs.FieldScheduleType: {"CRON"}, jobs.FieldCron: {notSoon()}})
	n.must(t, fmt.Sprintf("/jobs/%d/start", failing), nil)
	run := n.run(failing, "")
	eventually(t, "the failure", func() error {
		if _, body := n.get(t, "/"); !strings.Contains(body, `href="`+run+`"`) {
			return errNotYet
		}
		return nil
	})
	hanging := n.run(n.job("Stuck", "echo waiting\nexec sleep 600"), "")
	n.must(t, link.UsersPath, url.Values{users.FieldName: {"weili"}, users.FieldRole: {link.UserNormal}, users.FieldState: {link.UserActive}, users.FieldPassword: {viewerPassword}})
	_, body := n.get(t, link.UsersPath)
	colleague := lastID(t, body, `id="user-(\d+)"`)

	task := func(name string, do func()) {
		t.Helper()
		k.visit("/")
		do()
		t.Log(name)
	}
	ctrl := func(key string) { k.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(input.ModifierCtrl))) }
	found := func(path string) string {
		return fmt.Sprintf(`document.getElementById(document.querySelector("[role=combobox]")?.getAttribute("aria-activedescendant"))?.matches('[href="%s"]')`, path)
	}

	tonight := time.Now().UTC().Add(6 * time.Hour).Hour() // an hour that does not begin meanwhile
	task("create a cron job", func() {
		k.goes("j", link.JobsPath)
		k.tab(`.page-head a[href^="/jobs/new"]`)
		k.press(kb.Enter)
		k.do(shows(link.JobNewPath))
		k.tab("#name")
		k.press("Close the day")
		k.tab("#cron")
		ctrl("a")
		k.press(fmt.Sprintf("0 30 %d * * ?", tonight))
		k.tab("#handler")
		k.press("closeDay")
		k.tab(".form-foot [name=start]")
		k.press(kb.Enter)
		k.do(shows(link.JobsPath))
		k.sees(`[...document.querySelectorAll("tbody tr")].some(row => row.textContent.includes("Close the day") && row.querySelector('.switch[aria-checked="true"]'))`)
		k.sees(`document.querySelector("#said").textContent.includes("Close the day")`) // a message that came with its page is read aloud, too
	})
	task("why did a run fail", func() {
		k.tab(`.troubles a[href="` + run + `"]`)
		k.press(kb.Enter)
		k.do(shows(run))
		k.sees(`document.querySelector("main").innerText.includes("ledger closed")`)
	})
	task("run it again with another parameter", func() {
		k.tab(`.troubles [hx-get*="/run?from=` + strings.TrimPrefix(run, "/runs/") + `"]`)
		k.press(kb.Enter)
		k.sees(`document.activeElement.name === "param"`)
		ctrl("a") // a key of a test comes in parts: the character of the one before may have gone in here
		k.press("again")
		k.tab(`#dialog .primary`)
		k.press(kb.Enter)
		k.sees(`location.pathname.startsWith("/runs/") && location.pathname !== "` + run + `" && document.querySelector("#run-head .badge.success")`)
	})
	task("stop all jobs of an executor", func() {
		k.goes("e", link.ExecutorsPath)
		k.tab(fmt.Sprintf(`main a[href="%s"]`, link.Executor(n.group)))
		k.press(kb.Enter)
		k.do(shows(link.Executor(n.group)))
		k.tab(fmt.Sprintf(`main a.button[href="/jobs?group=%d"]`, n.group))
		k.press(kb.Enter)
		k.do(shows(link.JobsPath))
		k.tab("[data-pick-every]")
		k.press(kb.Enter)
		k.sees(`Number(document.querySelector("[data-picked-count]").textContent) > 50`)
		k.tab(`.bulk-bar [value=stop]`)
		k.press(kb.Enter)
		k.sees(`document.querySelector("dialog[open] h1")`)
		k.tab("dialog[open] footer .primary")
		k.press(kb.Enter)
		k.sees(`/^\d+ jobs are stopped/.test(document.querySelector("dialog[open] h1")?.textContent) && document.activeElement.matches("h1")`) // the button is gone
		k.press(kb.Escape)
		k.sees(`!document.querySelector("dialog").open && !document.querySelector('tbody .switch[aria-checked="true"]') && document.activeElement.matches("[data-results]")`) // the bar is gone
	})
	n.must(t, fmt.Sprintf("/jobs/%d/start", failing), nil)
	task("what runs in an hour of tonight", func() {
		// All jobs were stopped: one that falls into it is started again, out of sight.
		_, body := n.get(t, link.JobsPath+"?q=Close+the+day")
		n.must(t, fmt.Sprintf("/jobs/%d/start", lastID(t, body, `/jobs/(\d+)/edit`)), nil)
		k.visit("/")
		k.tab(`main a[href="` + link.ForecastPath + `"]`)
		k.press(kb.Enter)
		k.do(shows(link.ForecastPath))
		k.tab(`.heat a.cell`)
		there := fmt.Sprintf(`document.activeElement.matches('.heat a.cell[href*="T%02d%%3A00&"]')`, tonight)
		for range 26 { // tonight is today, or begins the next line
			var is, last bool
			k.do(chromedp.Evaluate(there, &is), chromedp.Evaluate(`!document.activeElement.parentElement.nextElementSibling`, &last))
			switch {
			case is:
			case last:
				k.press(kb.ArrowDown)
				for range 23 {
					k.press(kb.ArrowLeft)
				}
			default:
				k.press(kb.ArrowRight)
			}
		}
		k.sees(there)
		k.press(kb.Enter)
		k.do(shows(link.JobsPath))
		k.sees(`[...document.querySelectorAll("tbody tr")].some(row => row.textContent.includes("Close the day")) && document.querySelectorAll("tbody tr").length === 1`)
	})
	task("end a run that is stuck", func() {
		row := strings.Replace(strings.TrimPrefix(hanging, "/"), "runs/", "run-", 1)
		k.goes("r", link.RunsPath)
		k.tab(`.skip[href="#results"]`) // past the filter
		k.press(kb.Enter)
		k.sees(`document.activeElement.matches("[data-results]")`)
		k.tab(`tr[id="` + row + `"] [hx-get$="/kill"]`)
		k.press(kb.Enter)
		k.sees(`document.querySelector("dialog[open] .danger")`)
		k.tab(`#dialog .danger`)
		k.press(kb.Enter)
		k.do(shows(hanging))
		k.sees(`document.querySelector("#run-head .badge.killed")`)
	})
	task("run but not edit, for a colleague", func() {
		right := func(name string) string {
			return fmt.Sprintf(`[name=%s][value="%s"]`, users.FieldRights, users.RightValue(n.group, name))
		}
		ctrl("k")
		k.sees(`document.activeElement.closest("[data-palette-box]")`)
		k.press("people")
		k.sees(found(link.UsersPath))
		k.press(kb.Enter)
		k.do(shows(link.UsersPath))
		k.tab(fmt.Sprintf(`#user-%d .title`, colleague))
		k.press(kb.Enter)
		k.do(shows(link.UserEdit(colleague)))
		k.tab(right("run"))
		k.press(" ")
		k.tab(`.form-foot .primary`)
		k.press(kb.Enter)
		k.do(shows(link.UsersPath))
		k.visit(link.UserEdit(colleague))
		k.sees(fmt.Sprintf(`document.querySelector(%q).checked && !document.querySelector(%q).checked`, right("run"), right("edit")))
	})
	task("edit a script and test it before it is live", func() {
		ctrl("k")
		k.sees(`document.activeElement.closest("[data-palette-box]")`)
		k.press("Settle")
		k.sees(found(link.Job(failing)))
		k.press(kb.Enter)
		k.do(shows(link.Job(failing)))
		k.tab(`.page-head .menu summary`)
		k.press(kb.Enter)
		k.tab(fmt.Sprintf(`.page-head a[href="/jobs/%d/glue"]`, failing))
		k.press(kb.Enter)
		k.do(shows(link.JobGlue(failing)))
		k.tab(".cm-content")
		ctrl("a")
		k.press("echo mended")
		// Escape, then Tab, leaves the text, as the page says, if they come soon after each other.
		for in := true; in; {
			k.press(kb.Escape, kb.Tab)
			k.do(chromedp.Evaluate(`document.activeElement.matches(".cm-content")`, &in))
		}
		k.sees(`document.activeElement.closest(".glue-save, .glue-side")`)
		k.tab(`.glue-run button`)
		k.press(kb.Enter)
		k.sees(`document.querySelector("#run-badge .badge.success") && document.querySelector("#glue-output [data-log-lines]").textContent.includes("mended")`)
		// Enter once more tries it once more; what is read aloud is how the run stands, and not what it printed.
		k.sees(`document.activeElement.matches(".glue-run button") && document.querySelector("#run-badge[role=status]") && !document.querySelector("[role=log]").closest("[aria-live=polite], [role=status]")`)
	})
	task("the slowest job of the week", func() {
		k.tab(`main a[href="/jobs/slowest"]`)
		k.press(kb.Enter)
		k.do(shows("/jobs/slowest"))
		k.sees(`document.querySelector("h1").textContent === "Slowest jobs"`)
	})
	task("an alarm in a chat for one job", func() {
		ctrl("k")
		k.sees(`document.activeElement.closest("[data-palette-box]")`)
		k.press("Settle")
		k.sees(found(link.Job(failing)))
		k.press(kb.Enter)
		k.do(shows(link.Job(failing)))
		k.tab(fmt.Sprintf(`[aria-labelledby=job-told] a[href="/alarms/new?job=%d"]`, failing))
		k.press(kb.Enter)
		k.sees(`document.querySelector(".kinds")`)
		k.tab(`.kinds a[href$="kind=wecom"]`)
		k.press(kb.Enter)
		k.sees(`document.querySelector("#url")`)
		k.tab(`#url`)
		k.press("http://127.0.0.1:1/cgi-bin/webhook/send?key=x")
		k.tab(`.form-foot .primary`)
		k.press(kb.Enter)
		k.sees(`/^\/alarms\/\d+$/.test(location.pathname) && document.querySelector("h1").textContent.includes("Settle")`)
	})
	// Who asks for something in a menu and thinks better of it is back at the menu.
	k.visit(link.Job(failing))
	k.tab(`.page-head .menu summary`)
	k.press(kb.Enter)
	k.tab(fmt.Sprintf(`.page-head [hx-get="%s"]`, link.JobDelete(failing)))
	k.press(kb.Enter)
	k.sees(`document.querySelector("dialog[open] h1")`)
	k.press(kb.Escape)
	k.sees(`!document.querySelector("dialog").open && document.activeElement.matches(".page-head .menu summary")`)
	n.admin.noPanic(t)
}
