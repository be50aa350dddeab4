package gallery

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/punctual-job/punctual/views/browsertest"
)

// TestOutputLetsGoForReadersOnly has the box of live output change its size in every way that no reader is behind, and then
// has a reader scroll up.
func TestOutputLetsGoForReadersOnly(t *testing.T) {
	c, server := newConsole(t)
	do := doer(browsertest.Open(t))
	const (
		box      = `document.querySelector("[data-log-lines]")`
		atEnd    = box + `.scrollHeight - ` + box + `.scrollTop - ` + box + `.clientHeight < 24`
		followed = `document.querySelector("[data-follow]").hidden && ` + atEnd
	)
	last := func(n int) chromedp.Action {
		return until(fmt.Sprintf(`document.querySelector("[data-log-lines] li:last-child").value === %d`, n))
	}
	frames := chromedp.Evaluate(`new Promise((done) => { let n = 5; const next = () => n-- ? requestAnimationFrame(next) : done(true); next(); })`, nil, awaited)
	do(t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(server.URL+"/runs/90432"), until(`window.htmx`))
	c.prints <- 40
	do(t, last(100), until(followed))

	for _, tt := range []struct {
		name   string
		change chromedp.Action
	}{
		{"grown and shrunk before anybody is told", chromedp.Evaluate(box+`.style.height = "1200px"; void `+box+`.scrollTop; `+box+`.style.height = ""`, nil)},
		{"grown and shrunk between two pictures", chromedp.Tasks{chromedp.Evaluate(box+`.style.height = "1200px"`, nil), frames, chromedp.Evaluate(box+`.style.height = ""`, nil)}},
		{"a lower window", chromedp.EmulateViewport(1440, 500)},
		{"a narrower window, in which lines wrap", chromedp.EmulateViewport(1000, 500)},
		{"a phone", chromedp.EmulateViewport(390, 844)},
		{"the first window again", chromedp.EmulateViewport(1440, 900)},
		{"a note above the box", chromedp.Evaluate(`document.querySelector("[data-log-note]").hidden = false; `+box+`.style.height = "300px"`, nil)},
		{"larger letters", chromedp.Evaluate(box+`.style.font = "15px/26px monospace"`, nil)},
		{"smaller letters", chromedp.Evaluate(box+`.style.font = ""`, nil)},
	} {
		t.Run(tt.name, func(t *testing.T) { do(t, tt.change, frames, until(followed)) })
	}
	c.prints <- 40
	do(t, last(140), until(followed))

	// A wheel lets go, and what comes then or changes its size moves nothing.
	do(t, chromedp.Evaluate(box+`.style.height = ""`, nil), frames, until(followed), chromedp.ScrollIntoView("[data-log-lines]"), chromedp.ActionFunc(wheelUp), until(`!document.querySelector("[data-follow]").hidden`), frames,
		chromedp.Evaluate(`window.at = `+box+`.scrollTop`, nil))
	c.prints <- 40
	do(t, last(180), chromedp.EmulateViewport(1440, 800), frames, until(box+`.scrollTop === window.at`))
}

// TestOutputKeepsToTheEndOfAFastWriter changes the window in every way that a reader may while more lines come than the page keeps. None
// of it is a reader who scrolls up.
func TestOutputKeepsToTheEndOfAFastWriter(t *testing.T) {
	c, server := newConsole(t)
	do := doer(browsertest.Open(t))
	const (
		box      = `document.querySelector("[data-log-lines]")`
		lastLine = `document.querySelector("[data-log-lines] li:last-child").value`
		followed = `document.querySelector("[data-follow]").hidden && ` + box + `.scrollHeight - ` + box + `.scrollTop - ` + box + `.clientHeight < 24`
		// hide has the page believe that another tab is before it, as [document.hidden] says.
		hide = `Object.defineProperty(document, "hidden", { configurable: true, get: () => %t }); document.dispatchEvent(new Event("visibilitychange"))`
		each = 400
	)
	do(t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(server.URL+"/runs/90432"), until(`window.htmx`), chromedp.Evaluate(`window.lost = 0; new MutationObserver(() => document.querySelector("[data-follow]").hidden || lost++).observe(document.querySelector("[data-follow]"), { attributes: true })`, nil))
	printed := 60
	write := func(chunks int) {
		for range chunks {
			select {
			case c.prints <- each:
				printed += each
			case <-time.After(time.Minute):
				t.Fatal("the page does not take the lines")
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change chromedp.Action
	}{
		{"as it is", chromedp.Tasks{}},
		{"zoomed to 150 %", chromedp.EmulateViewport(960, 600, chromedp.EmulateScale(1.5))},
		{"zoomed to 110 %, at which no line is a whole number of dots high", chromedp.EmulateViewport(1309, 818, chromedp.EmulateScale(1.1))},
		{"zoomed to 67 %", chromedp.EmulateViewport(2149, 1343, chromedp.EmulateScale(0.67))},
		{"a phone", chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulateScale(3))},
		{"a phone whose keyboard or bar takes room", chromedp.EmulateViewport(390, 700, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulateScale(3))},
		{"a phone on its side", chromedp.EmulateViewport(844, 390, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulateScale(3))},
		{"a narrow window", chromedp.EmulateViewport(700, 500)},
		{"lines that are not wrapped", chromedp.Evaluate(`document.querySelector("[data-wrap]").click()`, nil)},
		{"wrapped again", chromedp.Evaluate(`document.querySelector("[data-wrap]").click()`, nil)},
		{"errors only, which there are none of", chromedp.Evaluate(`{ const levels = document.querySelector("[data-levels]"); levels.value = "e"; levels.dispatchEvent(new Event("change")); levels.value = ""; levels.dispatchEvent(new Event("change")) }`, nil)},
		{"the first window again", chromedp.EmulateViewport(1440, 900)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(2)
			do(t, tt.change)
			write(2)
			do(t, until(fmt.Sprintf(`%s === %d`, lastLine, printed)), until(followed))
		})
	}
	t.Run("a hidden tab, resized behind the other", func(t *testing.T) {
		do(t, chromedp.Evaluate(fmt.Sprintf(hide, true), nil), chromedp.EmulateViewport(900, 500), chromedp.Evaluate(fmt.Sprintf(hide, false), nil))
		write(3)
		do(t, until(fmt.Sprintf(`%s === %d`, lastLine, printed)), until(followed))
	})
	do(t, until(`lost === 0`))
}

// awaited lets an evaluation wait for the promise it gives.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// wheelUp turns the wheel over the output.
func wheelUp(ctx context.Context) error {
	return input.DispatchMouseEvent(input.MouseWheel, 400, 600).WithDeltaX(0).WithDeltaY(-300).Do(ctx)
}
