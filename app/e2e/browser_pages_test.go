package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/link"
)

// maxWeight is what a page may bring over the network when nothing is cached, compressed as the program sends it.
const maxWeight = 150_000

// heavyPages may weigh more: the editor of scripts.
var heavyPages = map[string]bool{"job-glue": true}

// TestPages opens every page of an installation with work going on, in both languages and themes, on a desk and on a
// phone. axe-core finds nothing to object to, nothing is wider than its window, no page is heavy, none asks anybody else
// for anything, and none writes an error to the browser's console, where a breach of the policy would stand.
func TestPages(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	d := startDemo(t, false)
	pages := append(d.pages(t), demoPage{"login", link.Login})
	for _, c := range []struct {
		lang   string
		screen screen
	}{{"en", desk}, {"zh-CN", phone}} {
		t.Run(c.lang, func(t *testing.T) {
			t.Parallel()
			w := newWindow(t, d.admin.url, c.screen)
			w.expect("404")
			for _, p := range pages {
				w.do(network.ClearBrowserCache(), network.ClearBrowserCookies())
				w.cookie("lang", c.lang)
				if p.name != "login" {
					w.enter(d.session)
				}
				w.weigh()
				w.visit(p.path)
				w.do(drawn())
				if weight := w.weigh(); weight > maxWeight && !heavyPages[p.name] {
					t.Errorf("%s weighs %.0f bytes, more than %d", p.name, weight, maxWeight)
				}
				var wide bool
				w.do(chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide), chromedp.Evaluate(axe+";0", nil))
				if wide {
					t.Errorf("%s is wider than the %s", p.name, c.screen.name)
				}
				for _, theme := range []string{"light", "dark"} {
					var found []string
					w.do(chromedp.Evaluate(fmt.Sprintf(examine, theme), &found, awaited))
					for _, v := range found {
						t.Errorf("%s, %s: %s", p.name, theme, v)
					}
				}
			}
		})
	}
}

// examine changes the theme without its transition and asks axe-core; in the dark about contrasts only, for the rest is the
// same. Everything closed is opened, so that it is seen.
const examine = `(async () => {
	document.documentElement.dataset.theme = %q;
	document.querySelectorAll("details:not(.menu)").forEach((d) => d.open = true);
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	document.getAnimations().forEach((a) => { if (a.effect.getTiming().iterations !== Infinity) a.finish(); });
	const options = { resultTypes: ["violations"] };
	if (document.documentElement.dataset.theme === "dark") options.runOnly = ["color-contrast"];
	const result = await axe.run(options);
	return result.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " | " + n.failureSummary.split("\n").slice(1).join(" ").trim().slice(0, 240)));
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
