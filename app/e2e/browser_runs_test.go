package e2e

import (
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// night is an installation with an executor of its own and jobs that are run by hand, as somebody finds it who is called
// out of bed.
type night struct {
	*window
	*session
	admin    *admin
	settings adminSettings
	executor *executorProcess
	group    int64
}

func startNight(t *testing.T, s screen, env ...string) *night {
	t.Helper()
	settings := adminSettings{dataDir: t.TempDir(), port: executortest.FreePort(t), env: env}
	n := &night{window: newWindow(t, "http://127.0.0.1:"+settings.port, s), settings: settings}
	n.admin = startAdmin(t, settings)
	n.session = n.admin.login(t, testPassword)
	n.must(t, link.ExecutorsPath, url.Values{groups.FieldAppName: {"payments"}, groups.FieldTitle: {"Payments"}, groups.FieldType: {groups.TypeAuto}})
	_, body := n.get(t, link.ExecutorsPath)
	n.group = lastID(t, body, `/executors/(\d+)/edit`)
	n.executor = startExecutor(t, executorSettings{admins: []string{n.admin.url}, appName: "payments"})
	eventually(t, "registered executor", func() error {
		if _, body := n.get(t, link.Executor(n.group)); strings.Contains(body, n.executor.url) {
			return nil
		}
		return errNotYet
	})
	n.enter(n.session)
	return n
}

// job makes a shell job without a schedule.
func (n *night) job(name, source string) int64 {
	n.t.Helper()
	return n.schedule(name, source, nil)
}

// notSoon is the cron text of a job that is due in half a year, whatever the day is: never while a test runs, nor in what it sees of the hours ahead.
func notSoon() string {
	return fmt.Sprintf("0 0 3 1 %d ?", (int(time.Now().UTC().Month())+5)%12+1)
}

// schedule makes a shell job.
func (n *night) schedule(name, source string, change url.Values) int64 {
	n.t.Helper()
	form := url.Values{
		jobs.FieldGroup: {fmt.Sprint(n.group)}, jobs.FieldName: {name}, jobs.FieldAuthor: {"ops"}, jobs.FieldScheduleType: {"NONE"},
		jobs.FieldMisfire: {"DO_NOTHING"}, jobs.FieldRoute: {"FIRST"}, jobs.FieldBlock: {"SERIAL_EXECUTION"}, jobs.FieldGlue: {"GLUE_SHELL"},
		jobs.FieldSource: {source},
	}
	maps.Copy(form, change)
	n.must(n.t, link.JobsPath, form)
	_, body := n.get(n.t, link.JobsPath+"?q="+url.QueryEscape(name))
	return lastID(n.t, body, `/jobs/(\d+)/edit`)
}

// run runs a job once and gives the path of the run.
func (n *night) run(job int64, param string) string {
	n.t.Helper()
	at := n.must(n.t, link.JobRun(job), url.Values{jobs.FieldParam: {param}}).Get("Location")
	return strings.TrimPrefix(at, n.origin)
}

const (
	outputBox  = `document.querySelector("[data-log-lines]")`
	outputEnd  = `(` + outputBox + `.scrollHeight - ` + outputBox + `.scrollTop - ` + outputBox + `.clientHeight)`
	outputList = `[...document.querySelectorAll("[data-log-lines] li")]`
	findCount  = `document.querySelector("[data-find-count]").textContent`
)

// TestBrowserOutput reads what a run prints as somebody does whom a failed payment woke up: follows it, searches in it,
// scrolls up, loses the connection and gets it back without a line missing, downloads it, kills it and runs it again.
func TestBrowserOutput(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			works(t)
			n := startNight(t, s)
			job := n.job("Settle", countdown)
			first := n.run(job, "2026-11-20")
			n.visit(first)
			// Ticks are in sight, or typing would go to the lines further up that have a letter of theirs.
			n.do(holds(outputList+`.filter((line) => line.textContent.includes("tick")).length > 3`), holds(outputEnd+` < 24`))
			n.findsInOutput(s)
			n.losesConnection()
			n.downloads()
			n.killsAll(job, first)
			n.runsAgain(first)
			n.readsAFailure()
			n.admin.noPanic(t)
		})
	}
}

func (n *night) findsInOutput(s screen) {
	if s == desk {
		n.do(keys("/"), holds(`document.activeElement.matches("[data-find] input")`))
	} else {
		n.do(click("[data-find] input"))
	}
	n.do(
		// What is found while lines come is counted, and the end is followed on.
		write("[data-find] input", "TICK"), holds(`CSS.highlights.get("found").size > 3`), holds(outputEnd+` < 24 && document.querySelector("[data-follow]").hidden`),
		chromedp.Evaluate(`window.found0 = CSS.highlights.get("found").size`, nil), holds(`CSS.highlights.get("found").size > window.found0`),
		click("[data-find-case]"), holds(findCount+` === "Not found"`), click("[data-find-case]"), holds(findCount+`.includes(" of ")`),
	)
	n.do(
		// Walking through it lets go of the end, and wraps around.
		// There may be eleven ticks too.
		write("[data-find] input", "line 7"), holds(`[...CSS.highlights.get("found")].every((place) => place.startContainer.data.includes("line 7"))`),
		holds(findCount+` === "11 of 11" || `+findCount+` === "1 of 11"`), keys(kb.Enter),
		holds(`!document.querySelector("[data-follow]").hidden && document.querySelector("li.found").textContent.includes("line 7")`),
		chromedp.Evaluate(`window.at0 = `+findCount+`; window.scroll0 = `+outputBox+`.scrollTop; window.lines0 = `+outputList+`.length`, nil),
		holds(outputList+`.length > window.lines0`), holds(outputBox+`.scrollTop === window.scroll0`),
	)
	n.do(
		keys(kb.Enter), holds(findCount+` !== window.at0`), click(`[data-find-step="-1"]`), holds(findCount+` === window.at0`),
		chromedp.Focus("[data-find] input", chromedp.ByQuery), keys(kb.Escape),
		holds(`document.querySelector("[data-find] input").value === "" && !document.querySelector("li.found") && CSS.highlights.get("found").size === 0`),
		holds(`document.activeElement === `+outputBox),
	)
	n.do(click("[data-follow] button"), holds(outputEnd+` < 24 && document.querySelector("[data-follow]").hidden`))
	// Wrapped lines or wide ones: remembered for the next run.
	n.do(click("[data-wrap]"), holds(`!`+outputBox+`.classList.contains("wrap") && localStorage.getItem("log-wrap") === "0"`), click("[data-wrap]"), holds(outputBox+`.classList.contains("wrap")`))
}

// losesConnection kills the admin under the open page. The executor goes on; when the admin is back, so are the lines.
func (n *night) losesConnection() {
	n.expect("ERR_CONNECTION_REFUSED", "ERR_SOCKET_NOT_CONNECTED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "503")
	n.admin.kill()
	n.do(holds(`document.querySelector(".log [data-live-mark]").classList.contains("lost")`), chromedp.Evaluate(`window.before = `+outputList+`.at(-1).value`, nil))
	n.admin = startAdmin(n.t, n.settings)
	n.do(holds(`!document.querySelector(".log [data-live-mark]").classList.contains("lost")`), holds(outputList+`.at(-1).value > window.before + 5`),
		holds(outputList+`.every((line, i) => line.value === i + 1)`), holds(outputEnd+` < 24`))
	// Nothing is missing between the ticks either.
	n.do(holds(outputList + `.map((l) => l.textContent.match(/^tick (\d+)$/)).filter(Boolean).every((m, i) => Number(m[1]) === i + 1)`))
	n.session = n.admin.login(n.t, testPassword)
}

func (n *night) downloads() {
	var file struct{ Name, Text string }
	n.do(chromedp.Evaluate(`(async () => {
		const link = document.querySelector(".log a[download]");
		const answer = await fetch(link.href);
		return { Name: answer.headers.get("Content-Disposition"), Text: await answer.text() };
	})()`, &file, awaited))
	if !strings.Contains(file.Name, "run-1.log") || !strings.Contains(file.Text, "\nline 150\ntick 1\n") {
		n.t.Errorf("downloaded %s:\n%.200s", file.Name, file.Text)
	}
}

// killsAll ends the run and the one that waits behind it at the executor.
func (n *night) killsAll(job int64, first string) {
	second := n.run(job, "")
	n.do(click(`#run-head [hx-get$="/kill"]`), holds(`document.querySelector("dialog").open && document.querySelectorAll("dialog [name=scope]").length === 2`),
		holds(`document.querySelector("dialog .notice.warning")`),                                                             // an executor of XXL-JOB would end the other in any case
		click(`dialog [name=scope][value=job]`), click("dialog .danger"), holds(`document.querySelector("#toasts .success")`), // which goes by itself
		holds(`document.querySelector("#run-head .badge.killed") && !document.querySelector("dialog").open`), shows(first), holds(`document.querySelector("#run-notes").textContent.includes("admin")`))
	n.visit(second)
	n.do(holds(`document.querySelector("#run-head .badge.killed")`))
}

// runsAgain runs it once more with the same parameter, and ends that as well.
func (n *night) runsAgain(first string) {
	n.visit(first)
	n.do(click(`#run-head [hx-get*="/run?from="]`), holds(`document.querySelector("dialog").open && document.querySelector("#run-param").value === "2026-11-20"`),
		click("dialog .primary"), holds(fmt.Sprintf(`/^\/runs\/\d+$/.test(location.pathname) && location.pathname !== %q`, first)), holds(outputList+`.length > 160`))
	again := strings.TrimPrefix(n.address(), n.origin)
	n.do(click(`#run-head [hx-get$="/kill"]`), holds(`document.querySelector("dialog").open && !document.querySelector("dialog [name=scope]")`), click("dialog .danger"),
		holds(`document.querySelector("#run-head .badge.killed")`), shows(again))
}

// failing prints much, then a trace as Java does, and fails.
const failing = `#!/bin/bash
for i in $(seq 1 30000); do echo "10:00:00 INFO settled $i"; done
printf '\e[38;5;17mdark blue\e[0m\n10:00:01 WARN see https://runbook.example.com/pool.\n'
printf 'java.sql.SQLException: <b>no pool</b>\n\tat a.b(C.java:1)\nlast\n'
exit 1
`

// readsAFailure opens a failed run at 3 a.m.: what failed and the way on are in sight, the line is one click away, and has an address
// that works for a colleague.
func (n *night) readsAFailure() {
	run := n.run(n.job("Fails", failing), "")
	const line = `document.querySelector("[data-log-lines] .linked")`
	inSight := `(() => { const l = ` + line + `?.getBoundingClientRect(), b = ` + outputBox + `.getBoundingClientRect(); return Boolean(l) && l.top >= b.top && l.bottom <= b.bottom; })()`
	n.visit(run)
	n.do(holds(`document.querySelector("#run-head .badge.failed")`), holds(`document.querySelector(".run-failure code")?.textContent === "java.sql.SQLException: <b>no pool</b>"`),
		holds(`document.querySelector(".run-failure").getBoundingClientRect().bottom < innerHeight`))
	// Of all the lines the page holds few, the newest.
	n.do(holds(outputList+`.at(-1).value > 30005`), holds(outputList+`.length <= 6000 && `+outputList+`[0].value > 20000`), holds(outputEnd+` < 24`))
	n.do(click(".run-failure .cause a"), holds(inSight), holds(line+`.textContent.startsWith("java.sql.SQLException")`), holds(`/^#L\d+$/.test(location.hash)`))
	// Levels, colours and links.
	n.do(chromedp.Evaluate(`{ const s = document.querySelector("[data-levels]"); s.value = "w"; s.dispatchEvent(new Event("change")); }`, nil),
		holds(outputList+`.filter((l) => l.offsetParent).map((l) => l.className.split(" ")[0]).join() === "w,e,e"`),
		holds(`document.querySelector("[data-log-lines] a[rel~=noopener][target=_blank]").href === "https://runbook.example.com/pool"`),
		chromedp.Evaluate(`{ const s = document.querySelector("[data-levels]"); s.value = ""; s.dispatchEvent(new Event("change")); }`, nil),
		holds(`/^rgb\((\d+), (\d+), (\d+)\)$/.exec(getComputedStyle(document.querySelector("[data-log-lines] .c17")).color).slice(1).every((v) => Number(v) > 100)`))
	// A line far up, from a fresh page.
	n.visit("/help")
	n.visit(run + "#L20000")
	n.do(holds(`location.search === "?line=20000"`), holds(line+`?.value === 20000`), holds(inSight), holds(`!document.querySelector("[data-log-cut]").hidden`))
}
