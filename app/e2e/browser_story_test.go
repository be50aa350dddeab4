package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/executor/executortest"
)

// countdown prints more than a window shows, and then a line every 100 ms until somebody ends it.
const countdown = `for i in $(seq 1 150); do echo "line $i"; done
i=0; while true; do i=$((i+1)); echo "tick $i"; sleep 0.1; done
`

// TestBrowserStory is what a newcomer does in the first minutes, in a real browser against the real program: logs in with
// the printed password, finds a job, changes its cron, stops and starts it, runs one with a parameter, watches runs come
// in, follows the output of one and kills it, ends the program and starts it again.
func TestBrowserStory(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			waits(t)
			newStory(t, s).tell()
		})
	}
}

// story is a newcomer at a window.
type story struct {
	*window
	admin    *admin
	settings adminSettings
	screen   screen
	password string // as it was printed
	cron     string // of the first job
}

func newStory(t *testing.T, s screen) *story {
	t.Helper()
	settings := adminSettings{dataDir: t.TempDir(), port: executortest.FreePort(t), env: []string{"PUNCTUAL_ADMIN_PASSWORD=", "PUNCTUAL_SAMPLE=auto"}}
	w := newWindow(t, "http://127.0.0.1:"+settings.port, s)
	return &story{window: w, admin: startAdmin(t, settings), settings: settings, screen: s}
}

func (s *story) tell() {
	s.logsIn()
	s.findsJob()
	s.changesCron()
	s.stopsAndStarts()
	s.runsOnce()
	s.watchesRuns()
	run := s.createsJob()
	s.followsAndKills(run)
	s.restarts(run)
	s.deletesJob()
	s.leaves()
	s.admin.noPanic(s.t)
}

func (s *story) logsIn() {
	found := printedPassword.FindStringSubmatch(s.admin.stdout.String())
	if found == nil {
		s.t.Fatalf("no password in\n%s", s.admin.stdout.String())
	}
	s.password = found[1]
	s.visit("/")
	s.do(shows("/login"), holds(`document.activeElement.name === "name"`))
	s.expect("422") // a wrong password, and forms that are not accepted
	s.logIn("not-" + s.password)
	s.do(holds(`document.querySelector(".notice.error") && document.querySelector("#name").value === "admin"`), holds(`document.activeElement.name === "password"`))
	s.do(write("#password", s.password), click(".sign-in .primary"), shows("/"), click(`.nav a[href="/jobs"]`), shows("/jobs"), holds(`document.querySelectorAll("tbody tr").length === 6`))
}

func (s *story) findsJob() {
	if s.screen == desk {
		s.do(keys("/"), holds(`document.activeElement.name === "q"`), keys(kb.Escape), holds(`document.activeElement.name !== "q"`))
	}
	s.do(write("[name=q]", "greet"), holds(`document.querySelectorAll("tbody tr").length === 1 && location.search === "?q=greet"`), write("[name=q]", "nothing like it"),
		holds(`document.querySelector("#results .empty") && new URLSearchParams(location.search).get("q") === "nothing like it"`), click("#results .empty .button"), holds(`document.querySelectorAll("tbody tr").length === 6 && location.search === ""`))
}

func (s *story) changesCron() {
	s.do(click("#job-1 .menu summary"), click(`#job-1 a[href$="/edit"]`), shows("/jobs/1/edit"), holds(`document.querySelector("#preview li")`))
	s.do(write("#cron", "0 61 * * * ?"), holds(`document.querySelector("#preview .notice.error")`), click(".form-foot .primary"),
		holds(`document.querySelector("#cron-error") && document.querySelector("#cron").value === "0 61 * * * ?"`))
	// A time that has passed leaves the coming ones, so the first is some minutes away.
	s.cron = fmt.Sprintf("0 %d/20 * * * ?", (time.Now().Minute()+10)%20)
	s.do(write("#cron", s.cron), holds(`document.querySelectorAll("#preview li").length === 8 && !document.querySelector("#preview .notice")`),
		holds(`document.querySelector("[data-cron-sentence]").textContent.includes("20 minutes")`))
	// The zone moves the coming times.
	s.do(click(".form-section .disclosure > summary"), write("#time_zone", "Nowhere/At_All"), keys(kb.Tab), holds(`document.querySelector("#preview .notice.error")`),
		write("#time_zone", "Asia/Tokyo"), keys(kb.Tab), holds(`document.querySelector("#preview small").textContent === "Asia/Tokyo" && document.querySelectorAll("#preview li").length === 8`))
	s.do(click(".form-foot .primary"), shows("/jobs"), holds(`document.querySelector("#toasts .toast.success")`),
		holds(`document.querySelector("#job-1 .cron").textContent === "`+s.cron+`" && document.querySelector("#job-1").textContent.includes("Asia/Tokyo")`))
}

func (s *story) stopsAndStarts() {
	s.do(click("#job-1 .switch"), holds(`document.querySelector("#job-1 .switch").ariaChecked === "false"`), holds(`document.activeElement.matches("#job-1 .switch")`),
		click("#job-1 .switch"), holds(`document.querySelector("#job-1 .switch").ariaChecked === "true"`), holds(`document.activeElement.matches("#job-1 .switch")`))
}

func (s *story) runsOnce() {
	s.do(click(`#job-2 [hx-get$="/run"]`), holds(`document.querySelector("dialog").open && document.activeElement.name === "param"`),
		keys(kb.Escape), holds(`!document.querySelector("dialog").open && document.activeElement.matches("#job-2 [hx-get]")`),
		click(`#job-2 [hx-get$="/run"]`), holds(`document.querySelector("dialog").open && document.activeElement.name === "param"`),
		write("#run-param", "from the browser"), click("dialog .primary"), holds(`/^\/runs\/\d+$/.test(location.pathname)`),
		holds(`document.querySelector("#run-head .badge.success")`), holds(`document.querySelector("#run-notes").textContent.includes("hello, from the browser")`),
		holds(`document.querySelector("[data-log-lines]").textContent.includes("from the browser")`))
}

func (s *story) watchesRuns() {
	s.visit("/runs")
	s.do(holds(`document.querySelector("[data-live-mark] [data-state-text]").textContent.trim() === document.querySelector("[data-live-mark]").dataset.live`),
		chromedp.Evaluate(`window.top0 = document.querySelector("tbody tr").dataset.id; window.where0 = document.querySelector("tbody").getBoundingClientRect().top`, nil),
		holds(`+document.querySelector("tbody tr").dataset.id > +window.top0`), // the page is still the same, and nothing above the rows moved
		holds(`document.querySelector("tbody").getBoundingClientRect().top === window.where0`))
	// Somebody who has scrolled down is told how many wait, and stays where they are.
	s.do(chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight); window.y0 = scrollY`, nil))
	var scrolled bool
	s.do(chromedp.Evaluate(`document.querySelector("#results").getBoundingClientRect().top < 0`, &scrolled))
	if scrolled {
		s.do(holds(`!document.querySelector("[data-new-rows]").hidden`), click("[data-new-rows] button"), holds(`document.querySelector("[data-new-rows]").hidden`))
	}
}

// createsJob makes a script that is only run by hand, runs it, and gives the path of its run.
func (s *story) createsJob() string {
	s.visit("/jobs/new")
	s.do(write("#name", "Count for ever"), click(`[name=schedule_type][value=NONE]`), chromedp.SetValue("#glue", "GLUE_SHELL", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector("#glue").dispatchEvent(new Event("change", {bubbles: true}))`, nil),
		// An editor would indent; the script is put there whole, as by pasting.
		chromedp.WaitVisible("#source", chromedp.ByQuery), chromedp.SetValue("#source", countdown, chromedp.ByQuery),
		click(".form-foot .primary"), shows("/jobs"), holds(`document.querySelector("#job-7 .title").textContent === "Count for ever"`),
		click(`#job-7 [hx-get$="/run"]`), holds(`document.querySelector("dialog").open`), click("dialog .primary"), holds(`/^\/runs\/\d+$/.test(location.pathname)`))
	return strings.TrimPrefix(s.address(), s.origin)
}

func (s *story) followsAndKills(run string) {
	const box = `document.querySelector("[data-log-lines]")`
	const end = box + `.scrollHeight - ` + box + `.scrollTop - ` + box + `.clientHeight`
	s.do(holds(box+`.querySelectorAll("li").length > 160`), holds(end+` < 24`))
	// Scrolled up it stays there while lines come; the button takes it back to the end.
	s.do(chromedp.Evaluate(box+`.scrollTop = 0`, nil), holds(`!document.querySelector("[data-follow]").hidden`),
		chromedp.Evaluate(`window.lines0 = `+box+`.querySelectorAll("li").length`, nil), holds(box+`.querySelectorAll("li").length > window.lines0`), holds(box+`.scrollTop === 0`),
		click("[data-follow] button"), holds(end+` < 24 && document.querySelector("[data-follow]").hidden`))
	s.do(click(`#run-head [hx-get$="/kill"]`), holds(`document.querySelector("dialog").open`), click("dialog .danger"),
		holds(`document.querySelector("#run-head .badge.killed") && !document.querySelector("dialog").open`), shows(run))
}

// restarts ends the program with Ctrl-C and starts it again. The browser waits on a page that is live.
func (s *story) restarts(killed string) {
	s.expect("ERR_CONNECTION_REFUSED", "ERR_SOCKET_NOT_CONNECTED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "503")
	s.visit("/runs")
	s.do(chromedp.Evaluate(`window.top0 = document.querySelector("tbody tr").dataset.id`, nil))
	if err := s.admin.signal(s.t, os.Interrupt); err != nil {
		s.t.Fatalf("Ctrl-C: %v", err)
	}
	s.do(holds(`document.querySelector("[data-live-mark]").classList.contains("lost")`))
	s.admin = startAdmin(s.t, s.settings)
	if strings.Contains(s.admin.stdout.String(), "Password") {
		s.t.Error("the second start makes a password again")
	}
	// The open page finds back by itself, and the session holds.
	s.do(holds(`!document.querySelector("[data-live-mark]").classList.contains("lost")`), holds(`+document.querySelector("tbody tr").dataset.id > +window.top0`))
	s.visit(killed)
	s.do(holds(`document.querySelector("#run-head .badge.killed")`), holds(`document.querySelectorAll("[data-log-lines] li").length > 160`))
	s.visit("/jobs")
	s.do(holds(`document.querySelectorAll("tbody tr").length === 7 && document.querySelector("#job-1 .cron").textContent === "`+s.cron+`"`),
		holds(`document.querySelector("#job-1 .switch").ariaChecked === "true"`))
}

func (s *story) deletesJob() {
	s.do(click("#job-7 .menu > summary"), click(`#job-7 [href*="copy="]`), holds(`location.search === "?copy=7" && document.querySelector("#name").value === "Count for ever"`))
	s.visit("/jobs")
	s.do(click("#job-7 .menu > summary"), keys(kb.Escape), holds(`!document.querySelector("details[open]")`),
		click("#job-7 .menu > summary"), click(`#job-7 [hx-get$="/delete"]`), holds(`document.querySelector("dialog").open`), click("dialog .danger"),
		holds(`!document.querySelector("#job-7") && document.querySelectorAll("tbody tr").length === 6`))
}

// leaves changes theme and language, loses the session, comes back, and logs out.
func (s *story) leaves() {
	s.do(click(".account-button"), click(`button[name=theme][value=dark]`), holds(`document.documentElement.dataset.theme === "dark"`))
	s.admin.storesTheme(s.t, s.password, "dark")
	s.do(click(`button[name=lang][value="zh-CN"]`), holds(`document.documentElement.lang === "zh-CN" && document.documentElement.dataset.theme === "dark"`),
		click(".account-button"), click(`button[name=lang][value=en]`), holds(`document.documentElement.lang === "en"`))
	s.expect("404", "401")
	s.visit("/no/such/page")
	s.do(holds(`document.querySelector("main h1") && document.body.textContent.includes("404")`))
	// A session that has ended leads to the login from wherever one is, and back again.
	s.visit("/jobs")
	s.do(network.ClearBrowserCookies(), write("[name=q]", "slow"), shows("/login"), holds(`location.search.includes("next=")`))
	s.logIn(s.password)
	s.do(shows("/jobs"), click(".account-button"), click(`[action="/logout"] button`), shows("/login"))
	s.visit("/runs")
	s.do(shows("/login"), holds(fmt.Sprintf("location.search === %q", "?next=%2Fruns")))
}
