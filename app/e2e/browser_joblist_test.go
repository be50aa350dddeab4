package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// TestBrowserJobList works in the list of jobs while things happen elsewhere: what is shown becomes true by itself, and what
// somebody has picked, opened or has in focus stays where it is.
func TestBrowserJobList(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			works(t)
			n := startNight(t, s)
			l := jobList{night: n}
			l.beat = n.schedule("Heartbeat", "echo alive", url.Values{jobs.FieldScheduleType: {"FIX_RATE"}, jobs.FieldSeconds: {"2"}})
			l.nightly = n.schedule("Nightly", "echo done", url.Values{jobs.FieldScheduleType: {"CRON"}, jobs.FieldCron: {"0 0 3 * * ?"}})
			l.byHand = n.job("By hand", "exit 3")
			n.must(t, link.JobStart(l.beat), nil)
			l.staysFresh()
			l.speaksOfTimes()
			l.rowsComeAndGo()
			l.undoes()
			n.admin.noPanic(t)
		})
	}
}

// jobList is somebody at the list of jobs.
type jobList struct {
	*night
	beat, nightly, byHand int64
}

// at is an expression for something in a job's row.
func at(job int64, selector string) string {
	return fmt.Sprintf(`document.querySelector('#job-%d %s')`, job, selector)
}

// seenAgain is what happens when somebody comes back to the window: the page looks for news at once.
func seenAgain() chromedp.Action {
	return chromedp.Evaluate(`document.dispatchEvent(new Event("visibilitychange"))`, nil)
}

// staysFresh sees a run that was started elsewhere, with a job picked, a menu open and the focus in it.
func (l *jobList) staysFresh() {
	l.visit("/jobs")
	l.do(holds(at(l.byHand, "td:nth-child(5)")+`.textContent.trim() === "Never ran"`),
		click(fmt.Sprintf("#job-%d .pick", l.beat)), holds(`document.querySelector("[data-picked-count]").textContent === "1"`),
		click(fmt.Sprintf("#job-%d .menu > summary", l.byHand)), holds(at(l.byHand, ".menu[open]")),
		keys(kb.Tab), holds(`document.activeElement.matches(".menu-item")`),
		holds(`window.y === scrollY || (window.y = scrollY, false)`), // the page has scrolled to what has the focus
		chromedp.Evaluate(`window.row = `+at(l.byHand, "")+`; window.focused = document.activeElement; window.menu = row.querySelector(".menu-list").className`, nil))
	run := l.run(l.byHand, "")
	l.do(holds(fmt.Sprintf(`document.querySelector('#job-%d a[href=%q] .badge.failed')`, l.byHand, run)),
		holds(`window.row === `+at(l.byHand, "")+` && window.focused === document.activeElement`), holds(`window.menu === row.querySelector(".menu-list").className`), holds(`window.y === scrollY`),
		holds(at(l.byHand, ".menu[open]")+` && `+at(l.beat, ".pick")+`.checked && document.querySelector("[data-picked-count]").textContent === "1"`),
		// The menu still works.
		click(fmt.Sprintf("#job-%d .menu-item", l.byHand)), shows("/runs"), holds(listed+` === 1`))
}

// speaksOfTimes watches the next time of a job that fires every two seconds: it is in a moment or now, and never past.
func (l *jobList) speaksOfTimes() {
	l.visit("/jobs")
	next := at(l.beat, "time[data-due]")
	l.do(holds(next), chromedp.Evaluate(`window.said = new Set(); window.last = `+at(l.beat, "td:nth-child(5) a")+`.href;
		new MutationObserver(() => said.add(`+next+`.textContent)).observe(`+at(l.beat, "")+`, {subtree: true, childList: true, characterData: true, attributes: true})`, nil),
		holds(at(l.beat, "td:nth-child(5) a")+`.href !== window.last`), holds(`said.size > 1`))
	var said []string
	l.do(chromedp.Evaluate(`[...said]`, &said))
	for _, words := range said {
		if words != "due now" && !strings.HasPrefix(words, "in ") && !strings.HasSuffix(words, " late") {
			l.t.Errorf("a next time is %q", words)
		}
	}
	// What nobody claims is due for a moment, and then late.
	past := func(seconds int, says string) chromedp.Action {
		// Again and again, for the list is drawn anew meanwhile.
		return holds(fmt.Sprintf(`%s.test(%s.textContent) || void (%[2]s.dateTime = new Date(Date.now() - %d).toISOString())`, says, next, 1000*seconds))
	}
	l.do(past(3, `/^due now$/`), past(40, `/^4\d s late$/`))
}

// rowsComeAndGo makes a job and deletes it elsewhere. Its row waits while somebody is at work in the list; the others go on.
func (l *jobList) rowsComeAndGo() {
	l.visit("/jobs")
	l.do(input.DispatchMouseEvent(input.MouseMoved, 5, 5), click(fmt.Sprintf("#job-%d .pick", l.nightly)))
	made := l.job("Made elsewhere", "echo")
	run := l.run(l.byHand, "")
	row := fmt.Sprintf(`document.querySelector("#job-%d")`, made)
	l.do(seenAgain(), holds(fmt.Sprintf(`document.querySelector('#job-%d a[href=%q] .badge.failed')`, l.byHand, run)), holds(`!`+row+` && `+at(l.nightly, ".pick")+`.checked`),
		click(fmt.Sprintf("#job-%d .pick", l.nightly)), chromedp.Evaluate(`document.activeElement.blur()`, nil), seenAgain(), holds(row),
		// The new row works as the others do.
		click(fmt.Sprintf(`#job-%d [hx-get$="/run"]`, made)), holds(`document.querySelector("dialog").open`), keys(kb.Escape), holds(`!document.querySelector("dialog").open && document.activeElement.closest("#results")`))
	l.must(l.t, link.JobDelete(made), nil)
	// A dialog that has closed gives the focus back once more a moment later.
	l.do(holds(`document.activeElement.blur() || document.dispatchEvent(new Event("visibilitychange")) && !` + row + ` && ` + listed + ` === 3`))
}

// undoes takes a start and a stop back, under a filter that the row leaves by it.
func (l *jobList) undoes() {
	l.visit("/jobs?state=running")
	is := func(on bool) string { return at(l.beat, ".switch") + fmt.Sprintf(`?.ariaChecked === "%t"`, on) }
	undo := "#toasts .toast:last-child .undo button"
	l.do(holds(listed+` === 1`), click(fmt.Sprintf("#job-%d .switch", l.beat)), holds(is(false)), click(undo), holds(is(true)),
		holds(`location.search === "?state=running"`), holds(listed+` === 1`))
	l.visit("/jobs")
	l.do(click(fmt.Sprintf("#job-%d .switch", l.nightly)), holds(at(l.nightly, ".switch")+`.ariaChecked === "true" && `+at(l.nightly, "time[data-due]")),
		click(undo), holds(at(l.nightly, ".switch")+`.ariaChecked === "false" && !`+at(l.nightly, "time[data-due]")))
	_, body := l.get(l.t, "/jobs?state=running")
	if strings.Contains(body, fmt.Sprintf(`id="job-%d"`, l.nightly)) || !strings.Contains(body, fmt.Sprintf(`id="job-%d"`, l.beat)) {
		l.t.Error("what was undone is not as it was before")
	}
}

// TestBrowserMenusStayInTheWindow opens the menu of each row in a window that is lower than two menus.
func TestBrowserMenusStayInTheWindow(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	for i := range 8 {
		n.job(fmt.Sprintf("Payment %d", i), "true")
	}
	n.resize(screen{"low", 1280, 450})
	n.visit("/jobs")
	var outside []string
	n.do(chromedp.Evaluate(`(async () => {
		const outside = [];
		for (const menu of document.querySelectorAll("tbody details.menu")) {
			menu.scrollIntoView({ block: "center" });
			menu.open = true;
			await new Promise((done) => menu.addEventListener("toggle", done, { once: true }));
			document.getAnimations().forEach((a) => a.finish());
			const { top, bottom } = menu.querySelector(".menu-list").getBoundingClientRect();
			if (top < 0 || bottom > innerHeight) outside.push(top + " to " + bottom);
			menu.open = false;
		}
		return outside;
	})()`, &outside, awaited))
	if len(outside) > 0 {
		t.Errorf("menus lie from %s of 450", strings.Join(outside, ", "))
	}
	n.admin.noPanic(t)
}

// TestBrowserSearchesForWholeWords types with an input method: what it has not finished is looked for by nobody.
func TestBrowserSearchesForWholeWords(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	n.job("支付对账", "true")
	n.job("Settle", "true")
	const asked = `performance.getEntriesByType("resource").map((e) => new URL(e.name).searchParams.get("q")).filter(Boolean).join()`
	for path, field := range map[string]string{"/jobs": "[data-search]", "/palette": "[data-palette-box] input"} {
		n.visit(path)
		n.do(click(field), input.ImeSetComposition("zhifu", 5, 5),
			chromedp.Evaluate(`new Promise((done) => setTimeout(done, 600))`, nil, awaited), // twice what a pause in typing takes
			input.InsertText("支付"), holds(asked+`.endsWith("支付")`), holds(asked+` === "支付"`))
	}
	n.admin.noPanic(t)
}
