package gallery

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// TestTheListHasTheFocusAfterADeed closes what a deed for many jobs has said before the list that it changed is drawn anew: the button that opened
// the dialog has the focus again, and goes with the old list.
func TestTheListHasTheFocusAfterADeed(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	closed := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("HX-Request") != "" && r.Header.Get("Punctual-Live") == "" {
			<-closed
		}
		render(w, r, 200, jobs.List(f.jobs()), ui.FragmentResults)
	})
	mux.HandleFunc("GET /jobs/bulk", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, jobs.Bulk(f.bulk("stop")), ui.FragmentDialog) })
	mux.HandleFunc("POST /jobs/bulk", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("HX-Trigger", "jobs-changed")
		render(w, r, 200, jobs.BulkDone(f.bulk("stop")), ui.FragmentDialog)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(open(t))
	do(t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(server.URL+"/jobs"), until(`window.htmx !== undefined`),
		chromedp.Click(`#job-7 .pick`), chromedp.Focus(`.bulk-bar [value=stop]`), chromedp.KeyEvent(kb.Enter), until(`document.querySelector("dialog[open] .primary")`),
		chromedp.Focus(`dialog .primary`), chromedp.KeyEvent(kb.Enter), until(`document.activeElement.matches("dialog h1")`),
		chromedp.KeyEvent(kb.Escape), until(`document.activeElement.matches(".bulk-bar [value=stop]")`))
	close(closed)
	do(t, until(`document.activeElement.matches("[data-results]")`))
}

// TestTheWeekIsOneStop goes over the table of a week's hours: the tab key stops at this hour, arrow keys lead to other hours and to the days, and what
// had the focus last is the stop from then on, also after the page was drawn anew.
func TestTheWeekIsOneStop(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, dashboard.Whole(f.dashboard(true)), "") })
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(open(t))
	back := chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(input.ModifierShift))
	day := until(`document.activeElement.matches(".heat tbody tr:nth-child(2) td:first-child a")`)
	do(t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(server.URL+"/"), until(`document.querySelector(".heat-scroll").tabIndex === -1`),
		chromedp.Focus(`.heat td.now a`), chromedp.KeyEvent(kb.Tab), until(`document.activeElement.matches("section:has(.heat) ~ section *")`),
		back, until(`document.activeElement.matches(".heat td.now a")`),
		chromedp.KeyEvent(kb.ArrowDown), until(`document.activeElement.closest("tr").rowIndex === 2`),
		chromedp.KeyEvent(strings.Repeat(kb.ArrowLeft, 30)), day,
		back, until(`document.activeElement.matches("section:has(.heat) .panel-head a")`),
		chromedp.KeyEvent(kb.Tab), day,
		// What is drawn anew comes with the server's stops.
		chromedp.Evaluate(`document.querySelectorAll(".heat-scroll, .heat td.now a").forEach((e) => e.setAttribute("tabindex", "0"))`, nil),
		until(`document.querySelector(".heat-scroll").tabIndex === -1 && document.querySelectorAll(".heat a[tabindex='0']").length === 1`), day)
}
