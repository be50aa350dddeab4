package gallery

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/browsertest"
	"github.com/punctual-job/punctual/views/layout"
)

// TestTheMainThingIsAboveTheFold of a small laptop, in every language.
func TestTheMainThingIsAboveTheFold(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/page/{lang}/{page}", func(w http.ResponseWriter, r *http.Request) {
		f := fakes{Printer: locales.New().Printer(r.PathValue("lang")), theme: layout.ThemeLight, now: time.Now()}
		for _, p := range f.pages() {
			if p.name == r.PathValue("page") {
				templ.Handler(p.component).ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	browser := browsertest.Open(t)
	for page, thing := range map[string]string{
		"pauses-empty": "[name=strategy]", "pauses": "tbody tr", "jobs": "tbody tr:nth-child(4)", "runs": "tbody tr:nth-child(6)", "job": ".run-bars", "run-failed": "[data-log-lines], .log ol",
		"executor": "tbody tr:nth-child(4)", "executors": "tbody tr:nth-child(3)", "nodes-unwell": "tbody tr", "backfill": "[name=at_once]", "slowest": "tbody tr", "calendars": "[name=file]",
		"secrets": "tbody tr", "alarms": "tbody tr", "audit": "tbody tr:nth-child(3)", "forecast": ".chart, svg", "timeline": "svg", "flow-edit": "svg", "settings": "[name=alarm_language], .field",
	} {
		for _, lang := range locales.Languages() {
			var bottom float64
			err := chromedp.Run(browser, chromedp.EmulateViewport(1280, 720), chromedp.Navigate(fmt.Sprintf("%s/page/%s/%s", server.URL, lang, page)), chromedp.WaitReady("main"),
				chromedp.Evaluate(fmt.Sprintf(`((thing) => thing ? thing.getBoundingClientRect().bottom + scrollY : -1)(document.querySelector("main").querySelector(%q))`, thing), &bottom))
			if err != nil {
				t.Fatalf("%s: %v", page, err)
			}
			if bottom < 0 || bottom > 720 {
				t.Errorf("%s in %s: %s ends at %.0f of 720", page, lang, thing, bottom)
			}
		}
	}
}
