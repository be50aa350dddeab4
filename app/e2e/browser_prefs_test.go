package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/executor/executortest"
)

// storesTheme waits until the administrator's theme is stored: a page shows it before the server knows it.
func (a *admin) storesTheme(t *testing.T, password, theme string) {
	t.Helper()
	elsewhere := a.login(t, password)
	eventually(t, "a theme that is stored", func() error {
		if _, body := elsewhere.get(t, "/profile"); !strings.Contains(body, `data-theme="`+theme+`"`) {
			return errNotYet
		}
		return nil
	})
}

// TestBrowserPreferences is an administrator who decides for the installation, chooses how the console looks, and keeps a filter,
// and takes a switch back; all of it with the page's scripts.
func TestBrowserPreferences(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			works(t)
			settings := adminSettings{dataDir: t.TempDir(), port: executortest.FreePort(t), env: []string{"PUNCTUAL_ADMIN_PASSWORD=correct-horse-lamp", "PUNCTUAL_SAMPLE=auto", "PUNCTUAL_ALARM_LANGUAGE=en"}}
			w := newWindow(t, "http://127.0.0.1:"+settings.port, s)
			admin := startAdmin(t, settings)
			enter := func() {
				w.visit("/login")
				w.logIn("correct-horse-lamp")
				w.do(holds(`location.pathname !== "/login"`))
			}
			enter()
			w.expect("422") // wrong settings, and a name that is taken

			// What the environment decides has no field; a wrong value comes back with its reason.
			w.visit("/settings")
			w.do(holds(`!document.querySelector("#setting-alarm_language input") && document.querySelector("#setting-alarm_language .fixed-value")`))
			w.do(write("#log_retention_days", "2"), click(".form-foot .primary"), holds(`document.querySelector("#log_retention_days[aria-invalid]")?.value === "2"`))
			w.do(write("#log_retention_days", "90"), click(".form-foot .primary"), holds(`document.querySelector(".toast.success") && document.querySelector("#log_retention_days").value === "90"`))

			// The theme follows the user into a browser that knows nothing, also of who leaves the page at once.
			w.visit("/profile")
			w.do(chromedp.Evaluate(`const send = fetch; window.fetch = (...call) => (document.body.dataset.sent = new Request(...call).keepalive, send(...call)); 0`, nil))
			w.do(click(`.fields button[name="theme"][value="dark"]`), holds(`document.documentElement.dataset.theme === "dark" && document.body.dataset.sent === "true"`))
			admin.storesTheme(t, "correct-horse-lamp", "dark")
			w.do(network.ClearBrowserCookies())
			enter()
			w.do(holds(`document.documentElement.dataset.theme === "dark"`))

			// A filter is typed, kept, used from the palette, renamed and forgotten.
			w.visit("/jobs")
			w.do(write(`.filters [name="author"]`, "punc"), holds(`document.querySelector(".view-save")?.href.includes("author%3Dpunc")`))
			w.do(click(".view-save"), holds(`document.querySelector("dialog[open] #view-name")`), write("#view-name", "Samples"), click("dialog .primary"))
			w.do(holds(`document.querySelector(".view.current a")?.textContent.includes("Samples") && !document.querySelector("dialog[open]")`))
			w.visit("/runs")
			w.do(keys("k", input.ModifierCtrl), holds(`document.querySelector("dialog[open] [data-palette-box] input")`),
				write("dialog [data-palette-box] input", "samp"), holds(`document.querySelector('[data-hit][href="/jobs?author=punc"]')`),
				// At once: the hits of what was typed last may still take the place of those before.
				chromedp.Evaluate(`document.querySelector('[data-hit][href="/jobs?author=punc"]').click()`, nil), holds(`location.pathname === "/jobs" && document.querySelector(".view.current")`))
			w.do(click(".view.current .icon-button"), holds(`document.querySelector("dialog[open] #view-name")?.value === "Samples"`),
				write("#view-name", "Mine"), keys(kb.Enter), // which saves, and does not delete
				holds(`document.querySelector(".view.current a")?.textContent.includes("Mine")`))
			w.do(click(".view.current .icon-button"), holds(`document.querySelector("dialog[open] .danger")`), click("dialog .danger"),
				holds(`location.pathname === "/jobs" && !document.querySelector(".view") && document.querySelector(".view-save")`))

			// What was done in a click is taken back from the message about it, over a row and over a table.
			const stopped, started = `document.querySelector("#switch-1[aria-checked=false]")`, `document.querySelector("#switch-1[aria-checked=true]")`
			w.do(click("#switch-1"), holds(stopped), click("#toasts .undo button"), holds(started),
				holds(`document.querySelectorAll("#toasts .toast:not(.leaving)").length === 1`))
			w.visit("/executors")
			w.do(click("tbody .title"), click("#rotation-0"), holds(`document.querySelector("#results .badge.disabled")`), click("#toasts .undo button"),
				holds(`!document.querySelector("#results .badge.disabled") && document.querySelectorAll("#toasts .toast:not(.leaving)").length === 1`))

			w.visit("/jobs/new")
			w.do(holds(`document.querySelector('a.more[href="/help#cron"]').target === "_blank"`))
			w.visit("/help#cron")
			w.do(holds(`document.querySelector("#cron").getBoundingClientRect().top < 200`))
			admin.noPanic(t)
		})
	}
}
