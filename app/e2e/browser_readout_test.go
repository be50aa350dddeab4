package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/link"
)

// over puts the pointer on something, once the page has scrolled there.
func over(selector string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var at struct{ X, Y float64 }
		if err := chromedp.Evaluate(`(() => { const e = document.querySelector(`+"`"+selector+"`"+`); e.scrollIntoView({ block: "center" }); return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => { const r = e.getBoundingClientRect(); done({ x: r.x + r.width / 2, y: r.y + r.height / 2 }); }))); })()`, &at, awaited).Do(ctx); err != nil {
			return err
		}
		return input.DispatchMouseEvent(input.MouseMoved, at.X, at.Y).Do(ctx)
	})
}

// TestBrowserReadout puts the pointer on a day of a calendar: what it is on is said at once, once, and no more
// when the pointer has left.
func TestBrowserReadout(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	const box = `document.querySelector(".readout")`
	n.visit(link.Calendar("cn", 2026))
	n.do(
		over(".month .off"), holds(`!`+box+`.hidden && `+box+`.textContent.includes("元旦") && document.querySelector(".month .off").title === ""`),
		over(".month .made-up"), holds(box+`.textContent.startsWith("Make-up") && document.querySelector(".month .off").title.includes("元旦")`),
		over("h1"), holds(box+`.hidden && document.querySelector(".month .made-up").title.startsWith("Make-up")`),
	)
	n.admin.noPanic(t)
}
