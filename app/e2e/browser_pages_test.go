package e2e

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/console"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/locales"
)

// maxWeight is what a page may bring over the network when nothing is cached, compressed as the program sends it, but for its icon.
const maxWeight = 146_500

// heavyPages may weigh more: the editor of scripts.
var heavyPages = map[string]bool{"job-glue": true, "glue-compare": true, "glue-waiting": true, "glue-waiting-own": true}

// sight is how somebody looks at a page.
type sight struct {
	screen screen
	theme  string
}

// sights are how the pages are looked at in each language: every two of language, window and theme come together, which is half
// of all there could be. What is wrong for three together and right for each two is left to chance.
var sights = map[string][]sight{
	"en":    {{desk, "light"}, {phone, "dark"}, {laptop, "light"}},
	"zh-CN": {{desk, "dark"}, {phone, "light"}},
	"zh-TW": {{desk, "light"}}, // as wide as the other Chinese
}

// TestPages opens every page of an installation with work going on, in every language, and looks at it in both themes, on a
// desk and on a phone. axe-core finds nothing to object to, nothing is wider than its window, no page is heavy, none asks
// anybody else for anything, and none writes an error to the browser's console, where a breach of the policy would stand.
func TestPages(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	d := startDemo(t, false)
	pages := d.pages(t)
	everyRoute(t, pages)
	var frames sync.Map
	for _, lang := range locales.Languages() {
		looks := sights[lang]
		if looks == nil {
			t.Errorf("nobody looks at the pages in %s", lang)
			continue
		}
		// As many parts as looks, so that all take as long, and none is worked at alone in the end.
		part := 0
		for some := range slices.Chunk(pages, (len(pages)+len(looks)-1)/len(looks)) {
			part++
			t.Run(fmt.Sprint(lang, " ", part), func(t *testing.T) {
				works(t)
				w := newWindow(t, d.admin.url, desk)
				w.frames = &frames
				w.expect("404", "403", "422")
				w.do(chromedp.ActionFunc(func(ctx context.Context) error {
					_, err := page.AddScriptToEvaluateOnNewDocument(axe).Do(ctx) // the browser keeps what it compiled; what is evaluated in a page is compiled each time
					return err
				}))
				for _, p := range some {
					w.do(network.ClearBrowserCookies())
					w.cookie("lang", lang)
					if p.as != nil {
						w.enter(p.as)
					}
					w.show(p)
					var weight float64
					w.do(drawn(), chromedp.Evaluate(weigh, &weight))
					if weight > maxWeight && !heavyPages[p.name] {
						t.Errorf("%s weighs %.0f bytes, more than %d", p.name, weight, maxWeight)
					}
					// A page is loaded once: the window and the theme change around it.
					for _, s := range looks {
						w.resize(s.screen)
						w.inspect(p.name+", "+s.screen.name, s.theme)
					}
					w.resize(desk)
				}
			})
		}
	}
	t.Run("without scripts", func(t *testing.T) {
		works(t)
		w := newWindow(t, d.admin.url, desk)
		w.expect("404", "403", "422")
		w.do(emulation.SetScriptExecutionDisabled(true))
		for _, p := range pages {
			w.do(network.ClearBrowserCookies())
			if p.as != nil {
				w.enter(p.as)
			}
			w.show(p)
			var found []string
			w.do(chromedp.Evaluate(examineBare, &found))
			for _, v := range found {
				t.Errorf("%s: %s", p.name, v)
			}
		}
	})
}

// notPages are the addresses of the console at which there is no page to look at here, and why.
var notPages = map[string]string{
	"/*": "leads nowhere", "/login/password": "of who was given a password", "/sign-in/:provider": "leads to a provider", "/sign-in/:provider/callback": "comes from there",
	"/adoption": "of a database of XXL-JOB", "/alarms/link/:token": "comes in an alarm",
	"/jobs/count": "a part", "/jobs/children": "a part", "/jobs/:id/account": "a part", "/pauses/jobs": "a part", "/alarms/:id/jobs": "a part", "/runs/clear/progress": "a part", "/mine/failed": "a part",
	"/runs/events": "a stream", "/runs/:id/events": "a stream", "/runs/:id/log": "a file", "/jobs/export/file": "a file", "/audit/export": "a file", "/users/rights": "a file",
}

// everyRoute reports which addresses of the console nobody looks at, by what the console itself registers.
func everyRoute(t *testing.T, pages []demoPage) {
	t.Helper()
	if os.Getenv("DEMO_PAGES") != "" {
		return
	}
	e := echo.New()
	console.New(console.Config{Manage: &manage.Service{}}).Register(e)
	seen := make(map[string]bool)
	for _, p := range pages {
		address, err := url.Parse(p.path)
		if err != nil {
			t.Fatal(err)
		}
		c := e.NewContext(nil, nil)
		e.Router().Find(http.MethodGet, address.Path, c)
		seen[c.Path()] = true
	}
	for _, r := range e.Routes() {
		if r.Method == http.MethodGet && !seen[r.Path] && notPages[r.Path] == "" {
			t.Errorf("nobody looks at %s", r.Path)
		}
	}
}

// inspect reports what axe-core, which the page has loaded, objects to in a theme. A frame that has been looked at just so is left out.
func (w *window) inspect(what, theme string) {
	w.t.Helper()
	context := "document"
	if w.frames != nil {
		var frame string
		w.do(chromedp.Evaluate(aroundPage, &frame))
		if _, seen := w.frames.LoadOrStore(theme+" "+frame, true); seen {
			context = `{ exclude: [[".shell > .sidebar"]] }`
		}
	}
	var found []string
	w.do(chromedp.Evaluate(fmt.Sprintf(examine, theme, context), &found, awaited))
	for _, v := range found {
		w.t.Errorf("%s, %s: %s", what, theme, v)
	}
}

// inspectNow does so in both themes, for what only shows when a page is worked with.
func (w *window) inspectNow(what string) {
	w.t.Helper()
	w.do(chromedp.Evaluate(axeScript(w.t)+";0", nil))
	for _, theme := range []string{"dark", "light"} {
		w.inspect(what, theme)
	}
}

// aroundPage is what the frame of a page consists of, but for where its forms lead back to, in this size of the window and behind a dialog or not.
const aroundPage = `innerWidth + " " + !!document.querySelector("dialog[open]") + document.querySelector(".shell > .sidebar")?.outerHTML.replace(/ name="next" value="[^"]*"/g, "")`

// weigh is what a page brought over the network, or would have where the browser has kept it, with the 300 bytes that the standard of
// Resource Timing counts for the headers of each answer.
const weigh = `["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind)).reduce((sum, e) => sum + e.encodedBodySize + 300, 0)`

// examineBare looks at a page in which no script runs: there is something to read, and nothing that only a script answers.
const examineBare = `(() => {
	const seen = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
	const wrong = [];
	if (document.readyState !== "complete" || document.querySelectorAll("h1").length !== 1) wrong.push("no heading");
	for (const b of document.querySelectorAll("button")) {
		if (seen(b) && (b.type === "button" || !b.form)) wrong.push("dead: " + b.outerHTML.slice(0, 120));
	}
	for (const f of document.forms) {
		const has = (submit) => [...f.elements].some((e) => e.type !== "hidden" && e.tagName !== "FIELDSET" && seen(e) && (e.type === "submit") === submit);
		if (seen(f) && has(false) && !has(true) && !f.closest("details:not([open])")) wrong.push("cannot be sent: " + f.outerHTML.slice(0, 120));
	}
	for (const a of document.querySelectorAll("a")) if (!a.href || a.getAttribute("href") === "#") wrong.push("leads nowhere: " + a.outerHTML.slice(0, 120));
	return wrong;
})()`

// examine changes the theme without its transition, opens everything closed, so that it is seen, gives each relative time the
// width that it has at its longest, so that what fits does not depend on when one looks, and asks axe-core with all its rules, also the one that it does not ask for by itself. preload is for style sheets of other origins, which there are none of.
const examine = `(async () => {
	document.documentElement.dataset.theme = %q;
	document.querySelectorAll("details:not(.menu)").forEach((d) => d.open = true);
	const words = JSON.parse(document.body.dataset.timeWords ?? "null");
	const longest = words?.min.replace("{N}", 59);
	for (const time of document.querySelectorAll("time[data-relative][datetime]")) {
		time.textContent = (Date.parse(time.dateTime) > Date.now() ? words.in : "due" in time.dataset ? words.late : words.ago).replace("{Span}", longest);
		time.removeAttribute("data-relative");
	}
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	document.getAnimations().forEach((a) => { if (a.effect.getTiming().iterations !== Infinity) a.finish(); });
	const wide = document.documentElement.scrollWidth > innerWidth ? ["wider than the window: " + document.documentElement.scrollWidth] : [];
	const line = (e) => { const r = e.getBoundingClientRect(); return r.top + r.height / 2; };
	for (const mark of document.querySelectorAll(".page-head [data-live-mark]")) {
		const beside = [...mark.closest(".page-head").querySelectorAll("h1, .button, .icon-button")].filter((e) => e.checkVisibility());
		if (mark.checkVisibility() && !beside.some((e) => Math.abs(line(e) - line(mark)) < 12)) wide.push("live stands on a line of its own");
	}
	for (const card of document.querySelectorAll(".table-card")) {
		if (card.scrollWidth > card.clientWidth + 1 && getComputedStyle(card).overflowX === "visible") wide.push("a table is wider than its card: " + card.scrollWidth);
	}
	for (const filters of innerWidth < 1280 ? [] : document.querySelectorAll(".filters")) {
		const own = [...filters.children].filter((e) => e.checkVisibility());
		if (!own.some((e) => e.matches(".range-custom")) && new Set(own.map((e) => Math.round(line(e) / 12))).size > 1) wide.push("filters take more than a line");
	}
	const result = await axe.run(%s, { resultTypes: ["violations"], preload: false, rules: { "target-size": { enabled: true } } });
	return wide.concat(result.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " | " + n.failureSummary.split("\n").slice(1).join(" ").trim().slice(0, 240))));
})()`

// axeScript is axe-core (see testdata/axe-core.LICENSE.txt), of the version in static/src/package.json.
func axeScript(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	script, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}
