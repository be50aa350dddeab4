package e2e

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// press clicks what a selector names, in a page that may run no scripts.
func press(selector string) chromedp.Action {
	return chromedp.Tasks{chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible)}
}

// chooseBare takes an option of a list by its value; no script hears of it.
func chooseBare(selector, value string) chromedp.Action {
	return chromedp.Tasks{chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.SetValue(selector, value, chromedp.ByQuery)}
}

// TestBrowserWithoutScripts is the story once more, in a browser in which no script of the page runs: everything can be
// read, and every form works.
func TestBrowserWithoutScripts(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, desk)
	w.expect("422", "404")
	slow := fmt.Sprint(a.login(t, testPassword).slowJob(t))
	w.do(emulation.SetScriptExecutionDisabled(true))
	w.visit("/login")
	w.do(write("#name", "admin"), write("#password", testPassword), press(".sign-in .primary"), shows("/"),
		press(`.nav a[href="/jobs"]`), shows("/jobs"), holds(`typeof window.htmx === "undefined" && document.querySelectorAll("tbody tr").length === 7`))

	// A filter has its button, and stands in the address.
	w.do(write("[name=q]", "greet"), press(".filters noscript button, .filters button"), holds(`location.search.includes("q=greet") && document.querySelectorAll("tbody tr").length === 1`))

	// A form that is not accepted comes back with what was typed; then it is accepted.
	w.visit("/jobs/1/edit")
	w.do(write("#cron", "not a cron"), press(".form-foot .primary"), holds(`document.querySelector("#cron-error") && document.querySelector("#cron").value === "not a cron"`),
		write("#cron", "0/3 * * * * ?"), press("details.disclosure.when-scheduled > summary"), write("#time_zone", "Asia/Tokyo"),
		press(".form-section:last-of-type details > summary"), write("#tags", "shop，night"), write("#retry_backoff", "10s, 1m"), write("#max_concurrent", "3"),
		press(".form-foot .primary"), shows("/jobs"), holds(`document.querySelector("#toasts .success")`),
		holds(`document.querySelector("#job-1 .cron").textContent === "0/3 * * * * ?" && document.querySelectorAll("#job-1 .tags .tag").length === 2`))
	w.visit("/jobs/1/edit")
	w.do(holds(`["time_zone", "tags", "retry_backoff", "max_concurrent"].map((id) => document.getElementById(id).value).join("|") === "Asia/Tokyo|shop,night|10s, 1m|3"`),
		holds(`[...document.querySelectorAll("details.disclosure")].every((d) => d.open)`), holds(`document.querySelectorAll("#preview li").length === 8`))

	// Stop, start, run once, read the output, kill.
	w.visit("/jobs")
	w.do(press("#job-1 .switch"), holds(`document.querySelector("#job-1 .switch").ariaChecked === "false"`), press("#job-1 .switch"), holds(`document.querySelector("#job-1 .switch").ariaChecked === "true"`),
		press("#job-"+slow+` [href$="/run"]`), shows("/jobs/"+slow+"/run"), write("#run-param", "600"), press(".panel .primary"), holds(`/^\/runs\/\d+$/.test(location.pathname)`))
	w.reloadUntil(`document.querySelector("[data-log-lines]")?.textContent.includes("of 600 s")`)
	w.do(press(`#run-head [href$="/kill"]`), holds(`location.pathname.endsWith("/kill")`), press(".panel .danger"), holds(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector("#run-head .badge.killed")`))

	// Delete, theme, language, log out.
	w.visit("/jobs")
	w.do(press("#job-4 .menu > summary"), press(`#job-4 [href$="/delete"]`), shows("/jobs/4/delete"), press(".panel .danger"), shows("/jobs"), holds(`!document.querySelector("#job-4")`),
		press(".account-button"), press(`button[name=theme][value=dark]`), holds(`document.documentElement.dataset.theme === "dark"`),
		press(".account-button"), press(`button[name=lang][value="zh-CN"]`), holds(`document.documentElement.lang === "zh-CN"`),
		press(".account-button"), press(`[action="/logout"] button`), shows("/login"))
	a.noPanic(t)
}

// TestBrowserWithoutScriptsMany starts, tags, moves, stops and deletes several jobs at once where no script of the page runs.
func TestBrowserWithoutScriptsMany(t *testing.T) {
	works(t)
	n := startNight(t, phone)
	n.must(t, link.ExecutorsPath, url.Values{groups.FieldAppName: {"reports"}, groups.FieldTitle: {"Reports"}, groups.FieldType: {groups.TypeAuto}})
	_, body := n.get(t, link.ExecutorsPath)
	reports := lastID(t, body, `/executors/(\d+)/edit`)
	yearly := url.Values{jobs.FieldScheduleType: {"CRON"}, jobs.FieldCron: {notSoon()}}
	n.do(emulation.SetScriptExecutionDisabled(true))
	n.doesToMany(n.schedule("Settle", "echo settled", yearly), n.schedule("Archive", "echo archived", yearly), reports)
	n.admin.noPanic(t)
}

func (n *night) doesToMany(a, b, reports int64) {
	n.t.Helper()
	both := func(format string) string { return fmt.Sprintf(format, a) + " && " + fmt.Sprintf(format, b) }
	// ask picks both jobs and chooses what to do with them.
	ask := func(do string) chromedp.Action {
		n.visit(link.JobsPath)
		return chromedp.Tasks{holds(`getComputedStyle(document.querySelector(".bulk-bar")).display === "none"`), press(fmt.Sprintf("#job-%d .pick", a)), press(fmt.Sprintf("#job-%d .pick", b)),
			press(fmt.Sprintf(".bulk-bar [value=%s]", do)), shows(link.JobsBulk), holds(`document.querySelectorAll(".bulk-items li").length === 2`)}
	}
	done := holds(`document.querySelectorAll(".bulk-items li.good").length === 2 && document.querySelector(".panel footer a.primary")`)
	back := chromedp.Tasks{press(".panel footer a.primary"), shows(link.JobsPath)}

	n.do(ask("start"), press(".panel .primary"), done, back, holds(both(`document.querySelector("#job-%d .switch").ariaChecked === "true"`)))
	n.do(ask("stop"), press(".panel .primary"), done,
		press(".panel footer button"), holds(`document.querySelector(".panel footer a.primary") && !document.querySelector(".panel footer button")`), done, back, holds(both(`document.querySelector("#job-%d .switch").ariaChecked === "true"`)))
	n.do(ask("stop"), press(".panel .primary"), done, back, holds(both(`document.querySelector("#job-%d .switch").ariaChecked === "false"`)))
	n.do(ask("tag"), write("#bulk-add", "night, 付款"), press(".panel .primary"), done, back, holds(both(`document.querySelectorAll("#job-%d .tags .tag").length === 2`)))
	n.do(ask("move"), chooseBare("#bulk-group", fmt.Sprint(reports)), press(".panel .primary"), done, back, holds(both(`document.querySelector("#job-%d .sub").textContent.includes("Reports")`)))
	// What is asked can be left.
	n.do(ask("delete"), press(".panel footer a.button"), shows(link.JobsPath), holds(both(`document.querySelector("#job-%d")`)))
	n.do(ask("delete"), press(".panel .danger"), done, back, holds(both(`!document.querySelector("#job-%d")`)))
}

// TestBrowserWithoutScriptsGlue reads, writes, runs, compares and takes back a script in a plain field, and clears the runs
// that came of it, where no script of the page runs.
func TestBrowserWithoutScriptsGlue(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	job := n.job("Settle", "echo first edition")
	n.do(emulation.SetScriptExecutionDisabled(true))
	n.writesPlainly(job)
	n.clearsPlainly(job)
	n.admin.noPanic(t)
}

func (n *night) writesPlainly(job int64) {
	n.t.Helper()
	n.expect("422")
	output := func(text string) chromedp.Action {
		return chromedp.ActionFunc(func(context.Context) error {
			n.reloadUntil(fmt.Sprintf(`document.querySelector("[data-log-lines]")?.textContent.includes(%q) && document.querySelector("#run-head .badge.success")`, text))
			return nil
		})
	}
	n.visit(link.JobGlue(job))
	n.do(holds(editorText+` === "echo first edition" && !document.querySelector(".cm-content")`),
		write("#glue-source", "# <tags> & 付款\necho second edition"),
		// A version has a remark; what was typed stays.
		write("#glue-remark", "new"), chromedp.Evaluate(`document.querySelector("[data-glue-form]").noValidate = true`, nil), press(".glue-save .primary"),
		holds(`document.querySelector("#glue-remark-error") && `+editorText+`.endsWith("付款\necho second edition")`),
		write("#glue-remark", "second edition"), press(".glue-save .primary"), holds(`document.querySelector("#toasts .success") && `+versions+` === 2`),
		holds(editorText+` === "# <tags> & 付款\necho second edition"`),
		write("#glue-source", "echo third edition"), press(".glue-run button"), holds(`document.querySelector(".glue-run a.link") && `+editorText+` === "echo third edition"`),
		press(".glue-run a.link"), holds(`/^\/runs\/\d+$/.test(location.pathname)`), output("third edition"))
	// The first version beside the current one, and back to it.
	n.visit(link.JobGlue(job))
	n.do(press(".versions > li:last-child .icon-button"), holds(`document.querySelector("td.left").textContent.includes("first edition") && document.querySelector("td.right").textContent.includes("付款")`),
		press(".page-head .primary"), shows(link.JobGlue(job)), holds(versions+` === 3 && `+editorText+` === "echo first edition"`),
		press(".glue-run button"), press(".glue-run a.link"), holds(`/^\/runs\/\d+$/.test(location.pathname)`), output("first edition"))
}

// clearsPlainly deletes both runs of a job: nothing before it is said what goes.
func (n *night) clearsPlainly(job int64) {
	n.t.Helper()
	n.visit(link.RunsPath)
	n.do(press(`.page-head [href^="`+link.ClearPath+`"]`), shows(link.ClearPath), holds(`!document.querySelector("#clear-form .danger")`),
		chooseBare("#clear-group", fmt.Sprint(n.group)), press("#clear-form [name=preview]"), holds(fmt.Sprintf(`document.querySelector("#clear-job option[value='%d']")`, job)),
		chooseBare("#clear-job", fmt.Sprint(job)), chooseBare("#clear-type", "9"), press("#clear-form [name=preview]"),
		holds(fmt.Sprintf(`document.querySelector("#clear-job").value === "%d" && document.querySelector("#clear-type").value === "9" && document.querySelector("#clear-form .notice").textContent.includes("2")`, job)),
		press("#clear-form .danger"), shows(link.ClearPath), holds(`document.querySelector(".clearings li")`))
	n.reloadUntil(`document.querySelector(".clearings li") && !document.querySelector(".clearings progress")`)
	n.visit(link.RunsOfJob(0, job))
	n.do(holds(`document.querySelector("h1") && !document.querySelector("tbody tr")`))
}

// reloadUntil loads the page again until an expression holds in it.
func (w *window) reloadUntil(expression string) {
	w.t.Helper()
	eventually(w.t, expression, func() error {
		var is bool
		if err := chromedp.Run(w.ctx, chromedp.Reload(), chromedp.Evaluate("!!("+expression+")", &is)); err != nil || !is {
			return errNotYet
		}
		return nil
	})
}
