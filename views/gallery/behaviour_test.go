package gallery

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/browsertest"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/palette"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// console is a console with handlers just clever enough to answer what the scripts ask.
type console struct {
	fakes
	themes chan string   // what the theme switch posted
	rows   chan runs.Row // sent to the open run list
	gone   chan int64    // taken from it
	froms  chan string   // the line each opening of the output stream asked for
	again  chan struct{} // closed when what asks for the output again may have it
	prints chan int      // how many lines the run that is followed prints next
}

func newConsole(t *testing.T) (*console, *httptest.Server) {
	t.Helper()
	c := &console{
		fakes:  fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()},
		themes: make(chan string, 1), rows: make(chan runs.Row), gone: make(chan int64), froms: make(chan string, 10), again: make(chan struct{}), prints: make(chan int),
	}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /jobs", c.jobList)
	mux.HandleFunc("GET /jobs/new", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, jobs.Form(c.jobForm()), "") })
	mux.HandleFunc("GET /jobs/bulk", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, jobs.Bulk(c.bulkEdit()), "") })
	mux.HandleFunc("GET /jobs/8/edit", func(w http.ResponseWriter, r *http.Request) {
		p := c.jobForm()
		p.Preview = jobs.Preview{Times: []jobs.NextTime{{Time: format.At(c.Printer, c.now.Add(time.Hour), c.now)}, {Time: format.At(c.Printer, c.now.Add(2*time.Hour), c.now)}}}
		render(w, r, 200, jobs.Form(p), "")
	})
	mux.HandleFunc("GET /jobs/15/edit", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, jobs.Form(c.jobConflict()), "") })
	mux.HandleFunc("POST /jobs/8/stop", c.stop)
	mux.HandleFunc("POST /jobs/33/stop", func(w http.ResponseWriter, r *http.Request) {
		render(w, r, 403, layout.Toast(c.page("/jobs"), layout.Flash{Kind: layout.FlashError, Text: "You may not do this"}), "")
	})
	mux.HandleFunc("GET /jobs/7/run", func(w http.ResponseWriter, r *http.Request) {
		render(w, r, 200, jobs.RunOnce(c.runOnce()), ui.FragmentDialog)
	})
	mux.HandleFunc("POST /jobs/7/run", c.runNow)
	mux.HandleFunc("POST /jobs/schedule-preview", c.preview)
	mux.HandleFunc("POST /preferences", func(_ http.ResponseWriter, r *http.Request) { c.themes <- r.FormValue("theme") })
	mux.HandleFunc("GET /runs", func(w http.ResponseWriter, r *http.Request) {
		render(w, r, 200, runs.List(c.runs()), ui.FragmentResults)
	})
	mux.HandleFunc("GET /runs/90431", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, runs.Detail(c.runLive()), "") })
	mux.HandleFunc("GET /runs/90432", func(w http.ResponseWriter, r *http.Request) {
		p := c.runLive()
		p.Timeline.LogID = 90432
		render(w, r, 200, runs.Detail(p), "")
	})
	mux.HandleFunc("GET /runs/90432/events", c.printEvents)
	mux.HandleFunc("GET /runs/events", c.listEvents)
	mux.HandleFunc("GET /runs/90431/events", c.runEvents)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return c, server
}

// render draws a page, or its fragment when htmx asks, as the real console does.
func render(w http.ResponseWriter, r *http.Request, status int, page templ.Component, fragment string) {
	var buf bytes.Buffer
	var err error
	if fragment != "" && r.Header.Get("HX-Request") != "" {
		err = templ.RenderFragments(r.Context(), &buf, page, fragment)
	} else {
		err = page.Render(r.Context(), &buf)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes())
}

func (c *console) jobList(w http.ResponseWriter, r *http.Request) {
	p := c.jobs()
	p.Flashes = nil
	p.Filter = link.JobsFrom(r.URL.Query())
	var rows []jobs.Row
	for _, row := range p.Rows {
		if strings.Contains(strings.ToLower(row.Name), p.Filter.Text) {
			rows = append(rows, row)
		}
	}
	p.Rows = rows
	render(w, r, 200, jobs.List(p), ui.FragmentResults)
}

func (c *console) stop(w http.ResponseWriter, r *http.Request) {
	row := c.jobs().Rows[1]
	row.Running, row.Next = false, format.Time{}
	render(w, r, 200, jobs.RowSwap(jobs.RowPage{Page: c.page("/jobs", layout.Flash{Kind: layout.FlashSuccess, Text: "stopped it"}), Row: row}), "")
}

func (c *console) runNow(w http.ResponseWriter, r *http.Request) {
	if r.FormValue(jobs.FieldAddresses) == "nonsense" {
		p := c.runOnce()
		p.Addresses, p.Errors = "nonsense", jobs.FieldErrors{jobs.FieldAddresses: "not an address"}
		render(w, r, 422, jobs.RunOnce(p), ui.FragmentDialog)
		return
	}
	if r.Header.Get("HX-Request") == "" {
		http.Redirect(w, r, link.Run(90431), http.StatusSeeOther)
		return
	}
	w.Header().Set("HX-Redirect", link.Run(90431))
}

func (c *console) preview(w http.ResponseWriter, r *http.Request) {
	p := jobs.PreviewPage{Page: c.page("/jobs/new"), Preview: jobs.Preview{Error: "understood " + r.FormValue(jobs.FieldScheduleType) + " " + r.FormValue(jobs.FieldCron) + " " + r.FormValue(jobs.FieldParam)}}
	render(w, r, 200, jobs.SchedulePreview(p), "")
}

func streamEvent(w http.ResponseWriter, r *http.Request, name, id string, part templ.Component) {
	var buf bytes.Buffer
	if part != nil {
		_ = part.Render(r.Context(), &buf)
	}
	fmt.Fprintf(w, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(w, "id: %s\n", id)
	}
	for line := range strings.SplitSeq(buf.String(), "\n") {
		fmt.Fprintf(w, "data: %s\n", line)
	}
	fmt.Fprint(w, "\n")
	_ = http.NewResponseController(w).Flush()
}

func (c *console) listEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case row := <-c.rows:
			streamEvent(w, r, "run", "", runs.LiveRow(c.page("/runs"), row))
		case id := <-c.gone:
			streamEvent(w, r, "gone", "", runs.LiveGone([]int64{id}))
		case <-r.Context().Done():
			return
		}
	}
}

// runEvents sends two lines and hangs up, then goes on when the test says so, overlapping by one line as a careless server might, and ends.
func (c *console) runEvents(w http.ResponseWriter, r *http.Request) {
	from := r.URL.Query().Get("from")
	c.froms <- from
	w.Header().Set("Content-Type", "text/event-stream")
	p := runs.LogPage{Page: c.page(""), LogID: 90431}
	if from == "61" {
		p.Log = runs.Log{First: 61, Lines: []string{"line 61", "<i>line 62</i>"}, Next: 63}
		streamEvent(w, r, "log", "63", runs.LogChunk(p))
		return
	}
	_ = http.NewResponseController(w).Flush()
	select {
	case <-c.again:
	case <-r.Context().Done():
		return
	}
	p.Log = runs.Log{First: 62, Lines: []string{"line 62 again", "line 63"}, Next: 64}
	streamEvent(w, r, "log", "64", runs.LogChunk(p))
	timeline := c.runLive().Timeline
	timeline.State, timeline.CanKill = runstate.Success, false
	streamEvent(w, r, "state", "", runs.TimelineFragment(runs.TimelinePage{Page: p.Page, Timeline: timeline}))
	streamEvent(w, r, "end", "", nil)
	<-r.Context().Done()
}

// printEvents prints lines as it is told to.
func (c *console) printEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	p := runs.LogPage{Page: c.page(""), LogID: 90432, Log: runs.Log{First: 61}}
	if from, err := strconv.Atoi(r.FormValue("from")); err == nil {
		p.Log.First = from
	}
	for {
		select {
		case n := <-c.prints:
			p.Log.Lines = nil
			for i := range n {
				p.Log.Lines = append(p.Log.Lines, fmt.Sprintf("line %d %s", p.Log.First+i, strings.Repeat("and so on ", 30)))
			}
			p.Log.Next = p.Log.First + n
			streamEvent(w, r, "log", strconv.Itoa(p.Log.Next), runs.LogChunk(p))
			p.Log.First = p.Log.Next
		case <-r.Context().Done():
			return
		}
	}
}

// doer gives what does actions in a browser, and fails the test when one of them fails.
func doer(browser context.Context) func(*testing.T, ...chromedp.Action) {
	return func(t *testing.T, actions ...chromedp.Action) {
		t.Helper()
		seen := "nothing"
		for i, a := range actions {
			if err := browsertest.Run(browser, a); err != nil {
				t.Fatalf("action %d of %d, after %s was seen: %v\n%s", i+1, len(actions), seen, err, stands(browser))
			}
			if awaited, is := a.(until); is {
				seen = string(awaited)
			}
		}
	}
}

// stands is the page in words, for somebody who wonders why a test failed: where it is, what has the focus, what an open dialog and the
// messages say.
func stands(browser context.Context) (words string) {
	ctx, cancel := context.WithTimeout(browser, executortest.Patience/6)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Evaluate(`[location.href, document.readyState, "focus on " + document.activeElement?.outerHTML.slice(0, 200),
		...[...document.querySelectorAll("dialog[open], #toasts")].map((e) => e.id + " says " + e.innerText.slice(0, 400))].join("\n")`, &words)); err != nil {
		return fmt.Sprintf("the page does not say how it stands: %v", err)
	}
	return words
}

// until waits for an expression of the page to hold, looking at every frame, and says which in vain.
type until string

// Do implements [chromedp.Action].
func (u until) Do(ctx context.Context) error {
	// A page that is not drawn asks no frame, and one that goes owes its answer: neither says by itself that time is up.
	ask, cancel := context.WithTimeout(ctx, executortest.Patience/2)
	defer cancel()
	if err := chromedp.Poll(string(u), nil, chromedp.WithPollingTimeout(executortest.Patience/2)).Do(ask); err != nil {
		return fmt.Errorf("never true: %s: %w", string(u), err)
	}
	return nil
}

func TestBehaviour(t *testing.T) {
	c, server := newConsole(t)
	do := doer(browsertest.Open(t))
	visit := func(path string) chromedp.Action { return chromedp.Navigate(server.URL + path) }
	do(t, chromedp.EmulateViewport(1440, 900))

	t.Run("a filter swaps the list and stands in the address", func(t *testing.T) {
		do(t, visit("/jobs"), chromedp.KeyEvent("/"), until(`document.activeElement.name === "q"`), chromedp.Evaluate(`document.activeElement.value = ""`, nil), chromedp.SendKeys(`[name=q]`, "parcel"),
			until(`document.querySelectorAll("tbody tr").length === 1`), until(`location.search === "?q=parcel"`),
			until(`document.querySelector("[data-cron]") === null`), chromedp.KeyEvent(kb.Escape), until(`document.activeElement.name !== "q"`))
	})
	t.Run("the list of jobs fits into every width, also with a pause that has no end", func(t *testing.T) {
		for _, width := range []int64{760, 900, 1100, 1280} {
			do(t, chromedp.EmulateViewport(width, 720), visit("/jobs"), until(`[...document.querySelectorAll("td.col-next .sub")].some((sub) => sub.textContent.trim() === "until somebody ends it")`),
				until(`((card) => card.scrollWidth <= card.clientWidth)(document.querySelector(".table-card"))`))
		}
		do(t, chromedp.EmulateViewport(1440, 900))
	})
	t.Run("the icons come from their file", func(t *testing.T) {
		do(t, visit("/jobs"), until(`(icons => icons.length > 20 && icons.every(icon => icon.getBBox().width > 0))([...document.querySelectorAll("main svg.icon use")].filter(icon => icon.parentElement.checkVisibility()))`))
	})
	t.Run("the switch swaps its row and says so", func(t *testing.T) {
		do(t, visit("/jobs"), chromedp.Click(`#job-8 .switch`), until(`document.querySelector("#job-8 .switch").ariaChecked === "false"`),
			// Who points at a message keeps it from leaving by itself, as it does after six seconds, some of which a busy machine needs for the rest.
			until(`((toast) => toast && (toast.dispatchEvent(new Event("pointerenter")), toast.textContent.includes("stopped it")))(document.querySelector("#toasts .toast.success"))`),
			until(`document.querySelector("#job-8 [data-cron]").textContent === "Every 5 minutes"`), chromedp.Click(`#toasts [data-dismiss]`), until(`!document.querySelector(".toast")`))
	})
	t.Run("a refusal becomes a message and leaves the row alone", func(t *testing.T) {
		do(t, visit("/jobs"), chromedp.Click(`#job-33 .switch`), until(`document.querySelector("#toasts .toast.error") !== null`), until(`document.querySelector("#job-33 .switch").ariaChecked === "true"`))
	})
	t.Run("what lies under a message can be pressed", func(t *testing.T) {
		under := chromedp.Evaluate(`(() => { const b = document.querySelector(".page-head .primary"), at = document.querySelector(".toast").getBoundingClientRect();
			b.style.cssText = "position: fixed; left: " + (at.left + 20) + "px; top: " + at.top + "px; width: 60px"; })()`, nil)
		pressable := until(`(() => { const b = document.querySelector(".page-head .primary"), r = b.getBoundingClientRect(); return b.contains(document.elementFromPoint(r.left + 10, r.top + 10)); })()`)
		for _, width := range []int64{1440, 390} {
			do(t, chromedp.EmulateViewport(width, 900), visit("/jobs?q=parcel"), until(`document.querySelectorAll("tbody tr").length === 1`),
				chromedp.Evaluate(`document.getElementById("toasts").append(document.getElementById("toast-offline").content.cloneNode(true))`, nil),
				under, pressable, chromedp.Click(`#toasts [data-dismiss]`), until(`!document.querySelector(".toast")`))
		}
		do(t, chromedp.EmulateViewport(1440, 900))
	})
	t.Run("a question opens over the page, keeps its errors, closes on Escape, leads on", func(t *testing.T) {
		do(t, visit("/jobs"), chromedp.Click(`#job-7 [hx-get$="/run"]`), until(`document.querySelector("dialog").open`), until(`document.activeElement.name === "param"`),
			chromedp.KeyEvent(kb.Escape), until(`!document.querySelector("dialog").open`), until(`document.activeElement.matches("#job-7 [hx-get]")`),
			chromedp.Click(`#job-7 [hx-get$="/run"]`), until(`document.querySelector("dialog").open`),
			chromedp.SendKeys(`#run-addresses`, "nonsense"), chromedp.Click(`dialog .primary`), until(`document.querySelector("dialog #run-addresses-error")?.textContent.includes("not an address")`),
			chromedp.Evaluate(`document.querySelector("#run-addresses").value = ""`, nil), chromedp.Click(`dialog .primary`), chromedp.WaitVisible(`#run-head`))
		<-c.froms
	})
	t.Run("the form says the schedule in words and asks for its times", func(t *testing.T) {
		do(t, visit("/jobs/new"), until(`document.querySelector("[data-cron-sentence]").textContent.trim() === "At 02:00, every day"`),
			chromedp.Click(`[data-preset="0 */5 * * * ?"]`), until(`document.querySelector("[data-cron-sentence]").textContent.trim() === "Every 5 minutes"`),
			until(`document.querySelector("#preview").textContent.includes("understood CRON 0 */5 * * * ?")`),
			chromedp.Click(`[name=schedule_type][value=FIX_RATE]`), until(`document.querySelector("#seconds").checkVisibility() && !document.querySelector("#cron").checkVisibility()`),
			until(`document.querySelector("#preview").textContent.includes("understood FIX_RATE")`),
			chromedp.SendKeys(`#param`, "${{ planned }}"), until(`document.querySelector("#preview").textContent.includes("${{ planned }}")`),
			chromedp.SetValue(`#glue`, "GLUE_SHELL"), until(`document.querySelector("#source").checkVisibility() && !document.querySelector("#handler").checkVisibility()`))
	})
	t.Run("a form that was merged with what somebody else saved is not left without a question", func(t *testing.T) {
		const stays = `dispatchEvent(new Event("beforeunload", {cancelable: true}))`
		do(t, visit("/jobs/new"), until(`document.readyState === "complete" && `+stays), visit("/jobs/15/edit"), until(`!`+stays))
	})
	t.Run("a misfire strategy shows the number it has", func(t *testing.T) {
		const seen = `(ids => ids.filter(id => document.getElementById(id).checkVisibility()).join())(["misfire_last", "misfire_within"])`
		do(t, visit("/jobs/new"), until(seen+` === ""`), chromedp.SetValue(`#misfire`, "FIRE_LAST"), until(seen+` === "misfire_last"`),
			chromedp.SetValue(`#misfire`, "FIRE_WITHIN"), until(seen+` === "misfire_within"`), chromedp.SetValue(`#misfire`, "FIRE_ALL"), until(seen+` === ""`),
			chromedp.SetValue(`#misfire`, "FIRE_LAST"), chromedp.Click(`[name=schedule_type][value=NONE]`), until(seen+` === ""`))
	})
	t.Run("an edit of many shows the field that is chosen", func(t *testing.T) {
		const seen = `[...document.querySelectorAll("[name^=to_]")].filter(e => e.checkVisibility()).map(e => e.name).join()`
		do(t, visit("/jobs/bulk?do=edit"), until(seen+` === "to_alarm_email"`))
		for _, field := range c.bulkEdit().Fields {
			do(t, chromedp.SetValue(`#bulk-field`, field), until(seen+` === "to_`+field+`"`))
		}
	})
	t.Run("times that have passed are no next ones", func(t *testing.T) {
		const times = `document.querySelectorAll("#preview li").length`
		do(t, visit("/jobs/8/edit"), until(times+` === 2 && document.readyState === "complete"`),
			chromedp.Evaluate(`document.querySelector("#preview li time.rel").dateTime = new Date(Date.now() - 1000).toISOString()`, nil), until(times+` === 1`))
	})
	t.Run("the theme changes at once and is posted", func(t *testing.T) {
		do(t, visit("/jobs"), chromedp.Click(`.account-button`), chromedp.Click(`button[name=theme][value=dark]`), until(`document.documentElement.dataset.theme === "dark"`))
		if got := <-c.themes; got != "dark" {
			t.Errorf("posted %q", got)
		}
		do(t, chromedp.KeyEvent(kb.Escape), until(`!document.querySelector("details[open]")`))
	})
	t.Run("runs change in place, come in on top, leave, and wait while the reader is further down", func(t *testing.T) {
		row := c.runs().Rows[1]
		row.State = runstate.Success
		fresh := row
		fresh.LogID, fresh.JobName = 90500, "brand new"
		do(t, visit("/runs"), until(`document.querySelector("[data-live-mark]").innerText.trim() === "Live"`))
		c.rows <- row
		do(t, until(`document.querySelector("#run-90431 .badge.success") !== null`))
		c.rows <- fresh
		do(t, until(`document.querySelector("tbody tr").id === "run-90500"`))
		c.gone <- 90500
		do(t, until(`!document.querySelector("#run-90500")`))
		do(t, chromedp.EmulateViewport(1440, 400), chromedp.Evaluate(`scrollTo(0, 400)`, nil), until(`scrollY > 200`))
		fresh.LogID = 90501
		c.rows <- fresh
		do(t, until(`document.querySelector("[data-new-rows]").checkVisibility()`), until(`document.querySelector("[data-new-text]").textContent === "Show 1 new"`), until(`!document.querySelector("#run-90501")`),
			chromedp.Click(`[data-new-rows] button`), until(`!document.querySelector("[data-new-rows]").checkVisibility() && document.querySelector("[data-live-runs]")`), chromedp.EmulateViewport(1440, 900))
	})
	t.Run("output is followed, let go, and taken up again after a lost connection", func(t *testing.T) {
		const lines = `document.querySelectorAll("[data-log-lines] li").length`
		for len(c.froms) > 0 {
			<-c.froms // of the page before
		}
		do(t, visit("/runs/90431"), until(lines+` === 62`), until(`document.querySelector("[data-log-lines] li[value='62']").textContent === "<i>line 62</i>"`))
		do(t, chromedp.Evaluate(`document.querySelector("[data-log-lines]").scrollTop = 0`, nil), until(`document.querySelector("[data-follow]").checkVisibility()`))
		close(c.again)
		do(t, until(lines+` === 63`), until(`document.querySelector("[data-log-lines]").scrollTop === 0`),
			until(`document.querySelector("#run-head .badge.success") !== null`), until(`!document.querySelector(".log [data-live-mark]").checkVisibility()`),
			chromedp.Click(`[data-follow] button`), until(`document.querySelector("[data-log-lines]").scrollTop > 300`))
		if got, want := [2]string{<-c.froms, <-c.froms}, [2]string{"61", "63"}; got != want {
			t.Errorf("asked for lines %v, want %v", got, want)
		}
	})
}

// TestAPageThatIsSeldomDrawnNoticesALostServer as soon as any other: between two drawings it looks whether the server is there.
func TestAPageThatIsSeldomDrawnNoticesALostServer(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	var away atomic.Bool
	drawn, looks := make(chan bool, 100), make(chan bool, 100)
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /forecast", func(w http.ResponseWriter, r *http.Request) {
		drawn <- true
		render(w, r, 200, dashboard.Forecast(f.forecastPage()), "")
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		looks <- true
		fmt.Fprintln(w, "ok")
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler) // the connection goes
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	do := doer(browsertest.Open(t))
	const mark = `document.documentElement.dataset.live`
	do(t, chromedp.Navigate(server.URL+"/forecast"), until(mark+` === "live"`))
	<-drawn
	select {
	case <-looks:
	case <-time.After(executortest.Patience / 2):
		t.Fatal("nobody looks whether the server is there")
	}
	if len(drawn) > 0 {
		t.Error("a look draws it anew")
	}
	away.Store(true)
	do(t, until(mark+` === "lost"`))
	away.Store(false)
	do(t, until(mark+` === "live"`))
	<-drawn // at once, since much may have happened meanwhile
}

// TestTheChoiceInThePaletteStaysWithItsHit: hits that come late do not take what an arrow key has chosen, if it is still there. What is
// typed after that chooses the first again.
func TestTheChoiceInThePaletteStaysWithItsHit(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	asked, answer := make(chan bool, 10), make(chan bool, 10)
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /palette", func(w http.ResponseWriter, r *http.Request) {
		p := f.palette()
		if r.FormValue("part") == "" {
			render(w, r, 200, palette.Palette(p), "")
			return
		}
		asked <- true
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		slices.Reverse(p.Sections)
		render(w, r, 200, palette.Palette(p), palette.FragmentHits)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
	chosen := func(hit string) chromedp.Action {
		return until(`(hit => hit?.getAttribute("href") === ` + strconv.Quote(hit) + ` && document.querySelector("[name=q]").getAttribute("aria-activedescendant") === hit.id)(document.querySelector("[data-hit][aria-selected=true]"))`)
	}
	const run, stop, group = "/jobs/8/run", "/jobs/8", "/jobs?group=1"
	do(t, chromedp.Navigate(server.URL+"/palette"), chromedp.SendKeys(`[name=q]`, "s"))
	<-asked
	do(t, chromedp.KeyEvent(kb.ArrowDown), chosen(run), chromedp.KeyEvent(kb.ArrowDown), chosen(stop))
	answer <- true
	do(t, until(`document.querySelector("[data-hit]").textContent.includes("order-service")`), chosen(stop), chromedp.KeyEvent(kb.ArrowUp), chosen(run), chromedp.SendKeys(`[name=q]`, "t"))
	<-asked
	answer <- true
	do(t, chosen(group))
}

// TestAFormThatComesBackBeginsWhereItIsWrong, also where a search stands for the field, and where the faults of a file are listed.
func TestAFormThatComesBackBeginsWhereItIsWrong(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /jobs/15", func(w http.ResponseWriter, r *http.Request) {
		p := f.jobEdit()
		p.Errors = map[string]string{r.FormValue("wrong"): "There is no job #99.", jobs.FieldAlarmEmail: "“x” is no address."}
		render(w, r, 422, jobs.Form(p), "")
	})
	mux.HandleFunc("GET /jobs/import", func(w http.ResponseWriter, r *http.Request) { render(w, r, 422, jobs.Import(f.importBroken()), "") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	do := doer(browsertest.Open(t))
	for _, field := range [][2]string{{jobs.FieldChildren, ui.FieldJobSearch}, {jobs.FieldName, jobs.FieldName}} {
		do(t, chromedp.Navigate(server.URL+"/jobs/15?wrong="+field[0]), until(fmt.Sprintf(`document.activeElement.name === %q`, field[1])))
	}
	do(t, chromedp.Navigate(server.URL+"/jobs/import"), until(`document.activeElement.id === "import-faults" &&
		document.querySelector("[name=text][aria-invalid=true]").getAttribute("aria-describedby").endsWith(document.activeElement.id)`))
}
