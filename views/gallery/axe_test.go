//go:build gallery

package gallery

import (
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/browsertest"
	"github.com/punctual-job/punctual/views/layout"
)

// TestAccessibility lets axe-core (npm install axe-core; its axe.min.js is named by AXE_JS) look at every page (or those that
// GALLERY_PAGES names) in both themes, wide and narrow.
func TestAccessibility(t *testing.T) {
	if os.Getenv("AXE_JS") == "" {
		t.Skip("set AXE_JS to the path of axe-core's axe.min.js")
	}
	axe, err := os.ReadFile(os.Getenv("AXE_JS"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(serve(t))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	browser := browsertest.Open(t)
	f := fakes{Printer: locales.New().Printer(locales.English), now: time.Now()}
	for _, theme := range []layout.Theme{layout.ThemeLight, layout.ThemeDark} {
		for _, width := range []int64{1440, 390} {
			for _, p := range f.pages() {
				if !wanted(p.name) {
					continue
				}
				var found []string
				err := chromedp.Run(browser,
					chromedp.EmulateViewport(width, 900),
					chromedp.Navigate(fmt.Sprintf("%s/page/en/%s/%s", server.URL, theme, p.name)),
					chromedp.Evaluate(opened[p.name]+";0", nil),
					chromedp.Evaluate(string(axe)+";0", nil),
					// axe does not ask for the size of targets by itself.
					chromedp.Evaluate(`new Promise((done) => setTimeout(done, 400)).then(() => axe.run({ rules: { "target-size": { enabled: true } } })).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 110) + " | " + n.failureSummary.split("\n")[1].trim().slice(0, 170))))`, &found,
						func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
				)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range found {
					t.Errorf("%s %s %d: %s", p.name, theme, width, v)
				}
			}
		}
	}
}
