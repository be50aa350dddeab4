package gallery

import (
	"fmt"
	"testing"

	"context"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestOutputLetsGoForReadersOnly has the box of live output change its size in every way that no reader is behind, and then
// has a reader scroll up.
func TestOutputLetsGoForReadersOnly(t *testing.T) {
	c, server := newConsole(t)
	do := doer(open(t))
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
		{"a note under the box", chromedp.Evaluate(`document.querySelector("[data-log-note]").hidden = false; `+box+`.style.height = "300px"`, nil)},
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

// awaited lets an evaluation wait for the promise it gives.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// wheelUp turns the wheel over the output.
func wheelUp(ctx context.Context) error {
	return input.DispatchMouseEvent(input.MouseWheel, 400, 600).WithDeltaX(0).WithDeltaY(-300).Do(ctx)
}
