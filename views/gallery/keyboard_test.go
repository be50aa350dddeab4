package gallery

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/browsertest"
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
	mux.HandleFunc("GET /jobs/bulk", func(w http.ResponseWriter, r *http.Request) {
		render(w, r, 200, jobs.Bulk(f.bulk("stop")), ui.FragmentDialog)
	})
	mux.HandleFunc("POST /jobs/bulk", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("HX-Trigger", "jobs-changed")
		render(w, r, 200, jobs.BulkDone(f.bulk("stop")), ui.FragmentDialog)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
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
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		render(w, r, 200, dashboard.Whole(f.dashboard(true)), "")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
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

// TestDialogsSayWhatTheyAskAndBeginThere opens every question of the gallery as a dialog. Screen readers say with its title what it says will happen, and the
// keyboard begins at its first field, or, where there is none or it cannot be taken back, at the button that changes nothing; never at the one that closes it in the corner. Names of jobs in a list are not read out with it.
func TestDialogsSayWhatTheyAskAndBeginThere(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	panels := make(map[string]string)
	for _, p := range f.pages() {
		var buf bytes.Buffer
		if err := p.component.Render(t.Context(), &buf); err != nil {
			t.Fatal(err)
		}
		doc, err := goquery.NewDocumentFromReader(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if panel := doc.Find(".panel-page"); panel.Length() > 0 {
			if panels[p.name], err = panel.Html(); err != nil {
				t.Fatal(err)
			}
		}
	}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { render(w, r, 200, jobs.List(f.jobs()), "") })
	mux.HandleFunc("/panel/{name}", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(panels[r.PathValue("name")])) })
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
	do(t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(server.URL+"/"), until(`window.htmx !== undefined`))
	for name := range panels {
		var wrong []string
		do(t, chromedp.Evaluate(`(async () => {
			const dialog = document.getElementById("dialog"), wrong = [];
			await new Promise((done) => { document.addEventListener("htmx:afterSettle", () => setTimeout(done), { once: true }); htmx.ajax("GET", "/panel/`+name+`", { target: "#dialog" }); });
			if (!dialog.open) return ["is not open"];
			const at = document.activeElement, what = at.outerHTML.slice(0, 120);
			const field = (!dialog.querySelector("footer .danger") || dialog.querySelector("[autofocus], [aria-invalid=true]")) && [...dialog.querySelectorAll(".body :is(input, select, textarea)")].find((e) => e.type !== "hidden" && !e.disabled && e.checkVisibility());
			if (!dialog.contains(at)) wrong.push("begins outside, at " + what);
			else if (at.matches("header :not(h1)")) wrong.push("begins in its corner, at " + what);
			else if (field && !at.matches("input, select, textarea")) wrong.push("has fields and begins at " + what);
			else if (!field && at.matches(":is(.danger, .primary):not([data-close])") && dialog.querySelector("footer [data-close]")) wrong.push("begins at what it asks about: " + what);
			const said = (dialog.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
			for (const text of dialog.querySelectorAll(".body > p, .body > .notice")) if (!said.includes(text.textContent)) wrong.push("does not say “" + text.textContent.trim().slice(0, 60) + "”");
			if (!field && dialog.querySelector("footer [data-close]") && !said.trim() && !dialog.querySelector(".keys-list, .bulk-items")) wrong.push("says nothing but its title");
			await new Promise((done) => { dialog.addEventListener("close", () => setTimeout(done), { once: true }); dialog.close(); });
			return wrong;
		})()`, &wrong, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		for _, w := range wrong {
			t.Errorf("%s %s", name, w)
		}
	}
	if len(panels) < 30 {
		t.Errorf("%d dialogs were looked at", len(panels))
	}
}

// TestWhatAPageIsForIsInSight looks at the editors and at every dialog on a small laptop: the button that saves or does it stands on the first screen, and
// what gets the focus by the tab key does not lie behind it.
func TestWhatAPageIsForIsInSight(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	shown := make(map[string]page)
	for _, p := range f.pages() {
		var buf bytes.Buffer
		if err := p.component.Render(t.Context(), &buf); err != nil {
			t.Fatal(err)
		}
		if text := buf.String(); strings.Contains(text, `class="panel-page"`) || strings.Contains(text, `class="glue-save"`) {
			shown[p.name] = p
		}
	}
	mux.HandleFunc("/page/{name}", func(w http.ResponseWriter, r *http.Request) {
		render(w, r, 200, shown[r.PathValue("name")].component, "")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
	do(t, chromedp.EmulateViewport(1280, 720))
	for name := range shown {
		var wrong []string
		do(t, chromedp.Navigate(server.URL+"/page/"+name), until(`[...document.querySelectorAll("link[rel=stylesheet]")].every((l) => l.sheet)`), chromedp.Evaluate(`(() => {
			const wrong = [], panel = document.querySelector(".panel-page"), dialog = document.querySelector("#dialog");
			if (panel && dialog) {
				dialog.replaceChildren(...panel.childNodes);
				dialog.showModal();
			}
			const within = dialog?.open ? dialog : document.querySelector("main");
			const foot = within.querySelector(".glue-save, footer");
			const deed = foot?.querySelector(".button.primary, .button.danger");
			if (!deed) return wrong;
			const at = deed.getBoundingClientRect();
			if (at.bottom > innerHeight || !deed.contains(document.elementFromPoint(at.left + 5, at.top + at.height / 2))) wrong.push("“" + deed.innerText.trim() + "” ends at " + at.bottom);
			for (const stop of within.querySelectorAll("a[href], button, input, select, textarea")) {
				if (foot.contains(stop) || stop.disabled || stop.tabIndex < 0 || !stop.checkVisibility({ visibilityProperty: true })) continue;
				stop.focus();
				const last = stop.getBoundingClientRect(), over = foot.getBoundingClientRect();
				if (last.height < 200 && last.right > over.left && last.left < over.right && last.bottom > over.top + 4 && last.top < over.bottom) wrong.push("behind it lies " + stop.outerHTML.slice(0, 80));
			}
			return wrong;
		})()`, &wrong))
		for _, w := range wrong {
			t.Errorf("%s: %s", name, w)
		}
	}
	if len(shown) < 40 {
		t.Errorf("%d pages were looked at", len(shown))
	}
}

// TestLinksLeadFarDown follows the links after the one that skips the frame: each leads to a heading of its page, from where the tab
// key goes on.
func TestLinksLeadFarDown(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	shown := make(map[string]page)
	for _, p := range f.pages() {
		shown[p.name] = p
	}
	mux.HandleFunc("/page/{name}", func(w http.ResponseWriter, r *http.Request) {
		render(w, r, 200, shown[r.PathValue("name")].component, "")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
	do(t, chromedp.EmulateViewport(1280, 720))
	for name, want := range map[string]int{"dashboard": 3, "dashboard-calm": 3, "job": 4, "job-failing": 4, "run-failed": 2, "run-live": 2, "run-flow": 2} {
		var wrong []string
		do(t, chromedp.Navigate(server.URL+"/page/"+name), until(`document.readyState === "complete"`), chromedp.Evaluate(fmt.Sprintf(`(() => {
			const ways = [...document.querySelectorAll("a.skip:not([href='#content'])")], wrong = [];
			if (ways.length !== %d) wrong.push(ways.length + " links");
			for (const way of ways) {
				const head = document.querySelector(way.hash);
				if (!head?.matches("main h2")) wrong.push(way.hash + " is no heading");
				else if (!way.textContent.includes(head.innerText.trim())) wrong.push(way.textContent + " leads to " + head.innerText);
			}
			return wrong;
		})()`, want), &wrong))
		for _, w := range wrong {
			t.Errorf("%s: %s", name, w)
		}
	}
	do(t, chromedp.Navigate(server.URL+"/page/dashboard"), until(`document.querySelector(".heat-scroll").tabIndex === -1`), chromedp.Focus(`a.skip[href="#ahead"]`), chromedp.KeyEvent(kb.Enter), until(`location.hash === "#ahead"`),
		chromedp.KeyEvent(kb.Tab), until(`document.activeElement.closest("section")?.querySelector("h2")?.id === "ahead"`))
}

// TestTheFormOfAJobCanBePointedAt: an address with a fragment leads to each part and each field of it.
func TestTheFormOfAJobCanBePointedAt(t *testing.T) {
	f := fakes{Printer: locales.New().Printer(locales.English), theme: layout.ThemeLight, now: time.Now()}
	for _, p := range []jobs.FormPage{f.jobForm(), f.jobEdit()} {
		var buf bytes.Buffer
		if err := jobs.Form(p).Render(t.Context(), &buf); err != nil {
			t.Fatal(err)
		}
		doc, err := goquery.NewDocumentFromReader(&buf)
		if err != nil {
			t.Fatal(err)
		}
		parts := doc.Find("main .form-section:not(:has([data-curl])), main .form-section .field-control")
		parts.Each(func(_ int, s *goquery.Selection) {
			if s.AttrOr("id", "") == "" {
				t.Errorf("no address leads to %s %s", s.AttrOr("name", ""), s.Find("h2").Text())
			}
		})
		if parts.Length() < 20 {
			t.Errorf("a form of %d parts and fields", parts.Length())
		}
	}
}
