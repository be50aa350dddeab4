package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// typing is somebody who has no mouse.
type typing struct{ *window }

// ringless is the element with the focus, in words, if nothing shows that it has it once its transitions are over: while
// they last, the mark of a moment ago would count.
const ringless = `(() => {
	document.getAnimations().filter((a) => a instanceof CSSTransition).forEach((a) => a.finish());
	const e = document.activeElement, seen = e.matches("input[type=radio], input[type=checkbox]") && e.labels.length && getComputedStyle(e).opacity === "0" ? e.labels[0] : e.closest(".cm-editor") ?? e;
	const s = getComputedStyle(seen), whole = getComputedStyle(seen, "::after"); // what fills its card draws the ring there
	const ring = (s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && !/, 0\)|transparent/.test(s.outlineColor);
	return e === document.body || ring(s) || whole.content !== "none" && ring(whole) || s.boxShadow !== "none" ? "" : e.outerHTML.slice(0, 120);
})()`

// tab presses the tab key until an element has the focus. Everything it comes by shows that it has it.
func (k typing) tab(selector string) {
	k.t.Helper()
	for range 120 {
		var there bool
		var bare string
		k.do(keys(kb.Tab), chromedp.Evaluate(fmt.Sprintf(`document.activeElement.matches(%q)`, selector), &there), chromedp.Evaluate(ringless, &bare))
		if bare != "" {
			k.t.Errorf("nothing shows the focus on %s", bare)
		}
		if there {
			return
		}
	}
	k.photograph()
	k.t.Fatalf("the tab key does not come to %s", selector)
}

func (k typing) press(all ...string) {
	k.t.Helper()
	k.do(keys(strings.Join(all, "")))
}

// goes presses g and a letter, which lead to a place if they follow each other within a second: that may take some tries on a busy machine.
func (k typing) goes(letter, path string) {
	k.t.Helper()
	for {
		began := time.Now()
		k.press("g", letter)
		if time.Since(began) < time.Second || strings.TrimPrefix(k.address(), k.origin) == path {
			k.do(shows(path))
			return
		}
	}
}

func (k typing) sees(expression string) {
	k.t.Helper()
	k.do(holds(expression))
}

// TestBrowserKeyboard is the work of a day without a mouse, in both themes: log in, make a job, run it, read its run, end
// it, pick several and stop them, find something, and leave. Whatever is swapped under the focus, the focus stays.
func TestBrowserKeyboard(t *testing.T) {
	t.Parallel()
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			works(t)
			a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
			k := typing{newWindow(t, a.url, desk)}
			k.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
			k.visit("/login")
			k.sees(`document.activeElement.name === "name"`)
			k.press("admin", kb.Tab, testPassword, kb.Enter)
			k.do(shows("/"))

			// The first stop of the tab key leads past the navigation.
			k.tab(".skip")
			k.press(kb.Enter)
			k.sees(`document.activeElement.id === "content"`)

			k.goes("j", "/jobs")
			k.tab(`.page-head a[href="/jobs/new"]`)
			k.press(kb.Enter)
			k.do(shows("/jobs/new"))
			k.tab("#name")
			k.press("Without a mouse")
			k.tab("#cron")
			k.do(keys("a", input.ModifierCtrl))
			k.press("0 0 5 * * ?")
			k.sees(`document.querySelector("#preview li")`)
			k.tab("#handler")
			k.press("sampleSlow")
			k.tab(".form-foot .primary")
			k.press(kb.Enter)
			k.do(shows("/jobs"), holds(`document.querySelector("#job-7 .title").textContent === "Without a mouse"`))

			// A switch keeps the focus when its row is drawn anew.
			k.tab("#switch-7")
			before := `document.querySelector("#switch-7").ariaChecked`
			var was string
			k.do(chromedp.Evaluate(before, &was))
			k.press(" ")
			k.sees(fmt.Sprintf(`%s !== %q && document.activeElement.id === "switch-7"`, before, was))

			// A dialog takes the focus, keeps it inside, and gives it back.
			k.tab(`#job-7 [hx-get$="/run"]`)
			k.press(kb.Enter)
			k.sees(`document.querySelector("dialog").open && document.activeElement.id === "run-param"`)
			for range 12 {
				k.press(kb.Tab)
				k.sees(`document.activeElement.closest("dialog") || document.activeElement === document.body`)
			}
			k.press(kb.Escape)
			k.sees(`!document.querySelector("dialog").open && document.activeElement.matches('#job-7 [hx-get$="/run"]')`)
			k.press(kb.Enter)
			k.sees(`document.querySelector("dialog").open && document.activeElement.id === "run-param"`)
			k.press("600")
			k.tab("dialog .primary")
			k.press(kb.Enter)
			k.sees(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector("#run-head .badge.sent")`)
			k.tab(`#run-head [hx-get$="/kill"]`)
			k.press(kb.Enter)
			k.sees(`document.querySelector("dialog").open`)
			k.tab("dialog .danger")
			k.press(kb.Enter)
			k.sees(`document.querySelector("#run-head .badge.killed") && !document.querySelector("dialog").open`)

			// Rows are walked through and picked; the deed is asked about, and its result is shown.
			k.goes("j", "/jobs")
			k.press("j", "x", "j", "j", "k", "x")
			k.sees(`document.querySelectorAll("tbody .pick:checked").length === 2 && document.activeElement.closest("tr").classList.contains("current")`)
			k.tab(`.bulk-bar [value="stop"]`)
			k.press(kb.Enter)
			k.sees(`document.querySelector("dialog").open`)
			k.tab("dialog footer .primary, dialog footer .danger")
			k.press(kb.Enter)
			k.sees(`document.querySelector("dialog .badge.success, dialog .panel .done, dialog [data-close]") && document.querySelectorAll('tbody .switch[aria-checked="false"]').length >= 2`)
			k.press(kb.Escape)
			k.sees(`!document.querySelector("dialog").open`)

			// The palette finds a job and opens it; the keys are listed by one of them.
			k.do(keys("k", input.ModifierCtrl), holds(`document.activeElement.closest("[data-palette-box]")`))
			k.press("Without a mouse")
			current := func(path string) string {
				return fmt.Sprintf(`document.getElementById(document.querySelector("[role=combobox]")?.getAttribute("aria-activedescendant"))?.matches('[aria-selected=true][href="%s"]')`, path)
			}
			// found is of all that was typed: what comes later begins with the first again, and takes the place of what Enter was pressed on.
			found := func(typed string) string {
				return fmt.Sprintf(`performance.getEntriesByType("resource").some((e) => /q=%s(&|$)/.test(e.name)) && !document.querySelector(".palette .htmx-request") && `,
					strings.ReplaceAll(typed, " ", `(\+|%20)`))
			}
			k.sees(found("Without a mouse") + current("/jobs/7"))
			k.press(kb.ArrowDown)
			k.sees(current("/jobs/7/run") + ` && document.activeElement.matches("[role=combobox]")`)
			k.press(kb.ArrowUp, kb.Enter)
			k.do(shows("/jobs/7"))

			// A deed of the palette is done where somebody is, and a key on the page of a job opens what it is for.
			started := `document.querySelector("#job .page-head .badge.online")`
			var was5 bool
			k.do(chromedp.Evaluate(`Boolean(`+started+`)`, &was5))
			k.do(keys("k", input.ModifierCtrl), holds(`document.activeElement.closest("[data-palette-box]")`))
			deed := map[bool]string{true: "stop", false: "start"}[was5] + " without"
			k.press(deed)
			k.sees(found(deed) + `document.querySelectorAll("[data-hit]").length === 1 && document.querySelector("[data-hit][aria-selected=true][hx-post]")`)
			k.press(kb.Enter)
			k.sees(`!document.querySelector("dialog").open && document.querySelector(".toast .undo")`) // which goes after some seconds
			k.sees(fmt.Sprintf(`Boolean(%s) !== %v`, started, was5))
			k.do(chromedp.Evaluate(`document.activeElement.blur()`, nil))
			k.press("r")
			k.sees(`document.querySelector("dialog").open && document.activeElement.id === "run-param"`)
			k.press(kb.Escape)
			k.sees(`!document.querySelector("dialog").open`)
			k.do(chromedp.Evaluate(`document.activeElement.blur()`, nil))
			k.press("?")
			k.sees(`document.querySelector("dialog[open] kbd")`)
			var still bool // one that is opened at once after it was closed keeps what is in it
			k.do(chromedp.Evaluate(`new Promise((done) => { const d = document.querySelector("dialog[open]"); d.addEventListener("close", () => done(d.querySelector("kbd") !== null), { once: true }); d.close(); d.showModal(); })`, &still, awaited))
			if !still {
				k.t.Error("a dialog was emptied after it had been opened again")
			}
			// Single keys are switched off, and on again; Ctrl+K and Escape stay.
			k.tab(`dialog [name="keys"][value="off"]`)
			k.press(kb.Enter)
			k.sees(`"noKeys" in document.body.dataset && !document.querySelector("dialog").open`)
			k.press("g", "r", "?")
			k.do(keys("k", input.ModifierCtrl), holds(`location.pathname === "/jobs/7" && document.activeElement.closest("[data-palette-box]")`))
			k.press("hotkeys")
			k.sees(found("hotkeys") + current("/keys"))
			k.press(kb.Enter)
			k.do(shows("/keys"))
			k.tab(`[name="keys"][value="on"]`)
			k.press(kb.Enter)
			k.sees(`!("noKeys" in document.body.dataset)`)
			k.goes("j", "/jobs")

			// A menu opens, is left by Escape, and has the focus again; the last item leaves.
			k.tab(".account-button")
			k.press(kb.Enter)
			k.sees(`document.querySelector(".sidebar details").open`)
			k.press(kb.Escape)
			k.sees(`!document.querySelector(".sidebar details").open && document.activeElement.matches(".account-button")`)
			k.press(kb.Enter)
			k.tab(`[action="/logout"] button`)
			k.press(kb.Enter)
			k.do(shows("/login"))
			a.noPanic(t)
		})
	}
}

// TestBrowserReducedMotion asks for less motion, and then nothing on any page of the story moves for longer than a blink.
func TestBrowserReducedMotion(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, desk)
	s := a.login(t, testPassword)
	w.enter(s)
	// A run that goes on has the marks that turn and beat.
	run := link.Run(s.runOnce(t, s.slowJob(t), "600"))
	moving := func(path string) (names []string) {
		w.visit(path)
		w.do(drawn(), chromedp.Evaluate(`document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime > 100).map((a) => a.animationName ?? a.transitionProperty)`, &names))
		return names
	}
	// Otherwise this test proves nothing.
	w.visit(run)
	w.do(holds(`document.getAnimations().some((a) => a.effect.getComputedTiming().endTime > 100)`))
	w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}))
	for _, path := range []string{"/", "/jobs", "/runs", run, "/executors", "/jobs/1/run"} {
		if names := moving(path); len(names) > 0 {
			t.Errorf("%s moves: %v", path, names)
		}
	}
	w.visit("/jobs")
	w.do(click(`#job-1 [hx-get$="/run"]`), holds(`document.querySelector("dialog").open`))
	var many int
	if w.do(drawn(), chromedp.Evaluate(`document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime > 100).length`, &many)); many > 0 {
		t.Error("a dialog moves")
	}
}

// TestBrowserSendsAFormFromItsFields: Ctrl+Enter in a field of several lines is its form's button, also where single keys are off; a part of a form
// that has a button of its own is meant by that. Where the form does what cannot be taken back, it does nothing before somebody stands in a field.
func TestBrowserSendsAFormFromItsFields(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on", "PUNCTUAL_HTTP_JOBS=on"}})
	k := typing{newWindow(t, a.url, desk)}
	s := a.login(t, testPassword)
	k.enter(s)
	s.must(t, link.Preferences, url.Values{layout.FieldKeys: {"off"}})
	send := func() { k.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(input.ModifierCtrl))) }

	k.visit(link.JobNewPath)
	k.do(click("[data-curl] summary"), write("#curl", "curl https://example.com/hook"))
	send()
	k.do(shows(link.JobCurlPath), holds(`document.querySelector("[name=call_url]").value === "https://example.com/hook"`))

	_, list := s.get(t, link.JobsPath+"?q=slow")
	job := lastID(t, list, `/jobs/(\d+)/edit`)
	k.visit(link.Job(job))
	k.do(click(fmt.Sprintf(`.page-head [hx-get="%s"]`, link.JobRun(job))), holds(`document.activeElement.id === "run-param"`))
	k.press("600")
	k.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(input.ModifierAlt))) // no key for it, and part of others: AltGr is Ctrl+Alt
	k.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(input.ModifierCtrl|input.ModifierAlt)))
	k.sees(`!document.querySelector("dialog .htmx-request, dialog.htmx-request") && document.querySelector("dialog[open] #run-param")`)
	send()
	k.sees(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector("#run-head .badge.sent")`)
	k.do(click(`#run-head [hx-get$="/kill"]`), holds(`document.activeElement.matches("dialog [data-close]")`))
	send()
	k.sees(`!document.querySelector("#run-head .badge.killed")`)
	a.noPanic(t)
}
