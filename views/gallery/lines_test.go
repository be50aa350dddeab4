package gallery

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/browsertest"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
)

// newLines serves pages with more text than usual, and the others by their names, in Chinese and in English.
func newLines(t *testing.T) *httptest.Server {
	t.Helper()
	f := fakes{Printer: locales.New().Printer(locales.Chinese), theme: layout.ThemeLight, now: time.Now()}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, r *http.Request) {
		p := f.jobs()
		long := p.Rows[0]
		long.ID, long.Name = 99, "com.example.settlement.nightly.ReconciliationOfAllPaymentChannels"
		long.ScheduleType, long.Schedule = "CRON", "0 0,10,20,30,40,50 8,9,10,11,12,13 ? * MON,TUE,WED,THU,FRI"
		long.Glue, long.Handler, long.Tags = "BEAN", "reconciliationOfAllPaymentChannelsJobHandler", []string{"a-tag-of-a-team-that-loves-long-tags-more-than-others-do"}
		p.Rows = append(p.Rows, long)
		p.Groups = append(p.Groups, ui.Option{Value: "77", Label: "Reconciliation of all payment channels (reconciliation-service)"})
		render(w, r, 200, jobs.List(p), "")
	})
	mux.HandleFunc("GET /jobs/8/edit", func(w http.ResponseWriter, r *http.Request) {
		p, at := f.jobForm(), f.now.Add(time.Hour)
		p.Preview = jobs.Preview{Times: []jobs.NextTime{{Time: format.At(f.Printer, at, f.now), Weekday: format.Weekday(f.Printer, at), Held: f.T("jobs.held.once")}}}
		render(w, r, 200, jobs.Form(p), "")
	})
	mux.HandleFunc("GET /jobs/7", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, jobs.Detail(f.jobHealthy()), "") })
	mux.HandleFunc("GET /jobs/48", func(w http.ResponseWriter, r *http.Request) {
		p := f.jobHealthy()
		p.Row.Name, p.Waits = strings.Repeat("每日核对全部门店的销售流水并汇总为凭证", 10), true
		render(w, r, 200, jobs.Detail(p), "")
	})
	mux.HandleFunc("GET /runs/48", func(w http.ResponseWriter, r *http.Request) {
		p := f.runFailed()
		p.Timeline.JobName = strings.Repeat("每日核对全部门店的销售流水并汇总为凭证", 10)
		render(w, r, 200, runs.Detail(p), "")
	})
	mux.HandleFunc("GET /timeline", func(w http.ResponseWriter, r *http.Request) {
		p := f.timelinePage() // with a run that failed at once, and one that succeeded right behind it
		p.Rows[0].Bars = append(p.Rows[0].Bars, timeline.Bar{URL: "/runs/1", Tone: "bad", X: 50, Run: 50}, timeline.Bar{URL: "/runs/2", Tone: "ok", X: 50.02, Run: 50.02, W: 0.2})
		render(w, r, 200, timeline.Whole(p), "")
	})
	mux.HandleFunc("GET /page/{name}", func(w http.ResponseWriter, r *http.Request) {
		for _, p := range f.pages() {
			if p.name == r.PathValue("name") {
				render(w, r, 200, p.component, "")
			}
		}
	})
	mux.HandleFunc("GET /english/{name}", func(w http.ResponseWriter, r *http.Request) {
		for _, p := range (fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: f.now}).pages() {
			if p.name == r.PathValue("name") {
				render(w, r, 200, p.component, "")
			}
		}
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		p := f.dashboard(true)
		for i := range p.Troubles[1:] {
			p.Troubles[i+1].N, p.Troubles[i+1].Count, p.Troubles[i+1].Items = 0, "0", nil
		}
		render(w, r, 200, dashboard.Whole(p), "")
	})
	mux.HandleFunc("POST /jobs/schedule-preview", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /two", func(w http.ResponseWriter, r *http.Request) {
		p := f.dashboard(true)
		p.Troubles[2].N, p.Troubles[2].Count, p.Troubles[2].Items = 0, "0", nil
		slices.SortStableFunc(p.Troubles, func(a, b dashboard.Trouble) int { return cmp.Compare(min(b.N, 1), min(a.N, 1)) })
		render(w, r, 200, dashboard.Whole(p), "")
	})
	mux.HandleFunc("GET /ninety", func(w http.ResponseWriter, r *http.Request) {
		p := f.dashboard(true)
		for len(p.Days.Bars) < 90 {
			p.Days.Bars = append(p.Days.Bars, p.Days.Bars[len(p.Days.Bars)%14])
		}
		render(w, r, 200, dashboard.Whole(p), "")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// TestLinesHold looks at what has to stay on its line where there is little room: cron texts, weekdays, and the menu beside its buttons; and
// at lines that somebody has to meet with a finger.
func TestLinesHold(t *testing.T) {
	server, do := newLines(t), doer(browsertest.Open(t))
	see := func(t *testing.T, width int64, path string, expressions ...string) {
		t.Helper()
		do(t, chromedp.EmulateViewport(width, 844), chromedp.Navigate(server.URL+path))
		for _, e := range expressions {
			do(t, until(e))
		}
	}
	const ready = `document.fonts.status === "loaded" && [...document.querySelectorAll("[data-cron]")].every(e => e.textContent)`
	// A box may be higher than its text, and text longer than its box.
	lines := func(selector, most string) string {
		return `(all => all.length && all.every(e => {
			const text = document.createRange(), height = parseFloat(getComputedStyle(e).lineHeight);
			text.selectNodeContents(e);
			return Math.min(text.getBoundingClientRect().height, e.offsetHeight) < height * (` + most + ` + 0.5);
		}))([...document.querySelectorAll("` + selector + `")].filter(e => e.checkVisibility()))`
	}
	const fits = `(e => e.scrollWidth <= e.clientWidth)(document.querySelector(".table-card"))`
	const box = `(box => %s)(s => document.querySelector(s).getBoundingClientRect())`
	const apart = `(all => all.length === 2 && all[1].getBoundingClientRect().left - all[0].getBoundingClientRect().right > 10)([...document.querySelectorAll(".run-failure .ways > *")])`

	t.Run("cron texts and weekdays keep their line", func(t *testing.T) {
		for _, width := range []int64{1280, 1440} {
			see(t, width, "/jobs", ready, lines("td.col-schedule .cron", "1"), lines("td.col-code .cron", "1"), lines("td .cron-words", "2"),
				`document.querySelector("#job-99 .cron").title.endsWith("FRI")`, fits)
			see(t, width, "/jobs/8/edit", lines("#preview .day", "1"))
		}
	})
	t.Run("what is quiet leaves the room to what is not", func(t *testing.T) {
		for _, width := range []int64{1280, 1440} { // what is quiet leaves the room to what is not
			see(t, width, "/", `(wide => wide(".trouble:not(.quiet)") > 2.5 * wide(".trouble.quiet"))(s => document.querySelector(s).offsetWidth)`)
		}
	})
	t.Run("six filters have one line, and so have eight, also beside a scroll bar", func(t *testing.T) {
		see(t, 1280, "/jobs", `(f => f.offsetHeight < 50 && f.scrollWidth <= f.clientWidth)(document.querySelector(".filters"))`)
		see(t, 1265, "/page/runs", `(f => f.offsetHeight < 50 && f.scrollWidth <= f.clientWidth)(document.querySelector(".filters"))`)
	})
	t.Run("a name of nearly two hundred characters leaves the page its room and the mark of a live page its line", func(t *testing.T) {
		for _, width := range []int64{1280, 390} {
			see(t, width, "/jobs/48", lines(".page-head h1", "2"), `(h => h.title.length > 180 && h.textContent === h.title)(document.querySelector(".page-head h1"))`, lines(".page-head .live-mark", "1"),
				`getComputedStyle(document.querySelector(".notice a[href$='/glue/waiting']")).textDecorationLine === "underline"`)
		}
	})
	t.Run("the page of a run has the whole name in its head, and so has paper, where nothing can be pointed at", func(t *testing.T) {
		const whole = `(h => h.textContent.length > 180 && h.scrollHeight <= h.clientHeight && document.documentElement.scrollWidth <= innerWidth)(document.querySelector(".page-head h1"))`
		for _, width := range []int64{1280, 390} {
			see(t, width, "/runs/48", whole)
			do(t, emulation.SetEmulatedMedia().WithMedia("print"))
			see(t, width, "/runs/48", whole)
			see(t, width, "/jobs/48", whole)
			do(t, emulation.SetEmulatedMedia())
		}
	})
	t.Run("what unfolds in a notice looks like a link", func(t *testing.T) {
		see(t, 1280, "/page/run-failed", `getComputedStyle(document.querySelector(".run-failure summary")).textDecorationLine === "underline"`)
	})
	t.Run("the head of the output says whose clock its times are by, where there are any", func(t *testing.T) {
		for _, width := range []int64{1280, 390} {
			see(t, width, "/page/run-failed", lines(".log h2 small", "1"), `document.querySelector(".log > header").offsetHeight < 100`)
			see(t, width, "/page/run-unsent", `!!document.querySelector(".log-empty") && ![...document.querySelectorAll(".log > header > :not(h2), .log h2 small")].some(e => e.checkVisibility())`)
		}
	})
	t.Run("why a run failed can be read in the list, also on a laptop and where runs go on that may be ended", func(t *testing.T) {
		for width, least := range map[int64]int{1280: 130, 1440: 240} {
			see(t, width, "/page/runs", `document.fonts.status === "loaded" && !!document.querySelector('tr [hx-get$="/kill"]')`, fits)
			var wide []int
			if do(t, chromedp.Evaluate(`[...document.querySelectorAll("td.message .clip")].map(e => e.clientWidth)`, &wide)); len(wide) == 0 || slices.Min(wide) < least {
				t.Errorf("at %d px the messages of runs are %d px wide, want %d", width, wide, least)
			}
		}
	})
	t.Run("with two that are bad the others go to a line below them, and what may be done stands beside each", func(t *testing.T) {
		for _, width := range []int64{1280, 1440} {
			see(t, width, "/two", fmt.Sprintf(box, `(bad => bad.length > 1 && [...document.querySelectorAll(".trouble.quiet")].every(e => e.getBoundingClientRect().top >= bad[0].getBoundingClientRect().bottom))([...document.querySelectorAll(".trouble:not(.quiet)")])`),
				`[...document.querySelectorAll(".trouble li:has(.deeds)")].every(e => e.offsetHeight < 60)`)
		}
	})
	t.Run("a name keeps its line beside a long answer, a number beside its unit, and an item of a step what it is called", func(t *testing.T) {
		for _, width := range []int64{1280, 1440} {
			see(t, width, "/page/webhook", lines("td[data-label]:nth-child(2) a", "1"), fits)
			see(t, width, "/page/run-flow-items", lines("td:first-child", "1"), lines("td.num", "1"))
		}
		for _, width := range []int64{1280, 390} {
			see(t, width, "/page/alarm-route-new", lines(".with-unit > span", "1"), `document.documentElement.scrollWidth <= innerWidth`)
		}
	})
	t.Run("what stands beside one another begins together, and what stands below keeps apart", func(t *testing.T) {
		for _, page := range []string{"run-live", "run-flow"} {
			see(t, 1280, "/page/"+page, `(first => first(".run-main") === first(".run-side"))(s => [...document.querySelectorAll(s + " > *")].find(e => e.offsetHeight).getBoundingClientRect().top)`)
		}
		see(t, 1280, "/page/calendars", fmt.Sprintf(box, `box(".form").top - box(".table-card").bottom > 12`))
		see(t, 390, "/page/alarm-route-new", fmt.Sprintf(box, `box("label[for=route-to]").top - box("#route-after-help").bottom > 8`))
		see(t, 1280, "/page/wall", fmt.Sprintf(box, `(at => Math.abs(at(".trouble h2 .icon") - at(".trouble h2 b")) < 3)(s => box(s).top + box(s).height / 2)`))
	})
	t.Run("what an alarm is about and who looks after it stand on one line", func(t *testing.T) {
		see(t, 1280, "/page/alarms-open", `(middle => [...document.querySelectorAll("tbody tr")].slice(1).every(row => Math.abs(middle(row.querySelector(".job-changes")) - middle(row.querySelector("td:last-child a"))) < 1))(e => {
			const all = document.createRange();
			all.selectNodeContents(e);
			return (all.getBoundingClientRect().top + all.getBoundingClientRect().bottom) / 2;
		})`)
	})
	t.Run("a failure is three pixels of each picture, however short or few", func(t *testing.T) {
		// Shares of 100 are taken in app (TestAFailureIsSeen, TestTheChartOfDaysSaysWhatMatters), pixels here.
		for _, width := range []int64{1440, 390} {
			const high = `document.querySelector("%s").getBoundingClientRect().height >= %d`
			see(t, width, "/page/dashboard", fmt.Sprintf(high, ".chart.tall svg", 190))
			see(t, width, "/page/job", fmt.Sprintf(high, ".run-bars svg", 96))
			see(t, width, "/page/run-failed", fmt.Sprintf(high, ".run-bars svg", 64))
			see(t, width, "/timeline", `(all => all.length > 2 && all.every(e => (r => r.width + parseFloat(getComputedStyle(e).strokeWidth) >= 3 && r.height >= 3)(e.getBoundingClientRect())))([...document.querySelectorAll(".time-grid rect:is(.bad, .retried)")])`,
				`(rect => rect === document.elementFromPoint(...(r => [r.left + r.width / 2 + 1, r.top + r.height / 2])(rect.getBoundingClientRect())))(document.querySelector("a[href='/runs/1'] rect"))`)
		}
		for _, width := range []int64{1440, 390, 360} {
			see(t, width, "/ninety", `(all => all.length > 50 && all.every(e => e.getBoundingClientRect().width >= 3))([...document.querySelectorAll(".chart.tall rect.bad")])`)
		}
	})
	t.Run("a list of jobs fits a phone, and the menu stands beside the buttons", func(t *testing.T) {
		see(t, 390, "/jobs", ready, `document.documentElement.scrollWidth <= 390`)
		for _, path := range []string{"/jobs/7", "/english/job", "/english/job-failing"} {
			see(t, 390, path, `(at => at(".page-head .menu") < at(".page-head [data-key=e]") + 20)(s => document.querySelector(s).getBoundingClientRect().top)`)
		}
	})
	t.Run("what a field is for can be read in it, to its end", func(t *testing.T) {
		for path, width := range map[string]int64{"/english/runs": 1265, "/page/runs": 1265, "/english/run-live": 1280, "/english/run-failed": 1180} {
			see(t, width, path, `(all => all.length && all.every(e => {
				const style = getComputedStyle(e), pen = document.createElement("canvas").getContext("2d");
				pen.font = style.font;
				return pen.measureText(e.placeholder).width <= e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
			}))([...document.querySelectorAll("main input[type=search]")].filter(e => e.checkVisibility()))`)
		}
	})
	t.Run("the long answer of a receiver takes no more lines than other words, until somebody opens it", func(t *testing.T) {
		for width, most := range map[int64]string{1280: "2", 390: "3"} {
			see(t, width, "/page/webhook", lines("td.message .clip", most), `(all => all.length && all.every(e => {
				const before = e.offsetHeight;
				e.click();
				return e.offsetHeight > before && e.scrollHeight <= e.clientHeight;
			}))([...document.querySelectorAll("td.message .clip")].slice(-1))`)
		}
	})
	t.Run("who was called for an approval sees what is asked, and answers, on the first screen of a phone, however high the picture of the flow is", func(t *testing.T) {
		see(t, 390, "/page/run-flow", fmt.Sprintf(box, `box("[data-awaited]").bottom < 780 && box("[data-awaited]").bottom < box("#flow-picture-title").top && box("[data-awaited] .primary").bottom < 780`))
	})
	t.Run("what may be done about a failure keeps apart, since each leads elsewhere", func(t *testing.T) {
		see(t, 1280, "/page/run-failed", apart)
	})
	t.Run("under a finger a button is as high as a fingertip is wide, also where it is small for a mouse", func(t *testing.T) {
		const high = `(all => all.length && all.every(e => e.offsetHeight >= %d))([...document.querySelectorAll("%s")].filter(e => e.checkVisibility()))`
		for path, holds := range map[string]string{
			"run-failed": apart + " && " + fmt.Sprintf(high, 40, ".button, .ways > *"),
			"job-run":    fmt.Sprintf(high, 44, ".panel footer .button"),
			"job-new":    fmt.Sprintf(high, 44, ".form-foot .button"),
		} {
			do(t, chromedp.EmulateViewport(390, 844, chromedp.EmulateTouch), chromedp.Navigate(server.URL+"/page/"+path), until(holds))
		}
	})
	t.Run("a name in the timeline is high enough for a pointer", func(t *testing.T) {
		see(t, 1440, "/timeline", `(all => all.length > 3 && all.every(a => a.offsetHeight >= 24))([...document.querySelectorAll(".time-name a")])`)
	})
	t.Run("a phone on its side shows the form, not its buttons", func(t *testing.T) {
		do(t, chromedp.EmulateViewport(844, 390, chromedp.EmulateTouch), chromedp.Navigate(server.URL+"/page/job-new"), until(`getComputedStyle(document.querySelector(".form-foot")).position === "static"`))
		// A window of 1280 by 1024 that is zoomed to 400 %.
		do(t, chromedp.EmulateViewport(320, 256), chromedp.Navigate(server.URL+"/page/job-new"), until(`document.documentElement.scrollWidth <= 320 && getComputedStyle(document.querySelector(".form-foot")).position === "static"`))
	})
}
