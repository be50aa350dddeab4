package e2e

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
)

// TestBrowserMeanwhile has things change while somebody works on a page: its clock, the run that it shows, the rows of a list, the form that
// is being filled in.
func TestBrowserMeanwhile(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	slow := n.job("Settle", countdown)
	for _, c := range []struct {
		name  string
		story func(n *night, slow int64)
	}{
		{"a wrong clock", (*night).hasAWrongClock},
		{"two trials", (*night).triesTwice},
		{"a trial that cannot start", (*night).triesInVain},
		{"a late answer", (*night).hearsLate},
		{"a late list", (*night).switchesMeanwhile},
		{"an end", (*night).endsMeanwhile},
		{"picked runs", (*night).keepsPicks},
		{"a dialog", (*night).selectsToTheEdge},
		{"a form", (*night).leavesByMenu},
		{"a frozen admin", (*night).savesWhileFrozen},
		{"a message", (*night).holdsAMessage},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := *n
			own.window = newWindow(t, n.admin.url, desk)
			own.enter(n.session)
			c.story(&own, slow)
		})
	}
	n.admin.noPanic(t)
}

// before runs a script in every page before its own.
func (w *window) before(script string) {
	w.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

// hasAWrongClock looks at times in a browser whose clock is two hours ahead, and then is set right. The time beside the list is one that no
// answer draws anew.
func (n *night) hasAWrongClock(slow int64) {
	n.before(`{ const now = Date.now; Date.now = () => now() + (window.right ? 0 : 7200000); }`)
	n.run(slow, "")
	const told = `/^(now|\d+ (s|min) ago)$/.test(time.textContent)`
	for _, path := range []string{"/runs", "/jobs"} {
		n.visit(path)
		n.do(chromedp.Evaluate(`window.time = document.querySelector("tbody time[data-relative]").cloneNode(); document.body.append(time)`, nil), holds(`time.textContent`), holds(told))
	}
	n.do(chromedp.Evaluate(`window.right = true`, nil), holds(`/^in 1 h/.test(time.textContent) || `+told),
		chromedp.Evaluate(`document.dispatchEvent(new Event("visibilitychange"))`, nil), holds(told))
}

// triesTwice tries a script while its first trial goes on: what is shown is the second, and nothing listens to the first any more.
func (n *night) triesTwice(slow int64) {
	n.before(`{ const Source = window.EventSource; window.sources = []; window.EventSource = class extends Source { constructor(...all) { super(...all); sources.push(this); } }; }`)
	const shown = `document.querySelector("#run-badge a").pathname`
	n.visit(link.JobGlue(slow))
	n.do(click(".glue-run button"), holds(`window.sources.length === 1 && document.querySelectorAll("#glue-output li").length > 100`), chromedp.Evaluate(`window.first = `+shown, nil),
		click(".glue-run button"), holds(shown+` !== window.first && document.querySelectorAll("#glue-output li").length > 100`),
		holds(shown+` !== window.first && sources[0].readyState === 2 && sources.at(-1).readyState === 1`))
}

// triesInVain tries a script while its first trial goes on, and nothing can run it: nothing listens to the first any more either.
func (n *night) triesInVain(slow int64) {
	n.expect("422")
	n.before(`{ const Source = window.EventSource; window.sources = []; window.EventSource = class extends Source { constructor(...all) { super(...all); sources.push(this); } }; }`)
	n.visit(link.JobGlue(slow))
	n.do(click(".glue-run button"), holds(`window.sources.length === 1 && document.querySelectorAll("#glue-output li").length > 100`),
		chromedp.Evaluate(`document.querySelector("#glue-address").replaceChildren()`, nil),
		click(".glue-run button"), holds(`document.querySelector("#glue-output .notice.error") && sources[0].readyState === 2`))
}

// switchesMeanwhile starts a job while its list, as it was before, is on its way: the job is not drawn as stopped again. The round that comes
// next is asked for once that list has been looked at.
func (n *night) switchesMeanwhile(int64) {
	planned := n.schedule("Switched", "exit 0", url.Values{jobs.FieldScheduleType: {"FIX_RATE"}, jobs.FieldSeconds: {"3600"}})
	n.before(`{ const ask = window.fetch; window.rounds = 0; window.fetch = async (...all) => { const list = all[0] === location.href; rounds += list; const answer = await ask(...all); if (list && window.slow) { await answer.clone().text(); window.answered = true; await slow; } return answer; }; }`)
	n.visit("/jobs")
	state := fmt.Sprintf(`document.querySelector("#switch-%d").ariaChecked`, planned)
	n.do(holds(pageIs+`"live" && `+state+` === "false"`),
		chromedp.Evaluate(`window.slow = new Promise((done) => (window.release = done)); document.dispatchEvent(new Event("visibilitychange"))`, nil), holds(`window.answered`),
		click(fmt.Sprintf("#switch-%d", planned)), holds(state+` === "true"`),
		chromedp.Evaluate(`window.back = false; new MutationObserver(() => (back ||= `+state+` === "false")).observe(document.querySelector("#results"), { attributes: true, childList: true, subtree: true })`, nil),
		chromedp.Evaluate(`window.seen = rounds; window.slow = null; release()`, nil), holds(`rounds > seen`), holds(`!back && `+state+` === "true"`))
}

// hearsLate has a run end while the list that is drawn anew is on its way: the run does not go on again with it.
func (n *night) hearsLate(slow int64) {
	run := n.run(slow, "")
	row := `document.querySelector("#run-` + run[len("/runs/"):] + `")`
	n.before(`{ const ask = window.fetch; window.fetch = async (...all) => { const answer = await ask(...all); window.answered = true; if (window.slow) await slow; return answer; }; }`)
	n.visit("/runs")
	n.do(holds(row+`.querySelector(".badge.sent")`), holds(pageIs+`"live"`),
		chromedp.Evaluate(`window.old = `+row+`; window.answered = false; window.slow = new Promise((done) => (window.release = done)); document.querySelector("[data-new-rows] button").click()`, nil),
		holds(`window.answered`))
	n.must(n.t, run+"/kill", nil)
	n.do(holds(row+`.querySelector(".badge.killed")`), chromedp.Evaluate(`release()`, nil), holds(`!old.isConnected`), holds(row+`.querySelector(".badge.killed")`))
}

// endsMeanwhile has the focus come to the button that ends a run while the list that is drawn anew is on its way: it keeps it, so that Enter asks
// about the end and opens nothing else.
func (n *night) endsMeanwhile(slow int64) {
	row := `document.querySelector("#run-` + n.run(slow, "")[len("/runs/"):] + `")`
	n.before(`{ const ask = window.fetch; window.fetch = async (...all) => { const answer = await ask(...all); window.answered = true; if (window.slow) await slow; return answer; }; }`)
	n.visit("/runs")
	n.do(holds(row+`.querySelector(".badge.sent")`), holds(pageIs+`"live"`),
		chromedp.Evaluate(`window.old = `+row+`; window.answered = false; window.slow = new Promise((done) => (window.release = done)); document.querySelector("[data-new-rows] button").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }))`, nil),
		holds(`window.answered`), chromedp.Evaluate(row+`.querySelector('[hx-get$="/kill"]').focus()`, nil),
		chromedp.Evaluate(`release()`, nil), holds(`!old.isConnected`), chromedp.KeyEvent(kb.Enter), holds(`document.querySelector("dialog[open] .danger")`))
}

// keepsPicks picks runs, of which one is deleted then, and has the list drawn anew.
func (n *night) keepsPicks(slow int64) {
	gone := n.job("Gone", "exit 0")
	one, two := n.run(gone, ""), n.run(n.job("Stays", "exit 0"), "")
	const count = `document.querySelector("[data-picked-count]").textContent`
	row := func(run string) string { return "#run-" + run[len("/runs/"):] }
	pick := func(run string) chromedp.Action { return click(row(run) + " .pick") }
	n.visit("/runs?result=success")
	// Both are there before one is picked: what ends behind a pick waits.
	n.do(holds(fmt.Sprintf(`document.querySelector(%q) && document.querySelector(%q)`, row(one), row(two))), pick(one), pick(two), holds(count+` === "2"`))
	n.must(n.t, link.ClearPath, url.Values{runs.FieldGroup: {fmt.Sprint(n.group)}, runs.FieldJob: {fmt.Sprint(gone)}, runs.FieldType: {"9"}, runs.FieldPreviewed: {fmt.Sprintf("%d.%d.9", n.group, gone)}})
	n.do(holds(fmt.Sprintf(`!document.querySelector(%q)`, row(one))), holds(count+` === "1"`))
	n.do(chromedp.Evaluate(`window.old = document.querySelector("tbody"); document.querySelector("[data-new-rows] button").click()`, nil), holds(`!old.isConnected`),
		holds(`!document.querySelector("[data-pick-all]").hidden && `+count+` === "0"`))
}

// selectsToTheEdge selects what is typed in a dialog with the pointer, beyond its edge: what is typed stays. A click beside the dialog closes it.
func (n *night) selectsToTheEdge(slow int64) {
	n.visit("/jobs")
	n.do(click(fmt.Sprintf(`#job-%d [hx-get$="/run"]`, slow)), holds(`document.querySelector("dialog").open`), write("#run-param", "typed"))
	var at []float64
	n.do(chromedp.Evaluate(`(() => { const { x, y, height } = document.querySelector("#run-param").getBoundingClientRect(); return [x, y + height / 2]; })()`, &at))
	mouse := func(what input.MouseType, x, y float64) chromedp.Action {
		return input.DispatchMouseEvent(what, x, y).WithButton(input.Left).WithClickCount(1)
	}
	n.do(drawn(), mouse(input.MousePressed, at[0]+60, at[1]), mouse(input.MouseMoved, 20, at[1]), mouse(input.MouseReleased, 20, at[1]), drawn(),
		holds(`document.querySelector("dialog").open && document.querySelector("#run-param").value === "typed"`),
		mouse(input.MousePressed, 20, at[1]), mouse(input.MouseReleased, 20, at[1]), holds(`!document.querySelector("dialog").open`))
}

// leavesByMenu changes the language while a form is filled in: the browser asks first.
func (n *night) leavesByMenu(slow int64) {
	n.visit(link.JobEdit(slow))
	n.do(write("#name", "typed"), click(".account-button"), click(`[name=lang][value=en]`), holds(`!document.querySelector("#name") || document.querySelector("#name").value === "Settle"`))
	if n.leaves() != 1 {
		n.t.Error("a changed form is left for another language without a question")
	}
}

// savesWhileFrozen saves a form while the admin takes calls and answers none: the reader is told so, what is typed stays, and it can be saved
// once the admin answers again.
func (n *night) savesWhileFrozen(int64) {
	n.before(`{ const { timeout } = AbortSignal; AbortSignal.timeout = (ms) => timeout.call(AbortSignal, window.frozen ? ms / 20 : ms); }`)
	const (
		save  = "form.settings button.primary"
		typed = `document.querySelector("[name=misfire_seconds]").value === "7"`
		told  = `document.querySelector("#toasts .toast.error")`
	)
	n.visit(link.SettingsPath)
	n.do(write("[name=misfire_seconds]", "7"))
	n.admin.freeze(n.t)
	n.do(chromedp.Evaluate(`window.frozen = true`, nil), click(save), holds(told+` && `+typed))
	n.admin.thaw(n.t)
	n.do(chromedp.Evaluate(`window.frozen = false`, nil), holds(`!`+told+` && `+typed), click(save),
		holds(`!("frozen" in window) && `+typed+` && document.querySelector("#setting-misfire_seconds .setting-source svg")`))
}

// holdsAMessage has the keyboard on what takes a deed back: the message stays for as long, whatever comes and goes beside it.
func (n *night) holdsAMessage(int64) {
	planned := n.schedule("Planned", "exit 0", url.Values{jobs.FieldScheduleType: {"FIX_RATE"}, jobs.FieldSeconds: {"3600"}})
	n.before(`{ const wait = window.setTimeout; window.setTimeout = (what, ms, ...args) => wait(what, ms >= 6000 ? ms / 20 : ms, ...args); }`)
	n.visit("/jobs")
	// It comes and has the keyboard at once: it stays for a moment only where nobody is on it.
	n.do(chromedp.Evaluate(`new MutationObserver(() => { window.held ??= document.querySelector("#toasts .undo")?.closest(".toast"); held?.querySelector("button").focus(); }).observe(document.querySelector("#toasts"), { childList: true })`, nil),
		click(fmt.Sprintf("#job-%d .switch", planned)), holds(`window.held`),
		chromedp.Evaluate(`window.other = held.cloneNode(true); delete other.dataset.armed; other.append("other"); held.before(other)`, nil),
		holds(`!other.isConnected`), holds(`held.isConnected && !held.classList.contains("leaving")`),
		chromedp.Evaluate(`document.activeElement.blur()`, nil), holds(`!held.isConnected`))
}
