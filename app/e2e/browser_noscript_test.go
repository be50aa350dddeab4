package e2e

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestBrowserWithoutScripts is the story once more, in a browser in which no script of the page runs: everything can be
// read, and every form works.
func TestBrowserWithoutScripts(t *testing.T) {
	t.Parallel()
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, desk)
	w.expect("422", "404")
	w.do(emulation.SetScriptExecutionDisabled(true))
	press := func(selector string) chromedp.Action {
		return chromedp.Tasks{chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible)}
	}
	w.visit("/login")
	w.do(write("#name", "admin"), write("#password", testPassword), press(".sign-in .primary"), shows("/"),
		press(`.nav a[href="/jobs"]`), shows("/jobs"), holds(`typeof window.htmx === "undefined" && document.querySelectorAll("tbody tr").length === 4`))

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
		press(`#job-3 [href$="/run"]`), shows("/jobs/3/run"), write("#run-param", "600"), press(".panel .primary"), holds(`/^\/runs\/\d+$/.test(location.pathname)`))
	eventually(t, "output on a page that is loaded again", func() error {
		var has bool
		if err := chromedp.Run(w.ctx, chromedp.Reload(), chromedp.Evaluate(`document.querySelector("[data-log-lines]").textContent.includes("of 600 s")`, &has)); err != nil || !has {
			return errNotYet
		}
		return nil
	})
	w.do(press(`#run-head [href$="/kill"]`), holds(`location.pathname.endsWith("/kill")`), press(".panel .danger"), holds(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector("#run-head .badge.killed")`))

	// Delete, theme, language, log out.
	w.visit("/jobs")
	w.do(press("#job-4 .menu > summary"), press(`#job-4 [href$="/delete"]`), shows("/jobs/4/delete"), press(".panel .danger"), shows("/jobs"), holds(`!document.querySelector("#job-4")`),
		press(".account-button"), press(`button[name=theme][value=dark]`), holds(`document.documentElement.dataset.theme === "dark"`),
		press(".account-button"), press(`button[name=lang][value="zh-CN"]`), holds(`document.documentElement.lang === "zh-CN"`),
		press(".account-button"), press(`[action="/logout"] button`), shows("/login"))
	a.noPanic(t)
}
