//go:build screenshots

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
)

// TestScreenshots photographs every page of an installation with work going on, in every language and both themes, on a desk
// and on a phone, into SCREENSHOTS.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		t.Fatal("set SCREENSHOTS to the folder for the pictures")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, lang := range locales.Languages() {
		t.Run(lang, func(t *testing.T) { photograph(t, dir, lang) })
	}
}

// photograph takes the pages of one language.
func photograph(t *testing.T, dir, lang string) {
	d := startDemo(t, lang == "zh-CN")
	began := time.Now()
	pages := d.pages(t)
	until(t, began.Add(25*time.Second)) // by then every job of seconds has run
	for _, s := range []screen{desk, phone} {
		w := newWindow(t, d.admin.url, s)
		w.expect("404", "403", "429")
		for _, theme := range []string{"light", "dark"} {
			for _, p := range pages {
				w.do(network.ClearBrowserCookies())
				w.cookie("lang", lang)
				w.cookie("theme", theme)
				if p.as != nil {
					w.enter(p.as)
				}
				w.show(p)
				var picture []byte
				var wide bool
				var tall int64
				// A window as high as its page: what sticks to an edge of the window would else lie across the picture.
				w.do(chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide),
					chromedp.Evaluate(`document.fonts.ready.then(() => document.documentElement.scrollHeight)`, &tall, awaited))
				if !live(p.name) {
					w.do(chromedp.EmulateViewport(s.width, max(tall, s.height)))
				}
				w.do(drawn(), chromedp.CaptureScreenshot(&picture), chromedp.EmulateViewport(s.width, s.height))
				if wide {
					t.Errorf("%s is wider than the %s", p.name, s.name)
				}
				name := fmt.Sprintf("%s-%s-%s-%s.png", p.name, s.name, theme, lang)
				if err := os.WriteFile(filepath.Join(dir, name), compressed(t, picture), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// live says which pages are shown as they fit a window: their lists have no end worth a picture.
func live(page string) bool { return page == "runs" || strings.HasPrefix(page, "run-") }
