package e2e

import (
	"net/http"
	"os"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestBrowserLosesNothing takes away the session, and then the server, under somebody who is typing: they are told, what
// they typed stays, and it can be sent when all is well again.
func TestBrowserLosesNothing(t *testing.T) {
	works(t)
	settings := adminSettings{dataDir: t.TempDir(), port: executortest.FreePort(t), env: []string{"PUNCTUAL_SAMPLE=on"}}
	a := startAdmin(t, settings)
	w := newWindow(t, a.url, desk)
	w.expect("401", "422", "ERR_")
	w.enter(a.login(t, testPassword))
	loseSession := network.ClearBrowserCookies()
	const toast = `document.querySelector("#toasts .toast.error")`

	// A changed form asks before it is left, and one that is sent does not.
	w.visit("/jobs/1/edit")
	w.do(write("#name", "typed"), chromedp.Navigate(a.url+"/jobs"), shows("/jobs"))
	if w.leaves() != 1 {
		t.Error("a changed form does not ask before it is left")
	}
	w.visit("/jobs/1/edit")
	w.do(write("#name", "typed"), click(".form-foot .primary"), shows("/jobs"), holds(`document.querySelector("#job-1 .title").textContent === "typed"`))
	if w.leaves() != 0 {
		t.Error("a form that is sent asks whether to leave it")
	}

	// A form without its session comes back as it was sent; after a login beside it, it is sent again.
	w.visit("/jobs/1/edit")
	w.do(write("#name", `<b>late</b> & "odd"`), write("#param", "two\nlines"), loseSession, click(".form-foot .primary"),
		holds(`document.querySelector(".problem .code").textContent === "401" && document.querySelector('.problem a[target="_blank"]').pathname === "/login"`))
	w.enter(a.login(t, testPassword))
	w.do(click(".problem .primary"), shows("/jobs"), holds(`document.querySelector("#job-1 .title").textContent === '<b>late</b> & "odd"'`))
	w.visit("/jobs/1/edit")
	w.do(holds(`document.querySelector("#param").value === "two\nlines"`))

	// A dialog without its session stays open, with the message in it, where it can be read and closed.
	w.visit("/jobs")
	w.do(click(`#job-1 [hx-get$="/run"]`), holds(`document.querySelector("dialog").open`), write("#run-param", "typed"), loseSession, click("dialog .primary"),
		holds(`document.querySelector("dialog[open] .toast.error a[target='_blank']") && document.querySelector("#run-param").value === "typed"`),
		click("dialog .primary"), holds(`!document.querySelector("dialog .htmx-request, dialog.htmx-request")`), // the second answer is there
		holds(`document.querySelectorAll(".toast.error").length === 1`), // the same message is not shown twice
		click("dialog .toast [data-dismiss]"), holds(`!`+toast))
	w.enter(a.login(t, testPassword))
	w.do(click("dialog .primary"), holds(`/^\/runs\/\d+$/.test(location.pathname) && document.body.textContent.includes("typed")`))

	// A list that is narrowed without a session leads to the login, and back to what was typed; so does a timeline.
	for _, path := range []string{"/users", "/timeline"} {
		w.visit(path)
		w.do(loseSession, write("[name=q]", "x"), shows("/login"), holds(`new URLSearchParams(location.search).get("next").includes("q=x")`))
		w.logIn(testPassword)
		w.do(shows(path), holds(`document.querySelector("[name=q]").value === "x"`))
	}

	// The server ends while three people are at work in one window: in a form, in a dialog, in a list.
	w.visit("/jobs/new")
	w.do(write("#name", "kept"), write("#handler", "demoJobHandler"), write("#cron", "0 0 3 * * ?"))
	if err := a.signal(t, os.Interrupt); err != nil {
		t.Fatal(err)
	}
	w.do(click(".form-foot .primary"), holds(toast), holds(`location.pathname === "/jobs/new" && document.querySelector("#name").value === "kept"`),
		write("#cron", "0 0 4 * * ?"), holds(`document.querySelectorAll(".toast").length === 1`))
	a = startAdmin(t, settings)
	w.do(click(".form-foot .primary"), shows("/jobs"), holds(`document.querySelector("#job-7 .cron").textContent === "0 0 4 * * ?"`))

	w.do(click(`#job-2 [hx-get$="/run"]`), holds(`document.querySelector("dialog").open`), write("#run-param", "kept too"))
	if err := a.signal(t, os.Interrupt); err != nil {
		t.Fatal(err)
	}
	w.do(click("dialog .primary"), holds(`document.querySelector("dialog[open] .toast.error") && document.querySelector("#run-param").value === "kept too"`),
		keys(kb.Escape), holds(`!document.querySelector("dialog").open && `+toast), // the message outlives the dialog
		click("#job-2 .switch"), holds(`document.querySelector("#job-2 .switch").ariaChecked === "true" && document.querySelectorAll("tbody tr").length === 7`),
		write("[name=q]", "kept"), holds(`document.querySelectorAll("tbody tr").length === 7`))
	a = startAdmin(t, settings)
	w.do(keys("!"), holds(`document.querySelectorAll("tbody tr").length === 0`), keys(kb.Backspace), holds(`document.querySelectorAll("tbody tr").length === 1`))
	a.noPanic(t)
}

// TestBrowserHearsNoAnswer loses the answer to a run by hand on the way, on a page that goes on hearing from the server, as on a phone's bad line:
// the message is not gone with the next thing that comes, it claims nothing that nobody knows, and the second press runs nothing twice.
func TestBrowserHearsNoAnswer(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{dataDir: t.TempDir(), port: executortest.FreePort(t), env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, phone)
	w.expect("ERR_")
	w.enter(a.login(t, testPassword))
	lost := 0
	chromedp.ListenTarget(w.ctx, func(event any) {
		e, ok := event.(*fetch.EventRequestPaused)
		if !ok {
			return
		}
		var next chromedp.Action = fetch.ContinueRequest(e.RequestID)
		if e.Request.Method == http.MethodPost && lost == 0 {
			lost++
			next = fetch.FailRequest(e.RequestID, network.ErrorReasonConnectionReset)
		}
		go func() { _ = chromedp.Run(w.ctx, next) }() // the page may be gone already
	})
	w.visit("/jobs")
	heard := `performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/jobs") && e.startTime > window.told && e.responseEnd).length`
	w.do(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*/jobs/1/run", RequestStage: fetch.RequestStageResponse}}),
		click(`#job-1 [hx-get$="/run"]`), holds(`document.querySelector("dialog").open`), write("#run-param", "once"), click("dialog .primary"),
		holds(`document.querySelector("dialog[open] .toast.error")?.textContent.includes("may not have been done") && (window.told = performance.now())`),
		holds(`document.dispatchEvent(new Event("visibilitychange")) && `+heard+` > 1`),
		holds(`document.querySelector("dialog[open] .toast.error") && document.querySelector("#run-param").value === "once"`),
		click("dialog .primary"), holds(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector("#toasts").textContent.includes("had been run already")`))
	w.visit("/runs?job=1&trigger=MANUAL")
	w.do(holds(`document.querySelectorAll("tbody tr").length === 1`))
	a.noPanic(t)
}
