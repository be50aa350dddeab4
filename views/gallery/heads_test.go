package gallery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/browsertest"
	"github.com/punctual-job/punctual/views/layout"
)

// TestHeadsHoldTheirLine opens every page that has buttons in its head, in every language. In the window of a laptop they stand beside the
// title and not below it, so that all heads are of one height; on a phone they stand on one line, all that find room on one.
func TestHeadsHoldTheirLine(t *testing.T) {
	var pages []headed
	var first []byte
	styles := ""
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
			buttons := doc.Find(".page-head > .actions > *").Length()
			if buttons == 0 {
				continue
			}
			page := headed{Several: buttons > 1, Path: "/" + lang + "/" + p.name, Attributes: make(map[string]string)}
			for _, a := range doc.Find("html").Get(0).Attr {
				page.Attributes[a.Key] = a.Val
			}
			if page.Body, err = goquery.OuterHtml(doc.Find("body")); err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page)
			look := fmt.Sprint(doc.Find("head").Find("link[rel=stylesheet], style").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("href", s.Text()) }))
			if styles == "" {
				first, styles = buf.Bytes(), look
			} else if look != styles {
				t.Errorf("%s has other styles than the first: %s, %s", page.Path, look, styles)
			}
		}
	}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(first)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
	// Nobody answers what scripts ask for. All pages have one frame and its styles, so that one is loaded, and the others take its place there,
	// which takes a fifth of the time.
	do(t, chromedp.EmulateViewport(1280, 720), emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(server.URL+"/"))
	seen := 0
	look := func(page headed, judge string) {
		t.Helper()
		shown, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		var wrong []string
		do(t, chromedp.Evaluate(`(async (page) => {
			const html = document.documentElement;
			for (const name of html.getAttributeNames()) html.removeAttribute(name);
			for (const [name, value] of Object.entries(page.Attributes)) html.setAttribute(name, value);
			document.body.outerHTML = page.Body;
			await document.fonts.ready;
			return [...document.querySelectorAll(".page-head:has(h1):has(.actions)")].flatMap(`+judge+`);
		})(`+string(shown)+`)`, &wrong, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		for _, w := range wrong {
			seen++
			if w != "" {
				t.Errorf("%s: %s", page.Path, w)
			}
		}
	}
	for _, page := range pages {
		look(page, `(head) => {
			const title = head.querySelector("h1").getBoundingClientRect(), actions = head.querySelector(".actions").getBoundingClientRect();
			return [actions.height && actions.top >= title.bottom ? "the buttons are below the title" : "", actions.height > 40 ? "the buttons take two lines" : ""];
		}`)
	}
	do(t, chromedp.EmulateViewport(390, 844))
	for _, page := range pages {
		if page.Several {
			look(page, `(head) => {
				const buttons = [...head.querySelectorAll(".actions > *")].filter((b) => b.checkVisibility()), middle = (b) => Math.round(b.getBoundingClientRect().top + b.getBoundingClientRect().height / 2);
				const all = buttons.reduce((sum, b) => sum + b.getBoundingClientRect().width + 8, -8);
				return [new Set(buttons.map(middle)).size > 1 && all <= head.clientWidth ? "on a phone its buttons stand on several lines: " + buttons.map((b) => b.innerText.trim()).join(", ") : "",
					all > 500 ? "on a phone its buttons are " + all + " px wide" : ""];
			}`)
		}
	}
	if seen < 120 {
		t.Errorf("%d heads were looked at", seen/2)
	}
	t.Logf("%d heads of %d pages", seen/2, len(pages))
}

// headed is a page with buttons in its head.
type headed struct {
	Path       string
	Attributes map[string]string // of its root
	Body       string
	Several    bool // buttons
}
