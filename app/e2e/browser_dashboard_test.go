package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// TestBrowserDashboard goes from the numbers of the dashboard to the lists behind them, as somebody does who wants to know
// what to do next: each list shows as many as the number said, says why it is short, and can be widened.
func TestBrowserDashboard(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			waits(t)
			n := startNight(t, s, "PUNCTUAL_TIME_ZONE="+whereItIsNoon()) // no day ends meanwhile
			withinAnHour(t)
			for _, name := range []string{"Fetch rates", "Settle", "Post ledger"} {
				n.run(n.job(name, "exit 3"), "")
			}
			stuck := n.schedule("Reconcile", countdown, url.Values{"warn_after": {"1"}})
			n.run(stuck, "")
			every := n.schedule("Heartbeat", "echo alive", url.Values{jobs.FieldScheduleType: {"FIX_RATE"}, jobs.FieldSeconds: {"1800"}})
			n.run(every, "")
			n.must(t, link.JobStart(every), nil)
			n.troubles()
			n.counts()
			n.charts()
			n.staysFresh()
			n.loses()
			n.admin.noPanic(t)
		})
	}
}

// whereItIsNoon is a time zone in which it is between twelve and one.
func whereItIsNoon() string { return fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) }

// withinAnHour waits for the next hour where this one is nearly over: what is planned in a minute from then on is in the same field of a week.
func withinAnHour(t *testing.T) {
	t.Helper()
	if next := time.Now().Truncate(time.Hour).Add(time.Hour); time.Until(next) < time.Minute {
		until(t, next)
	}
}

const listed = `document.querySelectorAll("#results tbody tr").length`

// number waits until a number of the dashboard is what it should be.
func (n *night) number(selector, want string) {
	n.t.Helper()
	n.do(holds(fmt.Sprintf(`document.querySelector(%q)?.textContent.trim() === %q`, selector, want)))
}

// leads follows a link of the dashboard to a list of so many rows and comes back.
func (n *night) leads(selector string, rows int, also string) {
	n.t.Helper()
	n.do(click(selector), holds(fmt.Sprintf(`location.pathname !== "/" && %s === %d && (%s)`, listed, rows, also)))
	n.visit("/")
}

// fresh opens the dashboard until what it counts has settled.
func (n *night) fresh(until string) {
	n.t.Helper()
	eventually(n.t, until, func() error {
		n.visit("/")
		var is bool
		n.do(chromedp.Evaluate("!!("+until+")", &is))
		if !is {
			return errNotYet
		}
		return nil
	})
}

// troubles is what needs somebody now.
func (n *night) troubles() {
	n.fresh(`document.querySelector(".trouble.failing h2 b").textContent === "3" && document.querySelector(".trouble.long h2 b").textContent === "1"`)
	n.number(".trouble.late h2 b", "0")
	n.number(".trouble.lost h2 b", "0")
	n.leads(".trouble.long h2 a", 1, `document.querySelector("#results .chip")`)
	n.do(click(".trouble.failing h2 a"), shows("/jobs"), holds(listed+` === 3 && location.search.includes("show=failing") && document.querySelectorAll("#results .chip").length === 1`))
	// The rest of the filter works within it, and the chip takes it away.
	n.do(write("[name=q]", "ledger"), holds(listed+` === 1 && location.search.includes("show=failing") && location.search.includes("q=ledger")`),
		click("#results .chip a"), holds(`!location.search.includes("show=") && location.search.includes("q=ledger") && !document.querySelector("#results .chip")`),
		holds(`!document.querySelector("form.filters [name=show]")`))
	n.visit("/")
	// A case leads to its job, and what it says to the run.
	n.do(click(".trouble.failing li > a"), holds(`/^\/jobs\/\d+$/.test(location.pathname) && document.querySelector(".job-failing")`))
	n.visit("/")
	n.do(click(".trouble.failing li .sub a"), holds(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector("#run-head .badge.failed")`))
}

// counts are the numbers under it.
func (n *night) counts() {
	n.visit("/")
	n.number(".count:nth-child(1) .count-value", "5")
	n.leads(".count:nth-child(1) .count-whole", 5, `location.pathname === "/jobs"`)
	n.leads(".count:nth-child(1) .count-detail", 1, `location.search.includes("state=running")`)
	n.leads(".count:nth-child(5) .count-whole", 1, `location.pathname === "/executors" && document.querySelector("#results .chip")`)
	n.fresh(`document.querySelector(".count:nth-child(2) .count-value").textContent === "5"`)
	n.leads(".count:nth-child(2) .count-whole", 5, `location.search.includes("range=today")`)
	n.leads(".count:nth-child(2) .count-detail", 3, `location.search.includes("result=final")`)
	n.leads(".count:nth-child(3) .count-whole", 5, `true`)
	n.leads(".count:nth-child(3) .count-detail", 1, `location.search.includes("result=running")`)
}

// charts are the same in pictures; their parts lead to lists of their own.
func (n *night) charts() {
	n.visit("/")
	press := func(what string, rows int) {
		n.t.Helper()
		n.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block: "center"})`, what), nil), drawn())
		n.leads(what, rows, `true`)
	}
	// The line of the moment stands on the bar of today at noon, wherever it stands now, and lets through what is meant for the bar.
	n.do(chromedp.Evaluate(`const now = document.querySelector(".chart.tall line.now"), bar = document.querySelector(".chart.tall rect.bad");
		for (const end of ["x1", "x2"]) now.setAttribute(end, bar.x.baseVal.value + bar.width.baseVal.value / 2)`, nil))
	press(".chart.tall rect.bad", 3)
	press(".chart.tall rect.ok", 1)
	press(".chart.tall rect.open", 1)
	press(".heat tbody tr:first-child td:first-child a", 5)
	press(".heat .level-5", 5)
	press(".box .summary dd a", 5)
	// The job of every half hour is due in it.
	press(".busiest li a", 1)
	// The pictures are tables too, for the keyboard.
	n.do(click(".chart.tall .as-table summary"), holds(`document.querySelector(".chart.tall .as-table").open`), click(".chart.tall .as-table tbody tr:last-child td:nth-child(3) a"), shows("/runs"), holds(listed+` === 3`))
	n.visit("/")
	n.do(click(`.segmented a[href="/?days=30"]`), holds(`location.search === "?days=30" && document.querySelectorAll(".chart.tall .as-table tbody tr").length === 30`))
}

// staysFresh waits for the page to draw itself anew: what is open and in focus stays.
func (n *night) staysFresh() {
	n.visit("/")
	n.do(click(".chart.tall .as-table summary"), holds(`document.querySelector(".chart.tall .as-table").open`),
		chromedp.Evaluate(`window.same = document.querySelector(".count-whole"); same.focus({preventScroll: true}); window.at = scrollY`, nil))
	n.must(n.t, link.JobsPath, url.Values{jobs.FieldGroup: {fmt.Sprint(n.group)}, jobs.FieldName: {"New"}, jobs.FieldAuthor: {"ops"}, jobs.FieldScheduleType: {"NONE"},
		jobs.FieldMisfire: {"DO_NOTHING"}, jobs.FieldRoute: {"FIRST"}, jobs.FieldBlock: {"SERIAL_EXECUTION"}, jobs.FieldGlue: {"BEAN"}, jobs.FieldHandler: {"x"}})
	// The page asks again when somebody comes back to it.
	n.do(chromedp.Evaluate(`document.dispatchEvent(new Event("visibilitychange"))`, nil))
	n.number(".count:nth-child(1) .count-value", "6")
	n.do(holds(`document.activeElement === window.same && document.querySelector(".chart.tall .as-table").open && scrollY === window.at`))
}

// loses ends the executor: it is told, and the list behind shows it alone.
func (n *night) loses() {
	n.executor.terminate(n.t)
	n.fresh(`document.querySelector(".trouble.lost h2 b").textContent === "1"`)
	n.do(holds(`document.querySelector(".trouble.lost li").textContent.includes("Payments")`),
		click(".trouble.lost h2 a"), shows("/executors"), holds(listed+` === 1 && document.querySelector("#results .chip")`))
	if at := n.address(); !strings.Contains(at, "state=lost") {
		n.t.Errorf("the list of lost executors is at %s", at)
	}
}
