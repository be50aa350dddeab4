package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestBrowserForcedColors has a reader's own colours take the place of the page's: what only a background told is still told.
func TestBrowserForcedColors(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, desk)
	s := a.login(t, testPassword)
	w.enter(s)
	w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}))
	look := func(expression string) (got string) {
		t.Helper()
		w.do(drawn(), chromedp.Evaluate(expression, &got))
		return got
	}
	picture := func(name string) {
		if dir := os.Getenv("MEDIA_DIR"); dir != "" { // for whoever wants to look
			var png []byte
			w.do(chromedp.CaptureScreenshot(&png))
			if err := os.WriteFile(dir+"/"+name+".png", png, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	w.visit("/jobs")
	w.do(holds(`matchMedia("(forced-colors: active)").matches && document.querySelectorAll(".switch").length > 1`))
	s.must(t, "/jobs/1/stop", nil)
	w.visit("/jobs")
	knobs := look(`[true, false].map((on) => { const c = getComputedStyle(document.querySelector(".switch[aria-checked=" + JSON.stringify(String(on)) + "]")); return c.backgroundColor + " " + c.borderTopWidth; }).join("|")`)
	if on, off, _ := strings.Cut(knobs, "|"); on == off || !strings.HasSuffix(off, " 2px") {
		t.Errorf("switches that are on and off: %s", knobs)
	}
	w.do(click(".table tbody .pick"))
	if got := look(`getComputedStyle(document.querySelector("tr:has(.pick:checked)")).outlineStyle + getComputedStyle(document.querySelector(".nav [aria-current]")).outlineStyle`); got != "solidsolid" {
		t.Errorf("a picked row and the place in the navigation have outlines %q", got)
	}
	if got := look(`getComputedStyle(document.querySelector("select.field-control")).appearance`); got == "none" {
		t.Error("a select has no arrow: it was a background")
	}
	picture("forced-jobs")
	w.visit("/")
	cells := look(`(() => { const cells = [...document.querySelectorAll(".heat .cell")]; const of = (l) => { const c = cells[0].cloneNode(); c.className = "cell level-" + l; cells[0].after(c); const got = getComputedStyle(c).backgroundColor; c.remove(); return got; }; return of(0) + "|" + of(5); })()`)
	if calm, busy, _ := strings.Cut(cells, "|"); calm == busy {
		t.Errorf("hours without and with much to do: %s", cells)
	}
	picture("forced-dashboard")

	// What is marked already looks otherwise with the keyboard on it.
	for _, path := range []string{"/", "/jobs", "/settings"} {
		w.visit(path)
		var same []string
		w.do(drawn(), chromedp.Evaluate(`[...document.querySelectorAll("[aria-current], [aria-pressed=true], .segmented label:has(:checked)")].filter((e) => e.checkVisibility()).filter((e) => {
			const line = () => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineWidth, s.outlineColor].join(" "); };
			document.activeElement.blur();
			const before = line();
			(e.querySelector("input") ?? e).focus({ focusVisible: true });
			return line() === before;
		}).map((e) => e.outerHTML.slice(0, 100))`, &same))
		if len(same) > 0 {
			t.Errorf("on %s nobody sees the keyboard on %q", path, same)
		}
	}
	s.must(t, "/jobs/1/run", nil)
	_, body := s.get(t, "/runs")
	w.visit(fmt.Sprintf("/runs/%d", lastID(t, body, `id="run-(\d+)"`)))
	w.do(holds(`document.querySelector(".find").checkVisibility()`), chromedp.Focus("[data-search]", chromedp.ByQuery))
	if got := look(`getComputedStyle(document.querySelector(".find")).outlineStyle`); got != "solid" {
		t.Errorf("the field that searches the output has an outline %q", got)
	}
}

// TestBrowserPrints leaves out on paper what nobody can press there, and cuts nothing off.
func TestBrowserPrints(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, desk)
	s := a.login(t, testPassword)
	w.enter(s)
	s.must(t, "/jobs/1/run", nil)
	_, body := s.get(t, "/runs")
	w.resize(screen{"paper", 718, 1000}) // A4, upright
	w.do(emulation.SetEmulatedMedia().WithMedia("print"))
	w.visit("/runs")
	w.resize(screen{"paper as browsers lay it out", 956, 1300})
	w.do(holds(`(cells => cells.length > 0 && cells.every((e) => e.checkVisibility() && e.getBoundingClientRect().right <= innerWidth))([...document.querySelectorAll("td.message, td.col-address")])`))
	w.resize(screen{"paper", 718, 1000})
	for name, path := range map[string]string{"dashboard": "/", "job": "/jobs/1", "jobs": "/jobs", "runs": "/runs", "manual": "/docs/operations", "run": fmt.Sprintf("/runs/%d", lastID(t, body, `id="run-(\d+)"`))} {
		w.do(emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
		w.visit(path)
		var seen []string
		w.do(drawn(), chromedp.Evaluate(`[".sidebar", ".page-head .actions", "#toasts", ".skip", ".pick", ".sort-choice", ".docs-places", "main button", "main .button", ".segmented", ".live-mark", ".as-table > summary"].filter((s) => [...document.querySelectorAll(s)].some((e) => e.checkVisibility()))`, &seen))
		if len(seen) > 0 {
			t.Errorf("%s prints %v", path, seen)
		}
		w.do(chromedp.Evaluate(`[...document.querySelectorAll("main, main *")].filter((e) => e.checkVisibility() && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && !["visible", "clip"].includes(getComputedStyle(e).overflowX) && getComputedStyle(e).textOverflow !== "ellipsis" || e.tagName === "MAIN" && e.scrollWidth > innerWidth).map((e) => e.outerHTML.slice(0, 80))`, &seen))
		if len(seen) > 0 {
			t.Errorf("%s is cut off on paper: %v", path, seen)
		}
		// What a background tells is told in ink, and the output has its head.
		var bare []string
		w.do(chromedp.Evaluate(`[...document.querySelectorAll(".heat .cell, .legend li")].filter((e) => getComputedStyle(e, e.matches("li") ? "::before" : null).printColorAdjust !== "exact").map((e) => e.outerHTML.slice(0, 80))
			.concat([...document.querySelectorAll(".log h2")].filter((e) => !e.checkVisibility()).map(() => "no head of the output"))`, &bare))
		if len(bare) > 0 {
			t.Errorf("%s prints without a picture %v", path, bare)
		}
		var ground string
		w.do(chromedp.Evaluate(`getComputedStyle(document.documentElement).colorScheme + " " + getComputedStyle(document.querySelector("main")).paddingLeft`, &ground))
		if ground != "light 0px" {
			t.Errorf("%s is printed as %s", path, ground)
		}
		if dir := os.Getenv("MEDIA_DIR"); dir != "" {
			var png []byte
			w.do(chromedp.FullScreenshot(&png, 100))
			if err := os.WriteFile(dir+"/print-"+name+".png", png, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
}
