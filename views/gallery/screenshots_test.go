//go:build gallery

package gallery

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/browsertest"
	"github.com/punctual-job/punctual/views/layout"
)

// TestScreenshots photographs every page (or those that GALLERY_PAGES names, separated by commas) in every language and
// themes, on a desk and on a phone, into GALLERY_DIR.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("GALLERY_DIR")
	if dir == "" {
		t.Fatal("set GALLERY_DIR to the folder for the pictures")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(serve(t))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	browser := browsertest.Open(t)

	for _, s := range shots() {
		f := fakes{Printer: locales.New().Printer(s.lang), now: time.Now()}
		for _, p := range f.pages() {
			if !wanted(p.name) {
				continue
			}
			height := int64(900)
			if s.width == 390 {
				height = 844
			}
			address := fmt.Sprintf("%s/page/%s/%s/%s", server.URL, s.lang, s.theme, p.name)
			var wide bool
			var picture []byte
			err := chromedp.Run(browser,
				chromedp.EmulateViewport(s.width, height),
				chromedp.Navigate(address),
				chromedp.WaitReady("main"),
				chromedp.Evaluate(`document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.documentElement.scrollWidth > innerWidth)))))`, &wide,
					func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
				chromedp.Evaluate(opened[p.name]+";0", nil),
				chromedp.Sleep(opening(p.name)),
				chromedp.FullScreenshot(&picture, 100), // of 100 %: a PNG
			)
			if err != nil {
				t.Fatalf("%s: %v", address, err)
			}
			if wide {
				t.Errorf("%s: wider than its window at %d", p.name, s.width)
			}
			name := fmt.Sprintf("%s-%d-%s-%s.png", p.name, s.width, s.theme, s.lang)
			if err := os.WriteFile(filepath.Join(dir, name), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wanted says whether GALLERY_PAGES names a page, or nothing.
func wanted(page string) bool {
	names := os.Getenv("GALLERY_PAGES")
	return names == "" || slices.Contains(strings.Split(names, ","), page)
}

// opened has what a page's name promises beyond its markup: it is run before the page is looked at.
var opened = map[string]string{
	"jobs-look":   `document.querySelector(".look summary").click()`,
	"jobs-menu":   `document.querySelectorAll("main td details.menu summary")[1].click()`,
	"jobs-picked": `document.querySelectorAll("tbody .pick").forEach((box, i) => i < 2 && box.click())`,
}

// opening is how long that takes to fade in.
func opening(name string) time.Duration {
	if opened[name] == "" {
		return 0
	}
	return 300 * time.Millisecond
}

// shot is how a page is looked at.
type shot struct {
	lang  string
	theme layout.Theme
	width int64
}

// shots are all combinations, and one with a window of middle width.
func shots() []shot {
	list := []shot{{locales.English, layout.ThemeLight, 1024}}
	for _, width := range []int64{1440, 390} {
		for _, lang := range locales.Languages() {
			for _, theme := range []layout.Theme{layout.ThemeLight, layout.ThemeDark} {
				list = append(list, shot{lang, theme, width})
			}
		}
	}
	return list
}

// serve answers /page/<lang>/<theme>/<page> under the policy that the program serves its pages with.
func serve(t *testing.T) http.Handler {
	t.Helper()
	catalogue := locales.New()
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	// The live streams stay open and silent, so that the pages show themselves connected.
	silent := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	mux.HandleFunc("/runs/events", silent)
	mux.HandleFunc("/runs/{id}/events", silent)
	mux.HandleFunc("/page/{lang}/{theme}/{page}", func(w http.ResponseWriter, r *http.Request) {
		f := fakes{Printer: catalogue.Printer(r.PathValue("lang")), theme: layout.ThemeFrom(r.PathValue("theme")), now: time.Now()}
		w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'nonce-"+galleryNonce+"'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		for _, p := range f.pages() {
			if p.name == r.PathValue("page") {
				templ.Handler(p.component).ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	})
	return mux
}
