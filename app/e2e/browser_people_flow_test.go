package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// deeds is an administrator at work, with scripts or without: the same selectors lead through the dialogs of the one and the
// pages of the other.
type deeds struct {
	*window
	screen  screen
	scripts bool
}

// press clicks what a selector names. A page without scripts cannot say when it has been drawn, and needs not.
func (d deeds) press(selectors ...string) {
	d.t.Helper()
	for _, s := range selectors {
		if d.scripts {
			d.do(click(s))
		} else {
			d.do(chromedp.WaitVisible(s, chromedp.ByQuery), chromedp.Click(s, chromedp.ByQuery, chromedp.NodeVisible))
		}
	}
}

func (d deeds) sees(expression string) {
	d.t.Helper()
	d.do(holds(expression))
}

func (d deeds) fill(selector, text string) {
	d.t.Helper()
	d.do(write(selector, text))
}

// TestBrowserPeopleAndAlarms lets somebody in, changes what they may do and shuts them out; sets up a channel for alarms
// with a rule; makes an executor with a token of its own; and finds all of it in the audit log. With scripts on a desk and
// a phone, and without any.
func TestBrowserPeopleAndAlarms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		screen  screen
		scripts bool
	}{{"desk", desk, true}, {"phone", phone, true}, {"without scripts", desk, false}} {
		t.Run(c.name, func(t *testing.T) {
			works(t)
			hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/refuse" {
					w.WriteHeader(http.StatusForbidden)
				}
			}))
			t.Cleanup(hook.Close)
			a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
			d := deeds{newWindow(t, a.url, c.screen), c.screen, c.scripts}
			d.expect("422", "409", "401", "403")
			if !c.scripts {
				d.do(emulation.SetScriptExecutionDisabled(true))
			}
			d.enter(a.login(t, testPassword))
			d.people(a)
			d.enter(a.login(t, testPassword))
			d.channels(hook.URL)
			d.executors()
			d.audits()
			a.noPanic(t)
		})
	}
}

func (d deeds) people(a *admin) {
	d.visit("/users")
	d.press(".page-head .primary")
	d.do(shows("/users/new"))
	d.fill("#name", "Jonas Li")
	d.press(".form-foot .primary")
	d.sees(`document.querySelector("#name-error") && document.querySelector("#name").value === "Jonas Li"`)
	d.fill("#name", "jonas")
	d.press(`[name=right][value="1.run"]`, ".form-foot .primary")
	d.sees(`document.querySelector("#made-password").value.length > 20`)
	var password string
	d.do(chromedp.Value("#made-password", &password, chromedp.ByQuery))
	d.press(".panel footer .primary")
	d.do(shows("/users"), holds(`document.querySelectorAll("tbody tr").length === 2`))
	d.fill("[name=q]", "jon")
	if !d.scripts {
		d.press(".filters button")
	}
	d.sees(`document.querySelectorAll("tbody tr").length === 1 && location.search.includes("q=jon")`)

	// The new user comes in, sees what they may see, and is refused the rest in words.
	d.visit("/profile")
	d.press(".account-button", `[action="/logout"] button`)
	d.do(shows("/login"))
	d.fill("#name", "jonas")
	d.fill("#password", password)
	d.press(".sign-in .primary")
	d.do(shows("/"))
	d.visit("/jobs")
	d.sees(`document.querySelectorAll('#job-1 [href$="/run"]').length === 1 && !document.querySelector('a[href="/jobs/new"]')`)
	d.visit("/users")
	d.sees(`document.querySelector(".problem .code").textContent === "403" && document.querySelector(".problem .button")`)

	// A new password of theirs, their session ended, and the account closed and deleted.
	d.enter(a.login(d.t, testPassword))
	d.visit("/users")
	d.press(`tbody [href$="/password"]`)
	d.fill("#reset-password", "short")
	d.press(".panel .primary")
	d.sees(`document.querySelector("#reset-password-error")`)
	d.fill("#reset-password", "long-lamp-otter-for-all")
	d.press(".panel .primary")
	d.do(shows("/users"), holds(`document.querySelector("#toasts .success")`))
	d.press(`tbody [href$="/signout"]`)
	d.sees(`document.querySelector(".panel header") && !document.querySelector(".panel .danger")`) // the new password has ended the session
	d.visit("/users")
	d.press(`tbody a.title[href$="/edit"]`)
	d.press(`[name=state][value=disabled]`, ".form-foot .primary")
	d.do(shows("/users"), holds(`[...document.querySelectorAll("tbody tr")].some((r) => r.textContent.includes("jonas") && r.textContent.includes("Disabled"))`))
	d.press(`tbody [href$="/delete"]`, ".panel .danger")
	d.do(shows("/users"), holds(`document.querySelectorAll("tbody tr").length === 1`))
}

func (d deeds) channels(hook string) {
	d.visit("/alarms/new?kind=webhook")
	d.fill("#name", "On call")
	d.fill("#url", "not an address")
	d.press(".form-foot .primary")
	d.sees(`document.querySelector("#url-error") && document.querySelector("#name").value === "On call"`)
	d.fill("#url", hook+"/refuse")
	d.press(".form-foot .primary")
	d.do(shows("/alarms/1"))
	d.press("#test-button")
	d.sees(`document.querySelector("#test .notice.warning") && document.querySelector("#test").textContent.includes("403") && document.querySelector("#test .badge.failed")`)
	d.press(`.page-head [href$="/edit"]`)
	d.fill("#url", hook)
	d.press(".form-foot .primary")
	d.do(shows("/alarms/1"))
	d.press("#test-button")
	d.sees(`document.querySelector("#test .notice.info") && document.querySelector("#test .badge.success")`)
	// A rule for one job, which is then for all.
	d.press(`.card-head [href$="/routes/new"]`, `.panel input[value="job"]`)
	if d.scripts {
		d.fill("#job-search", "1")
		d.sees(`document.querySelector('#job-popup:not([hidden]) [data-job="1"]')`)
		// The list is drawn once more when the answer to what was typed comes: a click on the one before would come to nothing.
		d.sees(`document.querySelector("#route-job").value === "1" || void document.querySelector('#job-popup:not([hidden]) [data-job="1"]')?.click()`)
	} else {
		d.fill("#route-job", "1")
	}
	d.press(".panel .primary")
	d.do(shows("/alarms/1"), holds(`document.querySelectorAll("tr[id^=route-]").length === 2`))
	d.press(`tr[id^=route-]:last-of-type [href$="/edit"]`, `.panel input[value="group"]`, ".panel .primary")
	d.do(shows("/alarms/1"), holds(`document.querySelector("tr[id^=route-]:last-of-type").textContent.includes("Sample executor")`))
	d.press(`.page-head [href$="/delete"]`)
	d.sees(`document.querySelector(".panel").textContent.includes("2 rules")`)
	d.press(".panel .danger")
	d.do(shows("/alarms"), holds(`document.querySelector(".empty")`))
}

func (d deeds) executors() {
	d.visit("/executors/new")
	d.fill("#app_name", "by-hand")
	d.fill("#title", "By hand")
	d.press(`[name=type][value=manual]`)
	d.fill("#addresses", "10.0.0.1")
	d.press(".form-foot .primary")
	d.sees(`document.querySelector("#addresses-error") && document.querySelector("#addresses").value === "10.0.0.1"`)
	d.fill("#addresses", "http://127.0.0.1:9/")
	d.press(".form-foot .primary")
	d.sees(`document.querySelector("#toasts .success")`)
	d.visit("/executors?q=by-hand")
	d.press("tbody .title")
	d.sees(`document.querySelector("#token a")`)
	d.press(`#token [href$="/token/rotate"]`, ".panel .primary")
	d.sees(`document.querySelector("#token .danger-text") && document.querySelectorAll(".toast").length === 1 && document.querySelector("#toasts .success")`)
	d.sees(`document.querySelector("#token-value").textContent.length > 20 && document.querySelector("pre#way-java").textContent.includes(document.querySelector("#token-value").textContent)`)
	// Once more from the page that shows the token: it is the new one that stands there then.
	var first string
	d.do(chromedp.TextContent("#token-value", &first, chromedp.ByQuery))
	d.press(`#token [href$="/token/rotate"]`, ".panel .primary")
	d.sees(fmt.Sprintf(`document.querySelector("#token-value").textContent !== %q`, first))
	d.press(`#token [href$="/token/drop"]`, ".panel .danger")
	d.sees(`!document.querySelector("#token .danger-text")`)
	d.press(".page-head .menu summary", `.page-head [href$="/delete"]`, ".panel .danger")
	d.do(shows("/executors"), holds(`document.querySelectorAll("tbody tr").length === 1`))
}

func (d deeds) audits() {
	// On a phone the search is in the menu.
	if d.screen == phone {
		d.press(".account-button", `.menu-list.up [href="/palette"]`)
		d.sees(`document.querySelector("dialog[open] [data-palette-box]") && document.activeElement.name === "q"`)
		d.do(keys("greet"), holds(`document.querySelector("[data-hit]")?.textContent.includes("greet")`))
	}
	d.visit("/audit?kind=user")
	d.sees(`document.querySelectorAll("tbody tr").length >= 5`)
	d.visit("/audit?kind=group&action=delete")
	d.press(`tbody a`)
	d.sees(`/^\/audit\/\d+$/.test(location.pathname) && document.querySelector("h1").textContent.includes("By hand") && document.querySelector(".audited del").textContent !== ""`)
}
