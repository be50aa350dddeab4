package e2e

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

const (
	rowCount = `document.querySelectorAll("tbody tr").length`
	topRow   = `Number(document.querySelector("tbody tr").dataset.id)`
	newRows  = `document.querySelector("[data-new-rows]")`
)

// TestBrowserRunList works in a list into which new runs come all the time: narrows it, walks through it with the keyboard,
// lets new rows wait, sees a killed run leave a filter, and clears what is no longer wanted.
func TestBrowserRunList(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	fails, slow := n.job("Fetch rates", "exit 3"), n.job("Settle", countdown)
	busy := n.schedule("Heartbeat", "echo alive", url.Values{jobs.FieldScheduleType: {"FIX_RATE"}, jobs.FieldSeconds: {"1"}})
	for range 2 {
		n.run(fails, "")
	}
	running := n.run(slow, "")
	n.must(t, link.JobStart(busy), nil)

	n.filters()
	n.walks()
	n.picks()
	n.leavesFilter(running)
	n.clears(busy)
	n.admin.noPanic(t)
}

// choose picks an option as a person does.
func choose(selector, value string) chromedp.Action {
	return chromedp.Tasks{chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.SetValue(selector, value, chromedp.ByQuery),
		chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).dispatchEvent(new Event("change", {bubbles: true}))`, selector), nil)}
}

// filters narrows the list; what is chosen stands in the address, survives a reload and goes with the back button.
func (n *night) filters() {
	n.visit("/runs")
	n.do(holds(rowCount+` >= 4`), choose(`[name=result]`, "failed"), holds(`location.search.includes("result=failed") && `+rowCount+` === 2`),
		holds(`document.querySelectorAll("tbody .badge.failed").length === 2`),
		chromedp.Reload(), holds(rowCount+` === 2 && document.querySelector("[name=result]").value === "failed"`),
		choose(`[name=group]`, fmt.Sprint(n.group)), holds(`location.search.includes("group=") && document.querySelectorAll("#filter-job option").length === 4`),
		// One character: where the keys come slowly each of several is a filter of its own, and so a step back.
		write("[name=q]", "~"), holds(`document.querySelector("#results .empty") && location.search.includes("q=~")`),
		chromedp.NavigateBack(), holds(rowCount+` === 2 && !location.search.includes("q=")`))
}

// walks goes through the rows with the keyboard. New rows wait meanwhile, and the row stays where it is.
func (n *night) walks() {
	n.visit("/runs")
	n.do(holds(rowCount+` >= 4`), input.DispatchMouseEvent(input.MouseMoved, 5, 5), keys("j"), keys("j"), keys("j"), keys("k"),
		holds(`document.activeElement.matches("tr.current a") && [...document.querySelectorAll("tbody tr")].indexOf(document.querySelector("tr.current")) === 1`),
		chromedp.Evaluate(`window.row = document.querySelector("tr.current"); window.where = row.getBoundingClientRect().top; window.top0 = `+topRow, nil),
		holds(`!`+newRows+`.hidden && parseInt(`+newRows+`.textContent.replace(/\D/g, "")) >= 2`),
		holds(topRow+` === window.top0 && row.getBoundingClientRect().top === window.where && document.activeElement.closest("tr") === row`),
		// The button brings them and goes, until there are more; the row is found again, with the focus.
		chromedp.Evaluate(`new MutationObserver(() => window.brought ||= `+newRows+`.hidden && `+topRow+` > window.top0).observe(document.querySelector("#results"), {childList: true});
			document.querySelector("[data-new-rows] button").click()`, nil), holds(`window.brought`),
		keys(kb.Enter), holds(`/^\/runs\/\d+$/.test(location.pathname)`))
}

// picks marks a run while new ones come: the button that shows them leaves the one that runs the marked ones again in reach.
func (n *night) picks() {
	n.visit("/runs")
	n.do(click("tbody .pick"), holds(`!`+newRows+`.hidden`),
		holds(`(() => {
			const button = document.querySelector("#bulk button"), at = button.getBoundingClientRect();
			return [0.1, 0.5, 0.9].every((x) => button.contains(document.elementFromPoint(at.left + x * at.width, at.top + at.height / 2)));
		})()`),
		click("#bulk button"), holds(`document.querySelector("dialog").open`), keys(kb.Escape), holds(`!document.querySelector("dialog").open`))
}

// leavesFilter ends a run from the list of what is running: its row goes, and the page is still the same.
func (n *night) leavesFilter(running string) {
	id := running[len("/runs/"):]
	n.visit("/runs?result=running&q=" + id)
	row := `document.querySelector("#run-` + id + `")`
	n.do(holds(row), chromedp.Evaluate(`window.same = true`, nil),
		// Picked, it can be ended with others.
		click(`#run-`+id+` .pick`), click(`#bulk [formaction$="/runs/kill"]`), holds(`document.querySelector("dialog[open] .danger")?.disabled === false`),
		keys(kb.Escape), holds(`!document.querySelector("dialog").open`))
	// Somebody else ends it.
	n.must(n.t, link.Run(lastID(n.t, running, `(\d+)`))+"/kill", nil)
	n.do(holds(`!` + row + ` && window.same`))
}

// clears deletes the runs of a job after a look at what that does. Runs that were planned before the job was stopped still
// come, so what was there before is what must be gone.
func (n *night) clears(job int64) {
	n.must(n.t, link.JobStop(job), nil)
	var oldest string
	n.visit(link.RunsOfJob(n.group, job))
	n.do(chromedp.Evaluate(`document.querySelector("tbody tr:last-child").id`, &oldest))
	n.visit(link.Clear(n.group, job, 0))
	n.do(holds(fmt.Sprintf(`document.querySelector("#clear-job").value === "%d" && !document.querySelector("#clear-form .danger")`, job)),
		choose("#clear-type", "9"), holds(`location.search.includes("type=9")`), click(`#clear-form [name=preview]`),
		holds(`/\d+ runs?/.test(document.querySelector("#clear-form .notice.warning")?.textContent)`))
	n.inspectNow("what a clearing deletes")
	n.do(click("#clear-form .danger"), holds(`document.querySelector("#clearings li") && !document.querySelector("#clearings progress")`))
	n.visit(link.RunsOfJob(n.group, job))
	n.do(holds(`document.querySelector("#results") && !document.getElementById("` + oldest + `")`))
	n.visit("/runs")
	n.do(holds(`[...document.querySelectorAll("tbody tr")].filter((row) => !row.textContent.includes("Heartbeat")).length === 3`)) // what others did is still there
}
