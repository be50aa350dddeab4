package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/link"
)

// tabShows waits until the page's tab has an icon, and a title that begins so. The icon must be one that the admin serves.
func tabShows(icon, title string) chromedp.Action {
	return holds(fmt.Sprintf(`document.querySelector("link[rel=icon]").href.includes("/static/%s.") && document.title.startsWith(%q) && (() => {
		const r = new XMLHttpRequest(); r.open("GET", document.querySelector("link[rel=icon]").href, false);
		try { r.send(); } catch { return document.documentElement.dataset.live === "lost"; }
		return r.status === 200; })()`, icon, title))
}

// TestBrowserTab has other tabs in front: the icon and the title tell of troubles and of a lost connection, and of their end.
func TestBrowserTab(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	way := newCable(t, n.admin.url)
	n.window = newWindow(t, way.url, desk)
	n.enter(n.session)
	n.expect("ERR_", "Failed to execute 'send'")
	const again = `document.dispatchEvent(new Event("visibilitychange")) && `

	n.visit("/")
	n.do(tabShows("favicon", "Dashboard · "))
	bad := n.job("Fetch rates", "exit 3")
	failed := n.run(bad, "")
	n.do(holds(again+`document.title.startsWith("(1) ")`), tabShows("favicon-trouble", "(1) Dashboard · "))
	way.set(true)
	n.do(holds(again+pageIs+`"lost"`), tabShows("favicon-lost", "⚠ Dashboard · "))
	way.set(false)
	n.do(holds(again+pageIs+`"live"`), tabShows("favicon-trouble", "(1) Dashboard · "))

	n.visit(failed)
	n.do(tabShows("favicon-trouble", "(1) Run "))
	n.visit(link.Job(bad))
	n.do(tabShows("favicon-trouble", "(1) Fetch rates"))

	// A run whose page is open goes wrong by itself.
	goes := filepath.Join(t.TempDir(), "goes")
	n.visit(n.run(n.job("Settle", `until [ -e "$1" ]; do sleep 0.1; done; exit 4`), goes))
	n.do(tabShows("favicon", "Run "))
	if err := os.WriteFile(goes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.do(tabShows("favicon-trouble", "(1) Run "))
	n.admin.noPanic(t)
}

// TestBrowserInstalls asks the browser what it makes of the manifest: it finds nothing wrong, and the program can be installed.
func TestBrowserInstalls(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{})
	w := newWindow(t, a.url, desk)
	w.visit("/login")
	w.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, wrong, data, _, err := page.GetAppManifest().Do(ctx)
		if err != nil {
			return err
		}
		if data == "" || len(wrong) > 0 {
			t.Errorf("manifest %q: %+v", data, wrong)
		}
		reasons, err := page.GetInstallabilityErrors().Do(ctx)
		for _, r := range reasons {
			if r.ErrorID != "in-incognito" {
				t.Errorf("cannot be installed: %s %v", r.ErrorID, r.ErrorArguments)
			}
		}
		return err
	}))
}

// TestBrowserSays reads what pages say to those who do not see them change: how many rows are new, once that the connection is lost
// and once that it is back, and how the run ended whose page is open.
func TestBrowserSays(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	way := newCable(t, n.admin.url)
	n.window = newWindow(t, way.url, desk)
	n.enter(n.session)
	n.expect("ERR_")
	const again = `document.dispatchEvent(new Event("visibilitychange")) && `
	listen := func(path string) {
		t.Helper()
		n.visit(path)
		n.do(chromedp.Evaluate(`window.said = { said: [], "said-at-once": [] };
			for (const id in said) new MutationObserver(() => { const t = document.getElementById(id).textContent.trim(); if (t) said[id].push(t); }).observe(document.getElementById(id), { childList: true });`, nil),
			holds(pageIs+`"live"`))
	}
	says := func(box string, want ...string) {
		t.Helper()
		n.do(holds(fmt.Sprintf(`said[%q].length >= %d`, box, len(want))))
		var got []string
		n.do(chromedp.Evaluate(fmt.Sprintf(`said[%q]`, box), &got))
		if !slices.Equal(got, want) {
			t.Errorf("%s said %q, want %q", box, got, want)
		}
	}
	quick := n.job("Quick", "echo done")
	n.run(quick, "")

	// counts waits until as many rows were counted as are new, however they came together.
	counts := func(rows int) {
		t.Helper()
		n.do(holds(fmt.Sprintf(again+`said.said.every((text) => /^New in the list: \d$/.test(text)) && said.said.reduce((sum, text) => sum + Number(text.at(-1)), 0) === %d`, rows)))
	}
	// Who is in the list has the rows wait; they are counted all the same.
	for _, inside := range []bool{false, true} {
		listen("/runs")
		if inside {
			n.do(chromedp.Evaluate(`document.querySelector("tbody a").focus()`, nil))
		}
		for range 3 {
			n.run(quick, "")
		}
		counts(3)
	}
	listen("/jobs")
	n.job("Second", "echo 2")
	n.job("Third", "echo 3")
	counts(2)

	way.set(true)
	n.do(holds(again + pageIs + `"lost"`))
	way.set(false)
	n.do(holds(again + pageIs + `"live"`))
	says("said-at-once", "Connection lost. This page does not refresh itself until it is back.", "Connected again. This page refreshes itself.")

	goes := filepath.Join(t.TempDir(), "goes")
	at := n.run(n.job("Settle", `until [ -e "$1" ]; do sleep 0.1; done; exit 4`), goes)
	listen(at)
	if err := os.WriteFile(goes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says("said", fmt.Sprintf("Run %s has ended: Failed", strings.TrimPrefix(at, "/runs/")))
	says("said-at-once")
	n.admin.noPanic(t)
}
