package gallery

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/layout"
)

// TestHeadsHoldTheirLine opens every page that has buttons in its head, in every language, in the window of a laptop: they stand beside
// the title and not below it, so that all heads are of one height.
func TestHeadsHoldTheirLine(t *testing.T) {
	pages := make(map[string][]byte)
	var paths []string
	for _, lang := range locales.Languages() {
		f := fakes{Printer: locales.New().Printer(lang), theme: layout.ThemeLight, now: time.Now()}
		for _, p := range f.pages() {
			var buf bytes.Buffer
			if err := p.component.Render(t.Context(), &buf); err != nil {
				t.Fatal(err)
			}
			doc, err := goquery.NewDocumentFromReader(bytes.NewReader(buf.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if doc.Find(".page-head > .actions > *").Length() > 0 {
				path := "/" + lang + "/" + p.name
				pages[path] = buf.Bytes()
				paths = append(paths, path)
			}
		}
	}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(open(t))
	do(t, chromedp.EmulateViewport(1280, 720), emulation.SetScriptExecutionDisabled(true)) // nobody answers what scripts ask for
	seen := 0
	for _, path := range paths {
		var wrong []string
		do(t, chromedp.Navigate(server.URL+path), chromedp.Evaluate(`[...document.querySelectorAll(".page-head:has(h1):has(.actions)")].flatMap((head) => {
			const title = head.querySelector("h1").getBoundingClientRect(), actions = head.querySelector(".actions").getBoundingClientRect();
			return [actions.height && actions.top >= title.bottom ? "the buttons are below the title" : "", actions.height > 40 ? "the buttons take two lines" : ""];
		})`, &wrong))
		for _, w := range wrong {
			seen++
			if w != "" {
				t.Errorf("%s: %s", path, w)
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d heads were looked at", seen/2)
	}
}
